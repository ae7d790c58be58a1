from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stories import pages
from transom.errors import InputError
from transom.stories.backlog import find_backlog, read_any
from transom.stories.status import (
    QaGate,
    SprintStatus,
    repair,
    set_sprint_status,
    set_story_status,
    tick_tasks,
)
from transom.stories.story import Story, is_testable, placeholders, read_status


def put(project: Path, **files: str) -> Path:
    """Write files; `__` in a name stands for `/`."""
    for name, text in files.items():
        path = project / name.replace("__", "/").replace("_dot_", ".").replace("_dash_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return project


def v6_project(folder: Path) -> Path:
    put(folder, docs__sprint_dash_status_dot_yaml=pages.SPRINT, docs__epics_dot_md=pages.EPICS)
    return put(folder, **{"docs__stories__2-1-count-visitors.md": pages.V6_STORY})


def test_a_v6_epic_takes_each_story_from_its_file_or_from_the_page_of_epics_and_reports_drift(
    tmp_path: Path,
) -> None:
    backlog = find_backlog(v6_project(tmp_path), "epic-2")
    assert backlog.shape == "bmad-v6"
    first, second = backlog.stories
    assert (first.id, first.key, first.status) == ("2.1", "2-1-count-visitors", "ready")
    assert first.goal.startswith("As a shop owner, I want a counter")
    assert first.criteria[0] == "Given an empty log, when I ask for the count, then it is 0"
    assert first.criteria[1].endswith("then it is 3")
    assert [(task.done, task.criteria) for task in first.tasks] == [
        (False, (1, 2)),
        (True, ()),
        (False, (2,)),
    ]
    assert (first.creates, first.changes) == (("shop/counter.py",), ("shop/__init__.py",))
    assert first.allowed == ()  # such tables are seldom complete
    assert (second.key, second.depends_on, len(second.criteria)) == (
        "2-2-print-a-report",
        ("2.1",),
        2,
    )
    assert [str(one) for one in backlog.drift] == [
        "2-1-count-visitors: docs/stories/2-1-count-visitors.md says ready-for-dev, "
        "docs/sprint-status.yaml:9 says backlog"
    ]


@pytest.mark.parametrize("side", ["story", "sprint"])
def test_drift_is_settled_on_request_and_nothing_else_in_the_files_changes(
    tmp_path: Path, side: str
) -> None:
    backlog = find_backlog(v6_project(tmp_path), "2")
    assert backlog.sprint
    assert len(repair(tmp_path, backlog.stories, backlog.sprint, side)) == 1  # type: ignore[arg-type]  # one of two
    sheet = (tmp_path / "docs/sprint-status.yaml").read_text()
    story = (tmp_path / "docs/stories/2-1-count-visitors.md").read_text()
    if side == "story":
        expected = pages.SPRINT.replace(
            "2-1-count-visitors: backlog  #", "2-1-count-visitors: ready-for-dev  #"
        )
        assert (sheet, story) == (expected, pages.V6_STORY)
    else:
        assert (sheet, story) == (
            pages.SPRINT,
            pages.V6_STORY.replace("Status: ready-for-dev", "Status: backlog"),
        )
    assert not find_backlog(tmp_path, "2").drift


def test_a_story_without_file_and_a_file_without_row_are_drift_that_nobody_settles(
    tmp_path: Path,
) -> None:
    v6_project(tmp_path)
    sheet = pages.SPRINT.replace("2-2-print-a-report: 'backlog'", "2-2-print-a-report: review")
    put(
        tmp_path,
        docs__sprint_dash_status_dot_yaml=sheet.replace(
            "  2-1-count-visitors: backlog  # Ann looks at it\n", ""
        ),
    )
    backlog = find_backlog(tmp_path, "epic-2")
    told = [str(one) for one in backlog.drift]
    assert told[0].endswith("docs/sprint-status.yaml:9 says review, the story file is missing")
    assert told[1].endswith("the sprint status does not list it")
    assert backlog.sprint
    assert repair(tmp_path, backlog.stories, backlog.sprint, "story") == []


def test_a_status_is_written_into_its_line_alone_whatever_the_format_and_the_line_ends(
    tmp_path: Path,
) -> None:
    sheet = put(tmp_path, s=pages.SPRINT) / "s"
    for _ in range(2):
        set_sprint_status(sheet, "2-2-print-a-report", "done")
        assert sheet.read_text() == pages.SPRINT.replace("'backlog'", "'done'")
    with pytest.raises(InputError, match="has no story 9-9-x"):
        set_sprint_status(sheet, "9-9-x", "done")
    old = tmp_path / "3.2.story.md"
    old.write_bytes(pages.V4_STORY.replace("\n", "\r\n").encode())
    set_story_status(old, "done")
    assert (
        old.read_bytes() == pages.V4_STORY.replace("Draft", "Done").replace("\n", "\r\n").encode()
    )
    spec = (
        put(
            tmp_path,
            spec="---\ntitle: 'X'\nstatus: 'in-progress' # a | b\n---\n\n## Intent\n\nstatus: no\n",
        )
        / "spec"
    )
    set_story_status(spec, "done")
    assert "\nstatus: 'done' # a | b\n" in spec.read_text() and "\nstatus: no\n" in spec.read_text()
    with pytest.raises(InputError, match="no status line"):
        set_story_status(put(tmp_path, other="# Story 1.1: X\n\ntext\n") / "other", "done")


def test_the_other_formats(tmp_path: Path) -> None:
    put(tmp_path / "a", **{"docs__epics__numbers__stories.yaml": pages.EPIC})
    add, mul = find_backlog(tmp_path / "a", "epic-7").stories
    assert (add.allowed, len(add.criteria), mul.depends_on) == (
        ("src/add.py", "tests/test_add.py"),
        2,
        ("story-1",),
    )
    put(
        tmp_path / "b",
        **{
            "specs__x__stories.yaml": pages.LIST,
            "specs__x__stories__2-show.md": "# Story 2: Show\n\nStatus: draft\n",
        },
    )
    first, second = find_backlog(tmp_path / "b", "x").stories
    assert first.spec_checkpoint and first.instructions == "Use the client that is there."
    assert (second.id, second.key, second.title, second.source) == (
        "2",
        "2-show",
        "Show",
        "specs/x/stories/2-show.md",
    )
    put(
        tmp_path / "c",
        **{
            "docs__stories__3.2.story.md": pages.V4_STORY,
            "docs__stories__4.1.story.md": pages.V4_STORY,
        },
    )
    (only,) = find_backlog(tmp_path / "c", "3").stories
    assert (only.id, only.status, only.owns_file) == ("3.2", "backlog", True)
    put(tmp_path / "d", docs__epics_dot_md=pages.EPICS)
    counted, printed = find_backlog(tmp_path / "d", "Epic 2").stories
    assert list(counted.criteria) == [
        "Given an empty log When I ask Then it is 0",
        "Given three visits When I ask Then it is 3 And the day is named",
    ]
    assert counted.text.startswith("### Story 2.1") and "Story 2.2" not in counted.text
    assert printed.text.rstrip().endswith("Story 2.1")


def test_a_page_without_colons_and_with_numbered_lines_is_read_as_well(tmp_path: Path) -> None:
    text = (
        "# Epic 3 Closing\n\n## Story 3.1 Close the shop\n\nAs a clerk,\nI want to close,\nso that"
        " I sleep.\n\n"
    )
    criteria = "### Acceptance Criteria\n\n1: Closing twice fails\n2: It says why\n"
    put(tmp_path, **{"docs__prd__epic-3-closing.md": text + criteria})
    (story,) = find_backlog(tmp_path, "epic-3").stories
    assert (story.title, story.goal) == (
        "Close the shop",
        "As a clerk, I want to close, so that I sleep.",
    )
    assert list(story.criteria) == ["Closing twice fails", "It says why"]


def test_phases_of_spec_kit_are_stories_whose_tasks_are_ticked_when_they_are_done(
    tmp_path: Path,
) -> None:
    put(
        tmp_path,
        **{"specs__001-albums__tasks.md": pages.TASKS, "specs__001-albums__spec.md": pages.SPEC},
    )
    for name in ("001-albums", "001", "specs/001-albums/tasks.md"):
        setup, sort, drag, polish = find_backlog(tmp_path, name).stories
    assert [one.id for one in (setup, sort, drag, polish)] == ["phase-1", "US1", "US2", "phase-4"]
    assert (setup.status, sort.depends_on, polish.depends_on) == (
        "done",
        ("phase-1",),
        ("phase-1", "US1", "US2"),
    )
    assert list(sort.criteria) == ["three albums come back sorted by date"]
    assert (drag.goal, len(drag.criteria)) == ("Somebody drags an album to another place.", 1)
    assert sort.touches == {"tests/test_sort.py", "src/albums/sort.py"}
    path = tmp_path / "specs/001-albums/tasks.md"
    tick_tasks(path, sort)
    assert path.read_text() == pages.TASKS.replace("[ ] T002", "[x] T002").replace(
        "[ ] T003", "[x] T003"
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (pages.LIST.replace('id: "1"', 'id: "2-1"'), "cannot be told apart"),
        (pages.LIST.replace('id: "1"', 'id: "2"'), "is already used in line 2"),
        (
            pages.EPIC.replace("[story-1]", "[story-9]"),
            "story-2 depends on an unknown story story-9",
        ),
        (
            pages.EPIC.replace("dependencies: []", "dependencies: [story-2]"),
            "story-1, story-2 depend on each other",
        ),
        ("epic_id: x\n", "holds no stories"),
        ("- 1\n", "the story is not a mapping"),
        ("", "is empty"),
    ],
)
def test_a_list_that_cannot_be_followed_is_refused_with_its_line(
    tmp_path: Path, text: str, what: str
) -> None:
    put(tmp_path, **{"docs__stories.yaml": text})
    with pytest.raises(InputError) as error:
        find_backlog(tmp_path, "docs/stories.yaml")
    assert what in str(error.value)


_HEAD = (
    "# Story 1.1: Subtraction\n\n## Status\n\nApproved\n\n## User Story\n\nAs a clerk I"
    " subtract.\n\n"
)
_TWO = "1) 5 minus 3 is 2\n2) A text is refused\n"
_PRD = "# PRD\n\n## Epic 1 - Sums\n\n### Story 1.1 - Subtraction\n\nAs a clerk I subtract.\n\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("docs/stories/1.1.story.md", f"{_HEAD}## Acceptance Criteria (ACs)\n\n{_TWO}"),
        ("docs/stories/1.1.story.md", f"{_HEAD}## Acceptance Criteria\n\n{_TWO}".replace("\n", "\r\n")),
        ("docs/stories/epic-1/1.1.subtraction.md", f"{_HEAD}## Requirements\n\n{_TWO}"),
        ("packages/till/docs/stories/1.1.story.md", f"{_HEAD}## Acceptance Tests\n\n{_TWO}"),
        ("docs/prd.md", f"{_PRD}Acceptance criteria:\n\n{_TWO}\nDepends on: Story 1.9\n"),
        ("docs/prd.md", f"{_PRD}### Acceptance Criteria\n\n- AC1: 5 minus 3 is 2\n- AC2: A text is refused\n"),
        ("b/epic-1-sums/stories.yml", "stories:\n- {id: '1.1', name: Subtraction, userStory: As a clerk I subtract., "
         "acceptanceCriteria: [5 minus 3 is 2, A text is refused]}\n"),
    ],
)  # fmt: skip
def test_other_headings_folders_and_line_ends_are_read_as_well(
    tmp_path: Path, file: str, text: str
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    for epic in ("epic-1", "1", file, file.rpartition("/")[0]):
        (story,) = find_backlog(tmp_path, epic).stories
        assert (story.id, story.title, story.goal) == (
            "1.1",
            "Subtraction",
            "As a clerk I subtract.",
        )
        assert list(story.criteria) == ["5 minus 3 is 2", "A text is refused"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_status_in_the_front_matter_is_read_and_written(tmp_path: Path, end: str) -> None:
    text = (
        "---\ntitle: x\nstatus: ready  # mine\n---\n# Story 1.1: Sums\n\n## Acceptance"
        f" Criteria\n\n{_TWO}"
    )
    path = tmp_path / "docs/stories/1.1.sums.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.replace("\n", end).encode())
    (story,) = find_backlog(tmp_path, "1").stories
    assert (story.title, story.status, len(story.criteria)) == ("Sums", "ready", 2)
    set_story_status(path, "done")
    assert (
        path.read_bytes()
        == text.replace("status: ready", "status: done").replace("\n", end).encode()
    )
    path.write_text(text.replace("status: ready", "status: 'in progress'"))
    set_story_status(path, "done")
    assert path.read_text() == text.replace("status: ready", "status: 'done'")


def test_a_file_that_is_no_backlog_and_an_epic_of_two_packages_are_told_as_such(
    tmp_path: Path,
) -> None:
    for package in ("a", "b"):
        put(
            tmp_path,
            **{
                f"{package}__docs__stories__1.1.story.md": (
                    f"{_HEAD}## Acceptance Criteria\n\n{_TWO}"
                )
            },
        )
    put(tmp_path, **{"docs__notes.md": "# Notes\n\n- one\n"})
    with pytest.raises(InputError, match="is in a/docs/stories and b/docs/stories; name one"):
        find_backlog(tmp_path, "1")
    assert (
        find_backlog(tmp_path, "b/docs/stories").source
        == find_backlog(tmp_path, "b").source
        == "b/docs/stories"
    )
    with pytest.raises(InputError, match=r"notes.md: holds no story; begin it with"):
        find_backlog(tmp_path, "docs/notes.md")


def test_an_epic_that_is_not_there_names_those_that_are_and_one_in_two_places_names_both(
    tmp_path: Path,
) -> None:
    v6_project(tmp_path)
    with pytest.raises(InputError, match="there are epic-2"):
        find_backlog(tmp_path, "epic-9")
    put(tmp_path, **{"docs__epics__epic-2__stories.yaml": pages.EPIC})
    with pytest.raises(
        InputError, match=r"is in docs/epics/epic-2/stories.yaml and docs/sprint-status.yaml"
    ):
        find_backlog(tmp_path, "epic-2")
    assert find_backlog(tmp_path, "docs/epics/epic-2/stories.yaml").shape == "stories.yaml"
    with pytest.raises(InputError, match="is not a folder"):
        find_backlog(tmp_path / "nowhere", "1")


def test_statuses_placeholders_and_criteria_that_say_something() -> None:
    words = (
        "InProgress",
        "ready-for-dev",
        "✅ Done (QA passed)",
        "Ready for Review",
        "Approved",
        "soon",
        "Drafted",
    )
    assert [read_status(word) for word in words] == [
        "in-progress", "ready", "done", "review", "ready", "unknown", "backlog",
    ]  # fmt: skip
    assert placeholders(
        "a `{{x}}`\n```\n{{y}}\n```\n<!-- {{z}} -->\n[docs](x) [Add criteria]\nTBD\n"
    ) == (
        (6, "[Add criteria]"),
        (7, "TBD"),
    )
    assert not placeholders("Build a TODO list\nSearch for TODO: comments\n[x] done\n")
    assert is_testable("count([]) is 0")
    assert is_testable("add(2, 2) is exactly four") and is_testable(
        "Given a log When I ask Then it is 0"
    )
    assert (
        not is_testable("Criteria 1")
        and not is_testable("works")
        and not is_testable("[Add acceptance criteria]")
    )


def test_every_sample_of_real_projects_is_read_right_or_refused_with_one_clear_line(
    shared_data: Path,
) -> None:
    expected: dict[str, Any] = {
        "seed004_origin_epic_stories.yaml": 3,
        "v6_real_sprint-status_docvet.yaml": SprintStatus,
        "v6_template_sprint-status.yaml": SprintStatus,
        "v4_real_gate_1.3_permamind.yml": QaGate,
        "v4_real_gate_2.1_permamind.yml": QaGate,
        "v4_core-config.yaml": dict,
        "v4_real_core-config_permamind.yaml": dict,
        "v6_real_1-2-create-finding-dataclass_docvet.md": ("1.2", "done", 5, 18),
        "v6_real_10-1-license_docvet.md": ("10.1", "done", 5, 13),
        "v4_real_story_1.3_permamind.md": ("1.3", "done", 9, 98),
        "v6_template_story.md": "template_story.md:1: is a template",
        "v6_template_epics.md": "is a template: {{project_name}}",
        "v6_template_build-auto_spec.md": ":2: is a template",
        "v4_template_story-tmpl.yaml": "is a template",
        "v4_template_qa-gate-tmpl.yaml": "is a template of a QA gate",
        "template_tasks.md": "is a template: [FEATURE NAME]",
        "v6_stories-schema_stories.yaml.md": "holds no story",
        "v6_ref_build-auto.md": "holds no story",
        "template_spec.md": "is a specification",
        "template_plan.md": "holds no story",
    }
    seen = set()
    for path in sorted((shared_data / "story-samples").rglob("*.*")):
        if path.suffix == ".tsv":
            continue
        seen.add(path.name)
        want = expected[path.name]
        if isinstance(want, str):
            with pytest.raises(InputError) as error:
                read_any(path)
            assert want in str(error.value) and "\n" not in str(error.value)
            continue
        read = read_any(path)
        if isinstance(want, tuple):
            assert isinstance(read, Story)
            assert (read.id, read.status, len(read.criteria), len(read.tasks)) == want
        elif isinstance(want, int):
            assert [one.id for one in read] == ["story-1", "story-2", "story-3"]
        else:
            assert isinstance(read, want)
    assert seen == set(expected)
