"""Two epics of one project at the same time, in processes of their own: both end, and no story asks
because of the other epic's work.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stories.projects import git, make_project, write

AGENT = """X=$(cat)
S=$(echo "$X" | grep -o 'number_[a-z][0-9]' | head -1 | cut -c8-)
N=${S#?}
case $TRANSOM_ROLE in
sm) echo "SUMMARY: number $S; one criterion." ;;
po) printf "SUMMARY: clear.\\nDECISION: APPROVED\\n" ;;
qa) printf "SUMMARY: met.\\nDECISION: PASS\\n" ;;
dev)
    printf "def number_$S(x):\\n    return x + $N\\n" > till/$S.py
    sed "s/SSS/$S/g; s/RRR/$((N + 2))/" $TEMPLATE > tests/test_$S.py
    printf "SUMMARY: number $S.\\nFILES:\\n- created: till/$S.py\\n- created: tests/test_$S.py\\n"
    printf "TESTS:\\n- AC 1: test_$S\\n"
    ;;
esac
"""
TEMPLATE = """import unittest

from till.SSS import number_SSS


class NumberTest(unittest.TestCase):
    def test_SSS(self):
        self.assertEqual(number_SSS(2), RRR)
"""
STORY = """  - id: {name}
    title: Number {number}
    description: As a clerk, I want the number {number}, so that I can count.
    acceptance_criteria: ["number_{number}(2) is {result}"]
    files:
      create: [till/{number}.py, tests/test_{number}.py]
"""


def make_epics(base: Path, *, same_names: bool, stories: int = 3) -> Path:
    project = make_project(base)
    for epic in "ab":
        rows = ""
        for number in range(1, stories + 1):
            name = f"story-{number}" if same_names else f"{epic}-{number}"
            rows += STORY.format(name=name, number=f"{epic}{number}", result=number + 2)
        write(project, f"docs/epics/{epic}/stories.yaml", f"epic_id: {epic}\nstories:\n{rows}")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "two epics")
    write(base, "agent.sh", AGENT)
    write(base, "template", TEMPLATE)
    settings = {
        "agent": {
            "command": ["sh", f"{base}/agent.sh"],
            "env": [f"TEMPLATE={base}/template"],
        },
        "stories": {"tests": ["{python}", "run_tests.py", "{junit}"]},
    }
    write(base, "transom.yaml", json.dumps(settings))
    return project


async def run(base: Path, epic: str, workspace: str) -> Any:
    words = ["story", "run", "--project", "project", "--epic", epic, "--workspace", workspace]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "transom",
        *words,
        "--unsafe-no-sandbox",
        "--format",
        "json",
        cwd=base,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return json.loads(output)


@pytest.mark.slow
@pytest.mark.parametrize("workspaces", [("w", "w"), ("v", "w")])
@pytest.mark.parametrize("same_names", [False, True])
async def test_both_end(tmp_path: Path, workspaces: tuple[str, str], same_names: bool) -> None:
    project = make_epics(tmp_path, same_names=same_names)
    results = await asyncio.gather(
        *(run(tmp_path, epic, place) for epic, place in zip("ab", workspaces, strict=True))
    )
    for result in results:
        states = [(story["status"], story["reason"]) for story in result["stories"]]
        assert states == [("done", "")] * 3
        assert not any(story["parked"] for story in result["stories"])
    merges = git(project, "log", "--first-parent", "--format=%s", "main").splitlines()
    assert sorted(merges[:6]) == sorted({*merges[:6]})
    assert len(merges) == 8
    assert git(project, "status", "--porcelain") == ""
    assert git(project, "branch", "--format=%(refname:short)") == "main"
    assert git(project, "worktree", "list").count("\n") == 0
    # Both epics' code is there, and its tests pass together.
    for epic in "ab":
        assert (project / f"till/{epic}3.py").is_file()
