"""Lines of progress speak of what users know: never of a stage by its name in the journal."""

from __future__ import annotations

import re

import pytest

from tests.cli.checks import EXAMPLES, Desk
from transom.runs.stage_lines import LABELS

STAGE_NAME = re.compile(
    r"^(?:spec|build|run|gather|advice)/\S+|: working\b|, reused$", re.MULTILINE
)
DATA = str(EXAMPLES.parent / "incoming_data")


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("check", "all", "VER-01.yaml", "--var", "CHECKLIST_ROOT=data"),
            "the checker runs on the input files",
        ),
        (("check", "spec", "STA-02.yaml"), "the ItemSpec is put together"),
        (
            ("investigate", "Is the QR kiosk ready?", "--data", DATA),
            "feature2 metrics unit_test_coverage.json is read",
        ),
    ],
    ids=["check all", "check spec", "investigate"],
)
def test_progress_names_no_stage_of_the_journal(
    words: tuple[str, ...], line: str, desk: Desk
) -> None:
    first, again = (desk(*words) for _ in range(2))
    assert line in first.err.splitlines()
    assert not STAGE_NAME.findall(first.err + again.err)


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("check-build", "build/gates#2", "the gates try the checker (iteration 2)"),
        ("check", "spec/round1_analysis", "the item is analysed (round 1 of the ItemSpec)"),
        (
            "check",
            "spec/round5_section4_observed",
            "section 4 of the ItemSpec is corrected by the real files",
        ),
        ("investigate", "gather/reviews%2Fa b.md", "reviews/a b.md is read"),
        ("investigate", "merge/2/4f", "the summaries are put together"),
        ("study", "set-up", ""),
        ("study", "advice", "the model looks at the failed designs"),
        ("study", "something/new", "something/new: working"),
    ],
)
def test_each_stage_has_its_line(kind: str, name: str, line: str) -> None:
    assert LABELS[kind](name) == line
