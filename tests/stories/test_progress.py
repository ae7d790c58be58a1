"""Lines of progress name the work, not the stage."""

from __future__ import annotations

import pytest

from transom.stories.progress import describe_stage


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        ("1.2/dev#1", "1.2: Dev works"),
        ("story-3/again2/qa#2", "story-3: QA judges (attempt 2)"),
        ("US1/proof#1/bodies-raise", "US1: the tests run again, with functions that raise"),
        ("1.2/tests-before", "1.2: the tests run on the baseline"),
        ("tests-trial/run", "the test command is tried with a test that fails"),
        ("1.2/dev#1/begin", ""),
        ("1.2/baseline", ""),
        ("statuses", ""),
    ],
)
def test_a_stage_is_described(stage: str, line: str) -> None:
    assert describe_stage(stage) == line
