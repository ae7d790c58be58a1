"""Lines of progress name the work, not the stage."""

from __future__ import annotations

from typing import get_args

import pytest

from transom.formats.source_functions import BodyKind
from transom.stories.progress import describe_stage


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        ("1.2/dev#1", "1.2: Dev works"),
        ("story-3/again2/qa#2", "story-3: QA judges (attempt 2)"),
        ("US1/proof#1/bodies-raise", "US1: the tests run again, with functions that raise"),
        (
            "US1/proof#2/bodies-named-1",
            "US1: the tests run again, with a failure in what a criterion names",
        ),
        (
            "1.2/proof#1/usual-arguments-2",
            "1.2: the tests run again, with usual values where no criterion names others",
        ),
        (
            "1.2/proof#1/without-function-1",
            "1.2: the tests run again, with a failure in what a test replaces",
        ),
        ("1.2/tests-before", "1.2: the tests run on the baseline"),
        ("tests-trial/run", "the test command is tried with a test that fails"),
        ("1.2/dev#1/begin", ""),
        ("1.2/baseline", ""),
        ("statuses", ""),
    ],
)
def test_a_stage_is_described(stage: str, line: str) -> None:
    assert describe_stage(stage) == line


def test_each_kind_of_other_bodies_has_a_line() -> None:
    kinds: list[str] = []
    for part in get_args(BodyKind):
        kinds += get_args(part) or [part]
    assert len(kinds) > 20
    assert [kind for kind in kinds if not describe_stage(f"1.2/proof#1/bodies-{kind}")] == []
