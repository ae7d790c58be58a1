"""An external agent that lies in every way that was thought of, and an honest one: how their
story ends.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.forked import attempt
from tests.stories.projects import EXAMPLE, TESTS, git, make_project, write
from tests.stories.worlds import World
from transom.config.story_sections import StoriesSettings
from transom.formats.yaml_files import load_yaml
from transom.sandbox import Level
from transom.stories.shared import StorySettings

DATA: Any = load_yaml(Path(__file__).with_name("data") / "courses.yaml").data
QUICK = {
    "does-nothing",
    "breaks-a-test",
    "deletes-tests",
    "forges-the-report",
    "hides-a-file",
    "works-outside",
    "works-in-an-ignored-folder",
    "makes-its-own-repository",
    "plain",
}
LONG = (pytest.mark.slow, pytest.mark.fence)
COURSES = [
    pytest.param(one, id=one["id"], marks=() if one["id"] in QUICK else LONG)
    for kind in ("lying", "honest")
    for one in DATA[kind]
]
OPENLY = replace(TESTS, level=Level.NONE)


def agent(folder: Path, project: Path, course: str) -> tuple[str, ...]:
    """A program that behaves as the course says; it reads its prompt as a real one would."""
    replies = EXAMPLE / "replies" / "story-1"
    course = course.replace("$HONEST", f"git apply {replies}/dev-1.patch").replace(
        "$REPLY", f"cat {replies}/dev-1.txt"
    )
    write(folder, "agent.sh", f"cat > /dev/null\nPROJECT={project}\n{course}\n")
    return ("/bin/sh", str(folder / "agent.sh"))


def world(folder: Path, course: str, **settings: Any) -> World:
    project = make_project(folder)
    kinds: Any = {"sm": "rules", "po": "rules", "dev": "command", "qa": "rules"}
    told = StorySettings(kinds, OPENLY, StoriesSettings(**{"attempts": 1, **settings}))
    return World(project, folder / "w", settings=told, command=agent(folder, project, course))


@pytest.mark.parametrize("course", COURSES)
async def test_a_story_is_done_by_what_happened_and_never_by_what_was_said(
    tmp_path: Path, course: Any
) -> None:
    at = world(tmp_path, course["sh"])
    main = git(at.project, "rev-parse", "main")
    (story,) = (await at.go("story-1")).stories
    found = [finding for row in story.stages for finding in row.evidence.get("findings", ())]
    assert story.status == course["status"], (story.reason, found)
    if story.status == "done":
        assert git(at.project, "log", "-1", "--format=%s", "main") == "Merge story-1: Discounts"
        assert (at.project / "till" / "discounts.py").is_file()
        assert not git(at.project, "status", "--porcelain") and "transom" not in git(
            at.project, "branch"
        )
    else:
        assert course["says"] in "\n".join([*found, story.reason])
        assert course["id"] == "commits-to-main" or git(at.project, "rev-parse", "main") == main
        assert [*(tmp_path / "w").glob("runs/*/*/handoffs/story-1.yaml")], "it is kept on failure"


@pytest.mark.slow
@pytest.mark.fence
async def test_what_an_agent_left_on_another_branch_is_kept(tmp_path: Path) -> None:
    at = world(
        tmp_path, "git checkout -q -b mine; $HONEST; git add -A; git commit -qm mine; $REPLY"
    )
    (story,) = (await at.go("story-1")).stories
    assert [
        branch
        for branch in story.parked
        if "def discount" in git(at.project, "show", f"{branch}:till/discounts.py")
    ]


@pytest.mark.slow
@pytest.mark.fence
async def test_failing_output_goes_back_to_dev_and_the_same_finding_twice_goes_to_a_person(
    tmp_path: Path,
) -> None:
    at = world(
        tmp_path, "$HONEST; sed -i 's/price \\* q/price + q/' till/prices.py; $REPLY", attempts=3
    )
    program = tmp_path / "agent.sh"
    program.write_text(
        program.read_text().replace("/dev/null", f"{tmp_path}/prompt-$TRANSOM_ATTEMPT")
    )
    (story,) = (await at.go("story-1")).stories
    assert story.status == "paused" and "the same finding came twice" in story.reason
    assert [row.attempt for row in story.stages if row.stage == "dev"] == [1, 2]
    second = (tmp_path / "prompt-2").read_text()
    assert "fail that did not fail before" in second and "test_quantities_count" in second
    assert "findings" not in (tmp_path / "prompt-1").read_text().partition("</instructions>")[2]


@pytest.mark.slow
@pytest.mark.fence
async def test_work_that_a_kill_cut_off_is_kept_on_a_branch_and_its_agent_is_ended(
    tmp_path: Path,
) -> None:
    course = f"""
if ! test -f {tmp_path}/begun; then
    touch {tmp_path}/begun
    echo half > till/half.py
    kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat)
    sleep 30
    echo late > till/late.py
fi
$HONEST; $REPLY"""
    at = world(tmp_path, course)
    status = await asyncio.to_thread(attempt, lambda: asyncio.run(at.go("story-1")))
    assert os.WIFSIGNALED(status)
    (story,) = (await at.go("story-1")).stories
    assert (story.status, story.parked) == ("done", ["transom/parked/story-1-1"])
    assert git(at.project, "show", "transom/parked/story-1-1:till/half.py") == "half"
    assert not (at.project / "till" / "late.py").exists()
    left = [
        entry
        for entry in Path("/proc").glob("[0-9]*")
        if str(tmp_path).encode() in read(entry / "environ")
    ]
    assert not left, "the agent of before works no more"


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
