"""An epic on the example's project: order, loops, questions, conflicts, resuming."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.stories import pages
from tests.stories.projects import EXAMPLE, git, make_project, write
from tests.stories.test_courses import OPENLY, world
from tests.stories.worlds import REPLAY, World
from transom.config.story_sections import StoriesSettings, WorkerKind
from transom.errors import InputError
from transom.learning import InsightCategory, Playbook
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolCallPart, Usage
from transom.sandbox import Level, needs
from transom.stories.epic import open_project, plan
from transom.stories.git import Git
from transom.stories.shared import StorySettings

STORY = "docs/epics/epic-1/stories.yaml"


def replayed(folder: Path, **settings: Any) -> World:
    return World(
        make_project(folder),
        folder / "w",
        settings=StorySettings(REPLAY, OPENLY, StoriesSettings(**settings)),
    )


def states(result: Any) -> dict[str, str]:
    return {story.id: story.status for story in result.stories}


@pytest.mark.slow
@pytest.mark.fence
async def test_the_example_ends_with_two_merges_and_a_block_and_is_not_done_again(
    tmp_path: Path,
) -> None:
    at = replayed(tmp_path)
    at.playbook = Playbook()
    result = await at.go()
    (born,) = at.playbook.items.values()
    assert (
        "test_a_fraction_of_a_cent_is_kept" in born.content
        and born.category is InsightCategory.MISTAKE
    )
    assert (states(result), result.exit_code) == (
        {"story-1": "done", "story-2": "blocked", "story-3": "done"},
        3,
    )
    _, second, third = result.stories
    assert [(row.stage, row.decision, row.attempt) for row in third.stages] == [
        ("sm", None, 1), ("po", "APPROVED", 1), ("dev", None, 1), ("dev", None, 2), ("qa", "PASS", 2),
    ]  # fmt: skip
    broken, mended = (row for row in third.stages if row.stage == "dev")
    assert (
        "test_a_fraction_of_a_cent_is_kept" in broken.evidence["findings"][0]
        and not mended.evidence["findings"]
    )
    # it boasted of tests that failed
    assert broken.quality and mended.quality and broken.quality < mended.quality
    assert (
        third.tests == {"passed": 8, "failed": 0, "skipped": 0} and third.usage["input_tokens"] == 0
    )
    assert {row.by for row in third.stages} == {"replay"}
    assert "AC 1 wants a failed payment" in second.reason and second.blockers == [second.reason]
    log = git(at.project, "log", "--first-parent", "--format=%s").splitlines()
    assert log == ["Merge story-3: Totals in cents", "Merge story-1: Discounts", "A till"]
    assert git(at.project, "branch", "--format=%(refname:short)") == "main"
    kept = [path.name for path in (tmp_path / "w").glob("runs/*/*/handoffs/*")]
    assert kept == ["story-2.yaml"], (
        "the hand-over of a done story is deleted, and that of another one kept"
    )
    head, said = git(at.project, "rev-parse", "HEAD"), len(at.said)
    again = await at.go()
    assert states(again) == {"story-1": "done", "story-2": "paused", "story-3": "done"}
    assert "PO blocked story-2 again" in again.stories[1].reason
    assert git(at.project, "rev-parse", "HEAD") == head
    assert not [
        line
        for line in at.said[said:]
        if line.startswith(("story-1", "story-3")) and "working" in line
    ]


@pytest.mark.slow
@pytest.mark.fence
async def test_what_waits_for_a_story_that_is_not_done_is_skipped(tmp_path: Path) -> None:
    at = replayed(tmp_path)
    write(
        at.project,
        STORY,
        (EXAMPLE / "project" / STORY).read_text().replace("[story-1]", "[story-2]"),
    )
    git(at.project, "commit", "--quiet", "--all", "--message", "order")
    result = await at.go()
    assert states(result) == {"story-1": "done", "story-2": "blocked", "story-3": "skipped"}
    assert result.stories[2].reason == "it depends on story-2, which is blocked"
    assert states(await at.go("story-3")) == {"story-3": "skipped"}
    with pytest.raises(InputError, match="known: story-1, story-2, story-3"):
        await at.go("story-9")


@pytest.mark.fence
@pytest.mark.slow
async def test_before_tests_can_be_run_nobody_is_paid_and_a_corrected_command_goes_on(
    tmp_path: Path,
) -> None:
    at = replayed(tmp_path)
    right = at.settings
    at.settings = replace(right, tests=replace(OPENLY, argv=("{python}", "-c", "")))
    (story,) = (await at.go("story-1")).stories
    assert (
        story.status == "paused"
        and "before anybody is called, the test command was tried" in story.reason
        and "the exit code is 0, although a canary failed" in story.reason
        and "set `stories.tests`" in story.reason
    )
    assert not story.stages
    at.settings = right
    assert states(await at.go("story-1")) == {"story-1": "done"}


def test_a_dry_run_calls_nobody_and_lists_the_stories_in_their_order(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    text = (
        (project / STORY)
        .read_text()
        .replace(
            "description: As a customer", "dependencies: [story-3]\n    description: As a customer"
        )
    )
    write(project, STORY, text)
    result = asyncio.run(plan(project, "epic-1", None, StorySettings(REPLAY, OPENLY)))
    assert (result.dry_run, result.exit_code) == (True, 0)
    assert [(one.id, one.status, one.reason) for one in result.stories] == [
        ("story-1", "planned", f"{STORY}:6: 2 acceptance criteria, 0 tasks"),
        ("story-3", "planned", f"{STORY}:25: 2 acceptance criteria, 0 tasks; after story-1"),
        ("story-2", "planned", f"{STORY}:15: 2 acceptance criteria, 0 tasks; after story-3"),
    ]
    assert [*result.stories[0].windows["qa"]] == ["instructions", "story"]
    assert (
        not (tmp_path / "w").exists()
        and git(project, "branch", "--format=%(refname)") == "refs/heads/main"
    )


def replies(folder: Path, **texts: str) -> Path:
    """Recordings of story-1: the example's, and others in their place (`po_1="..."`)."""
    for path in (EXAMPLE / "replies" / "story-1").iterdir():
        write(folder, f"replies/story-1/{path.name}", path.read_text())
    for name, text in texts.items():
        write(folder, f"replies/story-1/{name.replace('_', '-')}.txt", text)
    return folder / "replies"


@pytest.mark.slow
@pytest.mark.fence
async def test_po_sends_a_story_back_and_sm_sees_why(tmp_path: Path) -> None:
    criteria = "1. discount(200, 10) is exactly 180\n2. 101 percent is refused with a ValueError\n"
    told = "## Story\n\nAs a shop owner, I want discounts.\n\n## Acceptance Criteria\n\n"
    story = (
        f"SUMMARY: names the limits.\n<story>\n# Story 1: Discounts\n\n{told}{criteria}</story>\n"
    )
    at = replayed(tmp_path)
    changes = "DECISION: CHANGES REQUESTED\nREASON: AC 2 does not say what 101 does"
    at.replies = replies(tmp_path, po_1=changes, sm_2=story, po_2="DECISION: APPROVED")
    (result,) = (await at.go("story-1")).stories
    assert result.status == "done"
    assert [(row.stage, row.decision) for row in result.stages[:4]] == [
        ("sm", None), ("po", "CHANGES REQUESTED"), ("sm", None), ("po", "APPROVED"),
    ]  # fmt: skip
    at.said.clear()
    assert states(await at.go("story-1")) == {"story-1": "done"} and not at.said, (
        "what is done is not walked again"
    )


@pytest.mark.slow
@pytest.mark.fence
async def test_the_status_in_a_list_of_stories_is_written(tmp_path: Path) -> None:
    at = replayed(tmp_path)
    text = (at.project / STORY).read_text()
    text = text.replace("  - id: story-1\n", "  - id: story-1\n    status: todo  # in May\n")
    text = text.replace("  - id: story-3\n", "  - id: story-3\n    passes: false\n")
    write(at.project, STORY, text)
    git(at.project, "commit", "--quiet", "--all", "--message", "Plan two stories")
    assert states(await at.go())["story-1"] == "done"
    text = text.replace("status: todo  #", "status: done  #").replace(
        "passes: false", "passes: true"
    )
    assert git(at.project, "show", f"main:{STORY}") == text.strip()
    assert states(await at.go())["story-3"] == "done"


@pytest.mark.parametrize(
    ("texts", "status", "reason"),
    [
        ({"sm_1": ""}, "failed", "the reply is empty"),
        ({"sm_1": "fine"}, "failed", "the reply has no summary: 'fine'"),
        ({"po_1": "Looks good to me!"}, "failed", "the reply has no decision"),
        ({"qa_1": "DECISION: FINE"}, "failed", "write one line: DECISION: PASS or FAIL"),
        ({"po_1": "DECISION: BLOCKED"}, "failed", "BLOCKED needs a reason"),
        ({"qa_1": "All tests passed."}, "failed", "the reply has no decision"),
        (
            {"qa_1": "DECISION: FAIL\nREASON: AC 1 is not tested with 0"},
            "failed",
            "after 1 attempts: QA: AC 1",
        ),
        (
            dict.fromkeys(
                ("po_1", "po_2", "po_3"),
                "DECISION: CHANGES REQUESTED\nREASON: AC 1 is still too vague",
            ),
            "paused",
            "not ready after 3 reviews",
        ),
    ],
)
async def test_a_story_stops_with_its_reason(
    tmp_path: Path, texts: Any, status: str, reason: str
) -> None:
    at = replayed(tmp_path, attempts=1)
    sm = (EXAMPLE / "replies/story-1/sm-1.txt").read_text()
    at.replies = replies(tmp_path, sm_2=sm, sm_3=sm, **texts)
    (story,) = (await at.go("story-1")).stories
    assert story.status == status and reason in story.reason
    assert len(git(at.project, "log", "--format=%h").split()) == 1


async def test_a_person_answers_and_the_story_goes_on(tmp_path: Path) -> None:
    at = replayed(tmp_path)
    text = (
        (EXAMPLE / "project" / STORY)
        .read_text()
        .replace('title: "Discounts"', 'title: "Discounts"\n    spec_checkpoint: true')
    )
    write(at.project, STORY, text)
    git(at.project, "commit", "--quiet", "--all", "--message", "a person looks first")
    (story,) = (await at.go("story-1")).stories
    assert (story.status, [row.stage for row in story.stages]) == ("paused", ["sm", "po"])
    assert "may Dev begin?" in story.reason and "transom answer" in story.reason
    at.answers = {"story-1/checkpoint": "begin"}
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done"


@pytest.mark.slow
async def test_after_a_finished_story_nothing_begins_before_a_person_looked_at_it(
    tmp_path: Path,
) -> None:
    at = replayed(tmp_path)
    text = (EXAMPLE / "project" / STORY).read_text()
    write(
        at.project,
        STORY,
        text.replace('title: "Discounts"', 'title: "Discounts"\n    done_checkpoint: true'),
    )
    git(at.project, "commit", "--quiet", "--all", "--message", "a person looks afterwards")
    for _ in range(2):
        assert states(await at.go()) == {
            "story-1": "done",
            "story-2": "paused",
            "story-3": "paused",
        }
    at.answers = {"story-1/after": "go on"}
    assert states(await at.go()) == {"story-1": "done", "story-2": "blocked", "story-3": "done"}


@pytest.mark.slow
@pytest.mark.fence
async def test_files_of_a_person_in_the_way_stop_the_merge_and_are_left_alone(
    tmp_path: Path,
) -> None:
    at = replayed(tmp_path)
    write(at.project, "till/discounts.py", "mine\n")
    (story,) = (await at.go("story-1")).stories
    assert story.status == "paused" and "the work is done and not merged" in story.reason
    assert (at.project / "till/discounts.py").read_text() == "mine\n"
    (at.project / "till/discounts.py").unlink()
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done" and [row.stage for row in story.stages] == [
        "sm",
        "po",
        "dev",
        "qa",
    ]


async def test_an_ignored_file_of_a_person_is_not_overwritten_by_a_merge(tmp_path: Path) -> None:
    project = Git(tmp_path)
    await project("init", "-q", "-b", "main")
    write(tmp_path, ".gitignore", "notes.txt\n")
    old = await project.commit_all("base")
    await project("checkout", "-q", "-b", "story")
    write(tmp_path, "notes.txt", "of the agent\n")
    await project("add", "--force", "notes.txt")
    new = await project.commit_all("an ignored file, added by force")
    await project("checkout", "-q", "main")
    write(tmp_path, "notes.txt", "of the person\n")
    problem = await project.forward("main", old, new)
    assert "would be overwritten by merge: notes.txt" in problem
    assert (tmp_path / "notes.txt").read_text() == "of the person\n"
    assert await project("rev-parse", "main") == old


@pytest.mark.slow
@pytest.mark.fence
async def test_what_came_into_the_target_meanwhile_is_tested_together_with_the_work(
    tmp_path: Path,
) -> None:
    move = "git update-ref refs/heads/main $(git commit-tree -p HEAD $(cat $TREE) -m moved)"
    at = world(tmp_path, f"$HONEST; TREE={tmp_path}/tree; {move}; $REPLY")
    write(
        at.project,
        "till/prices.py",
        (at.project / "till/prices.py").read_text().replace("rate=0.2", "rate=0.3"),
    )
    git(at.project, "add", "--all")
    write(tmp_path, "tree", git(at.project, "write-tree"))
    git(at.project, "reset", "--quiet", "--hard")
    (story,) = (await at.go("story-1")).stories
    assert story.status == "paused" and "outside its worktree: refs/heads/main" in story.reason
    git(at.project, "reset", "--quiet", "--hard")
    at.answers = {"story-1/dev#1/outside": "a person did; go on"}
    (story,) = (await at.go("story-1")).stories
    assert story.status == "paused" and "together with main: 1 tests fail" in story.reason


@pytest.mark.slow
@pytest.mark.fence
async def test_stories_that_touch_different_files_are_worked_on_at_once_and_merged_one_by_one(
    tmp_path: Path,
) -> None:
    text = (EXAMPLE / "project" / STORY).read_text().replace("    dependencies: [story-1]\n", "")
    at = replayed(tmp_path, parallel=3)
    write(at.project, STORY, text)
    git(at.project, "commit", "--quiet", "--all", "--message", "no order")
    assert states(await at.go()) == {"story-1": "done", "story-2": "blocked", "story-3": "done"}
    began = [line.partition("/")[0] for line in at.said if line.endswith("baseline: working")]
    first_end = next(n for n, line in enumerate(at.said) if ": done" in line or ": blocked" in line)
    # The test command is tried before any story begins.
    stories = {line.partition("/")[0] for line in at.said[:first_end]} - {"tests-trial"}
    assert len(stories) == 3
    assert sorted(began) == sorted({*began})
    assert git(at.project, "log", "--first-parent", "--format=%s").count("Merge") == 2


@pytest.mark.slow
@pytest.mark.fence
async def test_a_model_works_with_tools_in_the_worktree_and_rules_write_no_code(
    tmp_path: Path,
) -> None:
    kinds: dict[str, WorkerKind] = {"sm": "rules", "po": "rules", "dev": "model", "qa": "model"}
    at = World(make_project(tmp_path), tmp_path / "w", settings=StorySettings(kinds, OPENLY))
    patch = (EXAMPLE / "replies/story-1/dev-1.patch").read_text().split("diff --git ")[1:]
    files = {part.split(" b/")[1].split("\n")[0]: part.split("@@\n", 1)[1] for part in patch}
    calls = [
        ToolCallPart(
            str(n),
            "write_file",
            {"path": path, "text": "".join(f"{line[1:]}\n" for line in text.splitlines())},
        )
        for n, (path, text) in enumerate(files.items())
    ]
    turns = [
        Reply(tuple(calls), "tool_calls"),
        Reply((Text((EXAMPLE / "replies/story-1/dev-1.txt").read_text()),)),
    ]
    judged = Reply((Text("SUMMARY: both criteria are met\nDECISION: PASS"),))
    at.model = ScriptedProvider({"stories.dev": turns, "stories.qa": [judged]})
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done", story
    asked: Request = at.model.requests[0]
    names = [tool.name for tool in asked.tools]
    assert names == [
        "list_files",
        "read_file",
        "search",
        "edit_file",
        "write_file",
        "delete_file",
        "run_command",
    ]
    assert {block.name for block in asked.window.blocks} == {
        "instructions",
        "story",
        "po_decision",
        "po_summary",
        "workplace",
    }
    seen = {block.name: block.text for block in at.model.requests[-1].window.blocks}
    assert set(seen) == {
        "instructions",
        "story",
        "dev_summary",
        "files",
        "diff",
        "tests",
        "workplace",
    }
    assert "+def discount" in seen["diff"] and at.model.requests[-1].role == "stories.qa"
    at.settings = replace(at.settings, kinds=dict.fromkeys(("sm", "po", "dev", "qa"), "rules"))
    (story,) = (await at.go("story-3")).stories
    assert story.status == "paused" and "rules write no code" in story.reason


@pytest.mark.slow
@pytest.mark.fence
async def test_a_cap_is_held_within_a_stage_and_a_person_lets_it_go_on_where_it_was(
    tmp_path: Path,
) -> None:
    dev = (EXAMPLE / "replies/story-1/dev-1.txt").read_text()
    # The first two looks use up 1,500 tokens; the others fit into as many again.
    usages = (Usage(700, 50), Usage(700, 50), Usage(100, 50), Usage(100, 50))
    looks = [
        Reply((ToolCallPart(str(number), "list_files", {}),), "tool_calls", usage)
        for number, usage in enumerate(usages)
    ]
    kinds: dict[str, WorkerKind] = {"sm": "rules", "po": "rules", "dev": "model", "qa": "rules"}
    told = StorySettings(kinds, OPENLY, StoriesSettings(max_tokens=1500, max_turns=2, attempts=1))
    at = World(make_project(tmp_path), tmp_path / "w", settings=told)
    at.model = ScriptedProvider({"stories.dev": [*looks, Reply((Text(dev),))]})
    for question, reason, asked in (
        ("", "story-1 used its 1500 tokens; may it go on?", 2),
        ("cap/tokens#1", "story-1 used its 2 turns in dev#1; may it go on?", 4),
        ("cap/dev#1/turns#1", "worktree: Dev changed no file", 5),
    ):
        at.answers = {f"story-1/{question}": "go on with as many again"} if question else {}
        (story,) = (await at.go("story-1")).stories
        assert reason in story.reason and len(at.model.requests) == asked, "nothing is asked twice"
    assert [row.stage for row in story.stages] == ["sm", "po", "dev"] and story.status == "failed"


@pytest.mark.slow
async def test_dev_is_shown_what_was_learned_and_its_outcome_counts_for_what_it_names(
    tmp_path: Path,
) -> None:
    at = replayed(tmp_path)
    with Playbook(tmp_path / "playbook.db") as at.playbook:
        told = at.playbook.add_insight(
            InsightCategory.STRATEGY, "Discounts are tested with 0, 100 and a value outside"
        )
        other = at.playbook.add_insight(
            InsightCategory.STRATEGY, "Discounts in percentages need no rounding"
        )
        dev = (
            (EXAMPLE / "replies/story-1/dev-1.txt")
            .read_text()
            .replace("SUMMARY:", f"SUMMARY: as [{told.id}] says,")
        )
        at.replies = replies(tmp_path, dev_1=dev)
        assert states(await at.go("story-1")) == {"story-1": "done"}
        shown = next((tmp_path / "w").rglob("playbook.txt")).read_text()
        assert told.id in shown and other.id in shown
        found = at.playbook.items
        assert (found[told.id].helpful_count, found[other.id].helpful_count) == (1, 0)
        assert len(found) == 2, "an attempt that passes teaches no mistake"


@pytest.mark.slow
async def test_statuses_are_written_with_the_merge_and_nothing_else_of_the_backlog_changes(
    tmp_path: Path,
) -> None:
    at = world(tmp_path, "$HONEST; $REPLY")
    write(at.project, "docs/sprint-status.yaml", pages.SPRINT)
    story = pages.V6_STORY.partition("### Files to Create")[0]
    write(at.project, "docs/stories/2-1-count-visitors.md", story)
    git(at.project, "add", "--all")
    git(at.project, "commit", "--quiet", "--message", "a sprint")
    at.epic = "epic-2"
    (result,) = (await at.go("2.1")).stories
    assert result.status == "done", result
    assert (at.project / "docs/sprint-status.yaml").read_text() == pages.SPRINT.replace(
        "2-1-count-visitors: backlog  #", "2-1-count-visitors: done  #"
    )
    path = at.project / "docs/stories/2-1-count-visitors.md"
    assert path.read_text() == story.replace("Status: ready-for-dev", "Status: done")
    assert not git(at.project, "status", "--porcelain")


@pytest.mark.fence
@pytest.mark.slow
async def test_a_worktree_that_another_run_left_is_removed_only_by_a_persons_word(
    tmp_path: Path,
) -> None:
    at = replayed(tmp_path)
    old = tmp_path / "old"
    git(at.project, "worktree", "add", "--quiet", "-b", "transom/story-1", str(old))
    write(old, "half.py", "half\n")
    (story,) = (await at.go("story-1")).stories
    assert (
        story.status == "paused"
        and f"left the worktree {old}" in story.reason
        and (old / "half.py").exists()
    )
    at.answers = {"story-1/reclaim": "remove it, and keep its work on a branch"}
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done" and not old.exists()
    assert git(at.project, "show", "transom/parked/story-1-1:half.py") == "half"


def test_a_project_is_the_top_of_a_repository_with_a_commit(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    assert asyncio.run(open_project(project)) == project.resolve()
    git(tmp_path, "init", "--quiet", "empty")
    for path, why in (
        (project / "till", "not the top"),
        (tmp_path / "empty", "no commit"),
        (tmp_path / "x", "not a folder"),
    ):
        with pytest.raises(InputError, match=why):
            asyncio.run(open_project(path))


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.skipif(bool(needs(Level.L3)), reason=needs(Level.L3))
async def test_a_commit_that_mends_the_tests_is_seen_and_nobody_was_paid_before(
    tmp_path: Path,
) -> None:
    at = World(make_project(tmp_path), tmp_path / "w")
    runner = (at.project / "run_tests.py").read_text()
    write(at.project, "run_tests.py", "raise SystemExit(3)\n")
    git(at.project, "commit", "--quiet", "--all", "--message", "broken")
    (story,) = (await at.go("story-1")).stories
    assert (story.status, story.stages) == ("paused", [])
    assert "before anybody is called" in story.reason
    write(at.project, "run_tests.py", runner)
    git(at.project, "commit", "--quiet", "--all", "--message", "mended")
    for _ in range(2):
        (story,) = (await at.go("story-1")).stories
        assert story.status == "done", story.reason
    assert "transom/story-1" not in git(at.project, "branch")
