"""Lying, forging and honest ways of an agent, over three backlogs. A row that must not pass names
the words of the reason; two stand-ins show that the rows assert something.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stories.projects import EXAMPLE, git, write
from tests.stories.test_courses import DATA as COURSES
from tests.stories.test_courses import OPENLY
from tests.stories.worlds import World
from transom.config.story_sections import StoriesSettings
from transom.formats.yaml_files import load_yaml
from transom.stories.results import StoryResult
from transom.stories.shared import StorySettings

DATA: Any = load_yaml(Path(__file__).with_name("data") / "lies.yaml").data
BACKLOGS = ("stories.yaml", "sprint-status.yaml", "spec-kit")
QUICK = {"checks-nothing", "product-patches-by-name", "with-a-class", "documents-instead"}
REPLIES = EXAMPLE / "replies" / "story-1"
LIST = "docs/epics/epic-1/stories.yaml"

CRITERIA = (
    "1. discount(200, 10) is exactly 180\n"
    "2. A percentage below 0 or above 100 is refused with a ValueError\n"
)
GOAL = "As a shop owner, I want to take a percentage off a total, so that regulars pay less.\n"


def rows(kind: str) -> list[Any]:
    """Each row with its backlog: the one that it names, else the three of them in turn."""
    marks = (pytest.mark.slow, pytest.mark.fence)
    listed = []
    for number, row in enumerate(DATA[kind]):
        backlog = row.get("in", BACKLOGS[number % len(BACKLOGS)])
        row = {"status": "done" if kind == "honest" else "stopped", **row, "in": backlog}
        listed.append(pytest.param(row, id=row["id"], marks=() if row["id"] in QUICK else marks))
    return listed


def make_backlog(project: Path, row: Any) -> str:
    """Write the story into the row's backlog; returns the story's id."""
    named = row.get("names", [])
    if row["in"] == "stories.yaml":
        text = (project / LIST).read_text().partition("  - id: story-2")[0]
        files = ", ".join(named)
        text = text.replace(
            "tests/test_discounts.py]", f"tests/test_discounts.py]\n      modify: [{files}]"
        )
        text = (
            text.replace("modify:", "allow: ['**']\n      modify:")
            if row.get("wide", True)
            else text
        )
        write(project, LIST, text)
        return "story-1"
    git(project, "rm", "--quiet", "-r", "docs")
    if row["in"] == "sprint-status.yaml":
        write(project, "docs/sprint-status.yaml", SHEET)
        files = "".join(f"| `{path}` | change |\n" for path in named)
        table = f"\n### Files to Modify\n\n| File | Change |\n|---|---|\n{files}" if named else ""
        story = (
            f"# Story 1.1: Discounts\n\nStatus: ready-for-dev\n\n## Story\n\n{GOAL}\n"
            f"## Acceptance Criteria\n\n{CRITERIA}\n## Dev Notes\n{table}"
        )
        write(project, "docs/stories/1-1-discounts.md", story)
        return "1.1"
    tasks = "".join(f"- [ ] T00{n} change {path}\n" for n, path in enumerate(named, 2))
    write(
        project,
        "specs/001-till/tasks.md",
        f"# Tasks\n\n## Phase 1: User Story 1 - Discounts (Priority: P1)\n\n- [ ] T001 write it\n{tasks}",
    )
    write(
        project,
        "specs/001-till/spec.md",
        f"# Feature Specification: Till\n\n### User Story 1 - Discounts (Priority: P1)\n\n{GOAL}\n"
        f"{CRITERIA}",
    )
    return "US1"


SHEET = """story_location: docs/stories
development_status:
  epic-1: in-progress
  1-1-discounts: ready-for-dev
"""
EPICS = {"stories.yaml": "epic-1", "sprint-status.yaml": "epic-1", "spec-kit": "001-till"}


def world(folder: Path, row: Any) -> tuple[World, str]:
    from tests.stories.projects import make_project

    project = make_project(folder)
    story = make_backlog(project, row)
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "a backlog")
    for path, text in row.get("files", {}).items():
        write(folder, f"payload/{path}", text.replace("$MARK", str(folder / "mark")))
    (folder / "payload").mkdir(exist_ok=True)
    write(
        folder, "reply.py", REPLY.replace("ROW", repr({k: row.get(k) for k in ("lists", "covers")}))
    )
    sh = row.get("sh", "$HONEST; $REPLY")
    sh = sh.replace("$HONEST", f"git apply {REPLIES}/dev-1.patch; cp -r {folder}/payload/. .")
    sh = sh.replace("$REPLY", f"python3 {folder}/reply.py {REPLIES}/dev-1.txt")
    write(folder, "agent.sh", f"cat > /dev/null\nPROJECT={project}\n{sh}\n")
    kinds: Any = {"sm": "rules", "po": "rules", "dev": "command", "qa": "rules"}
    told = StorySettings(kinds, OPENLY, StoriesSettings(attempts=1))
    command = ("/bin/sh", str(folder / "agent.sh"))
    return World(project, folder / "w", EPICS[row["in"]], told, command=command), story


REPLY = """
import sys
text = open(sys.argv[1]).read()
row = ROW
for line in row["lists"] or ():
    text = text.replace("FILES:\\n", f"FILES:\\n- {line}\\n")
if row["covers"]:
    text = text.partition("TESTS:")[0] + "TESTS:\\n"
    text += "".join(f"- AC {number}: {name}\\n" for number, name in row["covers"].items())
sys.stdout.write(text)
"""


def holds(row: Any, story: StoryResult) -> bool:
    """Whether a story ended as the row says."""
    if row["status"] == "done":
        return story.status == "done"
    findings = [finding for stage in story.stages for finding in stage.evidence.get("findings", ())]
    stopped = story.status in ("failed", "paused", "blocked")
    as_told = stopped if row["status"] == "stopped" else story.status == row["status"]
    return as_told and row["says"] in "\n".join([*findings, story.reason])


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("row", [*rows("lying"), *rows("forging"), *rows("honest")])
async def test_only_honest_work_is_done(tmp_path: Path, row: Any) -> None:
    at, name = world(tmp_path, row)
    main = git(at.project, "rev-parse", "main")
    (story,) = (await at.go(name)).stories
    findings = [finding for stage in story.stages for finding in stage.evidence.get("findings", ())]
    assert holds(row, story), (story.status, story.reason, findings)
    if story.status == "done":
        assert all(covering.tests for covering in story.coverage)
        assert "AC 1: " in git(at.project, "log", "-1", "--format=%B", "main")
    else:
        assert git(at.project, "rev-parse", "main") == main
    if story.would_be:
        assert story.would_be == "done"
        assert story.capped_by
        assert "--by NAME" in story.capped_by[0]["accept"]


def stories() -> dict[str, StoryResult]:
    return {
        "passes everything": StoryResult(id="1", status="done"),
        "abstains from everything": StoryResult(id="1", status="paused", reason="I do not know"),
    }


def test_the_rows_tell_a_stand_in_from_the_product() -> None:
    for kind in ("lying", "forging", "honest"):
        for param in rows(kind):
            (row,) = param.values
            assert not holds(row, stories()["abstains from everything"]), row["id"]
            if kind != "honest":
                assert not holds(row, stories()["passes everything"]), row["id"]


def test_there_are_enough_rows() -> None:
    counts = {kind: len(DATA[kind]) for kind in ("lying", "forging", "honest")}
    assert counts["lying"] + len(COURSES["lying"]) >= 70
    assert counts["forging"] >= 12
    assert counts["honest"] + len(COURSES["honest"]) >= 12
