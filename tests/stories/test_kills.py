"""Whenever it is killed, an epic goes on where it was: the same tree, no commit lost or doubled,
nobody asked twice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Each kill is an epic of its own: on a busy machine a test takes more than half an hour.
LONG = pytest.mark.timeout(5400)


def rows(base: Path, *words: str) -> tuple[Any, list[Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.stories.kill_driver", str(base), *words],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    whole, *killed = [json.loads(line) for line in done.stdout.splitlines()]
    assert whole["status"] == 0 and whole["asked"], done.stderr
    return whole, killed


def check(whole: Any, killed: list[Any], fewest: int) -> None:
    assert len(killed) >= fewest
    for row in killed:
        assert row["status"] == 0, row
        assert (row["files"], row["log"], row["dirty"]) == (whole["files"], whole["log"], ""), row
        assert len(row["asked"]) + row["journaled"] == len(whole["asked"]), row
        assert len(set(row["asked"])) == len(row["asked"]), row


@pytest.mark.slow
@pytest.mark.fence
def test_a_story_that_is_killed_goes_on(tmp_path: Path) -> None:
    # Before PO is asked, while Dev's call is recorded, and after Dev.
    check(*rows(tmp_path, "story-1", "append", "19", "28", "31"), 3)


@pytest.mark.slow
@pytest.mark.fence
def test_a_merge_that_is_killed_before_any_git_command_goes_on(tmp_path: Path) -> None:
    check(*rows(tmp_path, "story-1", "merge"), 10)


@pytest.mark.slow
@LONG
def test_a_story_that_is_killed_in_any_of_its_test_runs_goes_on(tmp_path: Path) -> None:
    check(*rows(tmp_path, "story-1", "tests"), 8)


@pytest.mark.slow
@LONG
def test_a_story_that_is_killed_after_any_append_goes_on(tmp_path: Path) -> None:
    check(*rows(tmp_path, "story-1", "append"), 50)


@pytest.mark.slow
@LONG
def test_an_epic_that_is_killed_after_each_ninth_append_goes_on(tmp_path: Path) -> None:
    whole, killed = rows(tmp_path, "all", "every", "9", "4")
    assert whole["log"].count("Merge story-1: Discounts") == 1
    check(whole, killed, 14)
