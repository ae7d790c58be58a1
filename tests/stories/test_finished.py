"""Work that a backlog calls finished is never planned, in whatever form the backlog says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.stories.projects import git, write
from tests.stories.test_courses import OPENLY
from tests.stories.worlds import REPLAY
from transom.cli.story import lines_of
from transom.stories.epic import plan
from transom.stories.markdown_story import read_story_file
from transom.stories.shared import StorySettings
from transom.stories.status import set_story_status

HEAD = "### Story 4.1: Parcel labels"
BODY = "As a packer, I want a label, so that parcels arrive.\n"
CRITERIA = "**Acceptance Criteria:**\n\n1. A label shows the street\n2. A label shows the weight\n"
TICKED = (
    "**Acceptance Criteria:**\n\n- [x] A label shows the street\n- [X] A label shows a weight\n"
)


def _page(
    head: str = HEAD, status: str = "", epic: str = "## Epic 4: Parcels", end: str = ""
) -> str:
    return f"# Epics\n\n{epic}\n\n{head}\n\n{BODY}\n{status}\n\n{CRITERIA}\n{end}\n"


# A page of epics -> the status of its story: "done", or "paused" if it is asked.
FINISHED_PAGES = {
    "a status in italics": (_page(status="*Status:* Shipped"), "done"),
    "a status with a day": (_page(status="**Status:** Merged 2026-03-09 by Ida"), "done"),
    "a status in a quotation": (_page(status="> **Status**: Delivered"), "done"),
    "a status in a list": (_page(status="- Priority: high\n- Status: Implemented"), "done"),
    "a status that is ticked": (_page(status="**Status:** [x] Complete"), "done"),
    "a status in a row": (
        _page(status="| Field | Value |\n|---|---|\n| Owner | Ida |\n| Status | Finished |"),
        "done",
    ),
    "a status in a column": (
        _page(status="| Status | Owner |\n|---|---|\n| Finished | Ida |"),
        "done",
    ),
    "a status in a row of pipes": (_page(status="| Status | Finished |"), "done"),
    "a status below a heading": (_page(end="#### Status\n\nReleased in 2.4"), "done"),
    "a status in a heading": (_page(end="#### Status: Superseded by 4.7"), "done"),
    "work in review": (_page(status="**Status:** In Review"), "paused"),
    "a status at the end": (_page(end="#### Notes\n\nStatus: Done"), "paused"),
    "a title in brackets": (_page(f"{HEAD} [SHIPPED]"), "paused"),
    "a title in round brackets": (_page(f"{HEAD} (implemented)"), "paused"),
    "a sign before the title": (_page("### ✔️ Story 4.1: Parcel labels"), "paused"),
    "a sign behind the title": (_page(f"{HEAD} ☑"), "paused"),
    "a word before the title": (_page("### [Merged] Story 4.1: Parcel labels"), "paused"),
    "a title struck out": (_page("### ~~Story 4.1: Parcel labels~~"), "paused"),
    "a title struck out in part": (_page("### Story 4.1: ~~Parcel labels~~"), "paused"),
    "a title with a decision": (_page(f"{HEAD} – Dropped"), "paused"),
    "an epic in capitals": (_page(epic="## Epic 4: Parcels — DELIVERED"), "paused"),
    "an epic with a sign": (_page(epic="## ✅ Epic 4: Parcels"), "paused"),
    "an epic with a status": (_page(epic="## Epic 4: Parcels\n\n**Status:** Complete"), "paused"),
    "stories that are finished": (_page(epic="## Completed stories"), "paused"),
    "a line of its own": (_page(status="✅ **Completed** on 2026-03-09"), "paused"),
    "a day of its completion": (_page(status="**Completed:** 2026-03-09"), "paused"),
    "every box": (f"# Epics\n\n## Epic 4: Parcels\n\n{HEAD}\n\n{BODY}\n{TICKED}", "paused"),
    "a sign at each criterion": (
        f"# Epics\n\n## Epic 4: Parcels\n\n{HEAD}\n\n{BODY}\n**Acceptance Criteria:**\n\n"
        "- ✅ A label shows the street\n- ✅ A label shows the weight\n",
        "paused",
    ),
}
FINISHED_PAGES |= {
    "a bold name without a colon": (_page(status="**Status** Done"), "done"),
    "a bold name above its value": (_page(status="**Status**\n\nDone"), "done"),
    "a status behind a dash": (_page(status="Status - Done"), "done"),
    "a status behind a sign of equality": (_page(status="Status = done"), "done"),
    "a comment": (_page(status="<!-- status: done -->"), "paused"),
    "one word": (_page(status="*Done*"), "paused"),
    "a resolution": (_page(status="**Resolution:** Won't fix"), "paused"),
    "a sign behind a name": (_page(status="**Done:** ✅"), "paused"),
    "the name of a sign": (_page(f"{HEAD} :white_check_mark:"), "paused"),
    "a move": (_page(f"{HEAD} (moved to epic 9)"), "paused"),
    "a title in braces": (_page(f"{HEAD} {{done}}"), "paused"),
    "a word before a dash": (_page("### DONE - Story 4.1: Parcel labels"), "paused"),
    "a word behind a comma": (_page(f"{HEAD}, done"), "paused"),
    "a duplicate": (_page(f"{HEAD} — duplicate of 4.3"), "paused"),
    "no need": (_page(f"{HEAD} (no longer needed)"), "paused"),
    "a hundred percent": (_page(status="**Progress:** 100%"), "paused"),
    "an epic with a row": (
        _page(epic="## Epic 4: Parcels\n\n| Status | Done |\n|---|---|"),
        "paused",
    ),
}
OPEN_PAGES = {
    "no status": _page(),
    "a draft": _page(status="**Status:** Draft"),
    "a sign before ready": _page(status="**Status:** ✅ Approved by Ida"),
    "not done yet": _page(status="Status: Not done"),
    "a title about done": _page("### Story 4.1: Done button for parcels"),
    "a title about archives": _page("### Story 4.1: Archived parcels are listed"),
    "a title with brackets": _page(f"{HEAD} (part two)"),
    "a title with a dash": _page(f"{HEAD} — closed boxes and open ones are told apart"),
    "a definition of done": _page(end="#### Definition of Done\n\n- [ ] It is reviewed"),
    "out of scope": _page(end="#### Out of scope\n\n- stamps"),
    "out of scope in a line": _page(status="Out of scope: stamps"),
    "one box ticked of two": _page(end="#### Tasks\n\n- [x] draw it\n- [ ] print it"),
    "a status of the domain": _page(status="The status of a parcel: it is delivered once."),
    "a title about released parcels": _page(f"{HEAD} - Released parcels view"),
    "a title with an optional part": _page("### Story 4.1: Closed shops (optional)"),
    "a title with capitals": _page("### Story 4.1: Export to HTML"),
    "an epic about archives": _page(epic="## Epic 4: Closed shops"),
    "a dependency that is finished": _page(status="Depends on: 4.0 (done)"),
    "another story finished": _page(end="### Story 4.2: Stamps (DONE)\n\nx"),
}
FINISHED_STATUSES = {
    "Draft => Approved => Done": "done",
    "InProgress -> Review -> Merged": "done",
    "~~In Progress~~ Complete": "done",
    "[x] Finished": "done",
    "Approved (obsolete since 4.3)": "paused",
    "ready-for-dev, cancelled": "paused",
    "Draft: this has been shipped with 4.2": "paused",
    "In Progress / Done": "paused",
    "Draft | Approved | InProgress | Review | Done": "paused",
    "[ ] Done": "paused",
    "Done?": "paused",
    "Backlog (duplicate of 4.9)": "paused",
    "Planned - won't do": "paused",
    "Ready for Testing": "paused",
    "Ready to deploy": "paused",
    "Draft → In Review": "paused",
}
OPEN_STATUSES = (
    "Draft",
    "✅ Approved",
    "Ready for Development",
    "Ready to be implemented",
    "Draft - not implemented yet",
    "Draft → Approved",
    "~~Done~~ Draft",
    "InProgress (Ida)",
    "Not done",
)
FINISHED_FIELDS = {
    "passes: 'yes'": "done",
    "passes: 1": "done",
    "done: 'True'": "done",
    "isDone: true": "done",
    "implemented: yes": "done",
    "shipped_at: 2026-03-09": "done",
    "completedAt: '2026-03-09T10:00:00Z'": "done",
    "passes: mostly": "paused",
    "status: pending, done: true": "paused",
    "status: ready, closed_on: 2026-03-09": "paused",
    "passes: false, merged: true": "paused",
    "status: in-review": "paused",
    "status: 'todo (dropped)'": "paused",
    "status: pending, subtasks: [{id: 1, title: t, status: done}]": "paused",
}
OPEN_FIELDS = (
    "passes: no",
    "passes: 'false'",
    "done: false",
    "completed_at: null",
    "completed_at: ''",
    "status: todo, passes: false",
    "out_of_scope: stamps",
    "done_checkpoint: true",
    "status: pending, subtasks: [{id: 1, title: t, status: done}, {id: 2, title: u, status: todo}]",
)


def _status(project: Path, files: dict[str, str], identity: str) -> str:
    for path, text in files.items():
        write(project, path, text)
    git(project, "init", "--quiet", "--initial-branch=main")
    result = asyncio.run(plan(project, "4", None, StorySettings(REPLAY, OPENLY)))
    return {story.id: story.status for story in result.stories}[identity]


@pytest.mark.parametrize("name", FINISHED_PAGES)
def test_a_story_that_a_page_calls_finished_is_not_planned(tmp_path: Path, name: str) -> None:
    page, status = FINISHED_PAGES[name]
    assert _status(tmp_path, {"docs/epics.md": page}, "4.1") == status


@pytest.mark.parametrize("name", OPEN_PAGES)
def test_a_story_that_is_to_be_built_is_planned_from_a_page(tmp_path: Path, name: str) -> None:
    assert _status(tmp_path, {"docs/epics.md": OPEN_PAGES[name]}, "4.1") == "planned"


def _file(status: str) -> dict[str, str]:
    text = f"# Story 4.1: Labels\n\n## Status\n\n{status}\n\n## Story\n\n{BODY}\n"
    return {
        "docs/stories/4.1.story.md": f"{text}## Acceptance Criteria\n\n1. A label has a street\n"
    }


@pytest.mark.parametrize("written", FINISHED_STATUSES)
def test_a_status_of_two_words_is_not_planned(tmp_path: Path, written: str) -> None:
    assert _status(tmp_path, _file(written), "4.1") == FINISHED_STATUSES[written]


@pytest.mark.parametrize("written", OPEN_STATUSES)
def test_a_status_that_is_open_is_planned(tmp_path: Path, written: str) -> None:
    assert _status(tmp_path, _file(written), "4.1") == "planned"


def _entry(fields: str) -> dict[str, str]:
    entry = (
        f"{{id: a, title: Labels, description: {BODY.strip()!r}, acceptance: [x is 1], {fields}}}"
    )
    return {"stories.yaml": f"epic: 4\nstories:\n  - {entry}\n"}


@pytest.mark.parametrize("fields", FINISHED_FIELDS)
def test_an_entry_that_is_finished_is_not_planned(tmp_path: Path, fields: str) -> None:
    assert _status(tmp_path, _entry(fields), "a") == FINISHED_FIELDS[fields]


@pytest.mark.parametrize("fields", OPEN_FIELDS)
def test_an_entry_that_is_open_is_planned(tmp_path: Path, fields: str) -> None:
    assert _status(tmp_path, _entry(fields), "a") == "planned"


def test_work_in_progress_with_every_box_ticked_is_asked(tmp_path: Path) -> None:
    (text,) = _file("In Progress").values()
    text += "\n## Tasks\n\n- [x] draw it\n- [x] print it\n"
    assert _status(tmp_path, {"docs/stories/4.1.story.md": text}, "4.1") == "paused"


NAMED = {
    "a sheet": (
        {"docs/sprint-status.yaml": "development_status: {4-1-other-words: done}\n"},
        "done",
    ),
    "a sheet of two teams": (
        {
            "docs/sprint-status.yaml": (
                "development_status:\n  web-4-1-parcel-labels: done\n  app-4-1-sign-in: backlog\n"
            )
        },
        "done",
    ),
    "a sheet of another team": (
        {
            "docs/sprint-status.yaml": (
                "development_status:\n  web-4-1-parcel-labels: backlog\n  app-4-1-sign-in: done\n"
            )
        },
        "planned",
    ),
    "a story file": (
        {"docs/stories/4.1.labels.md": "# Story 4-1: Parcel labels\n\n## Status\n\nDone\n"},
        "done",
    ),
    "a sheet of two pages": (
        {
            "docs/sprint-status.yaml": "development_status: {4-1-other-words: done}\n",
            "docs/other/epics.md": _page("### Story 4.1: Other words"),
        },
        "paused",
    ),
    "a sheet that is open": (
        {"docs/sprint-status.yaml": "development_status: {4-1-parcel-labels: backlog}\n"},
        "planned",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_page_that_is_named_plans_nothing_that_another_file_calls_done(
    tmp_path: Path, name: str
) -> None:
    files, status = NAMED[name]
    for path, text in {**files, "docs/epics.md": _page()}.items():
        write(tmp_path, path, text)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    result = asyncio.run(plan(tmp_path, "docs/epics.md", None, StorySettings(REPLAY, OPENLY)))
    assert {story.id: story.status for story in result.stories} == {"4.1": status}


def test_a_row_of_a_team_has_the_story_of_its_own_page(tmp_path: Path) -> None:
    sheet = "development_status:\n  web-4-1-parcel-labels: backlog\n"
    write(tmp_path, "docs/sprint-status.yaml", sheet)
    write(tmp_path, "docs/web/epics.md", _page())
    write(tmp_path, "docs/app/epics.md", _page("### Story 4.1: Sign in"))
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    result = asyncio.run(plan(tmp_path, "web-epic-4", None, StorySettings(REPLAY, OPENLY)))
    (story,) = result.stories
    assert (story.id, story.title, story.status) == ("web-4.1", "Parcel labels", "planned")
    assert "2 acceptance criteria" in story.reason


def test_a_number_with_a_dash_is_the_number_of_a_story() -> None:
    story = read_story_file("# Story 4-1: Parcel labels\n\nStatus: done\n", "docs/4-1-labels.md")
    assert (story.id, story.title) == ("4.1", "Parcel labels")


@pytest.mark.parametrize(("row", "status"), [("done", "done"), ("backlog", "paused")])
def test_a_page_that_differs_from_the_sheet_is_asked(tmp_path: Path, row: str, status: str) -> None:
    sheet = f"development_status: {{4-1-labels: {row}}}\n"
    page = _page(status="**Status:** Done" if row == "backlog" else "")
    files = {"docs/sprint-status.yaml": sheet, "docs/epics.md": page}
    assert _status(tmp_path, files, "4.1") == status


def test_a_story_struck_out_leaves_its_number_to_another(tmp_path: Path) -> None:
    page = _page("### ~~Story 4.1: Stamps~~\n\nx\n\n### Story 4.1: Parcel labels")
    assert _status(tmp_path, {"docs/epics.md": page}, "4.1") == "planned"


@pytest.mark.parametrize(
    "line",
    [
        "**Status** Draft",
        "Status - Draft",
        "| Status | Draft |",
        "| Owner | Status |\n|---|---|\n| Ida | Draft |",
        "**Status**\n\nDraft",
    ],
)
def test_a_status_of_each_form_is_written(tmp_path: Path, line: str) -> None:
    file = tmp_path / "4-1-labels.md"
    file.write_text(f"# Story 4.1: Labels\n\n{line}\n", "utf-8")
    set_story_status(file, "done")
    assert file.read_text("utf-8") == f"# Story 4.1: Labels\n\n{line}\n".replace("Draft", "done")


@pytest.mark.parametrize(
    ("sections", "number"),
    [
        ("## Acceptance Criteria\n\n1. a is 1\n\n### Notes\n\n- n\n\n### Speed\n\n- it is fast", 2),
        ("## Acceptance Criteria\n\n- a is 1\n\n### Non-goals\n\n- n\n\n#### Why\n\n- m", 1),
        (
            "## Acceptance Criteria\n\n1. a\n\n## Security Acceptance Criteria\n\nAll:\n\n- b\n- c",
            3,
        ),
        ("## Acceptance Criteria\n\n1. a is 1\n\n## Future Acceptance Criteria\n\n1. b", 1),
        ("## Acceptance Criteria\n\n### Speed Acceptance Criteria\n\n1. a\n2. b", 2),
        ("## Functional Acceptance Criteria\n\n1. a\n\n## Speed Acceptance Criteria\n\n1. b", 2),
    ],
)
def test_each_section_of_criteria_is_read(sections: str, number: int) -> None:
    story = read_story_file(f"# Story 4.1: Labels\n\n{sections}\n", "4.1.story.md")
    assert len(story.criteria) == number


def test_a_dry_run_names_no_run_to_continue(tmp_path: Path) -> None:
    for path, text in _file("In Review").items():
        write(tmp_path, path, text)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    result = asyncio.run(plan(tmp_path, "4", None, StorySettings(REPLAY, OPENLY)))
    assert not any("resume" in line for line in lines_of(result))
