"""A sentence of two halves, each of which has a report of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.honest_reports import HEADED
from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.judging import Verdict

POINTS = """\
**************************************************
Report         : {kind}_points

Reference      : Ref:/WORK/blinker
Implementation : Imp:/WORK/{design}
Version        : L-2016.03-SP1
Date           : Fri Jun 27 04:09:17 2025
**************************************************

{line}

1
"""
SETUP = HEADED.replace("-delay_type min", "-delay_type max").replace("Type: min", "Type: max")
BOTH = ClaimRow(name="no_open_points")
TIMING = ClaimRow(name="timing_met")


def points(kind: str, *, design: str = "blinker", found: bool = False) -> str:
    """Return a report of compare points of a kind."""
    line = (
        f" 3 {kind.title()} compare points (3 matched)" if found else f"No {kind} compare points."
    )
    return POINTS.format(kind=kind, design=design, line=line)


def judge_both(folder: Path, claim: ClaimRow, first: str, second: str) -> Verdict:
    """Return the verdict of a claim over two files."""
    folder.mkdir(exist_ok=True)
    (folder / "b.rpt").write_text(second, encoding="utf-8")
    return judge(folder, claim, first, {"input_files": ["a.rpt", "b.rpt"]})


@pytest.mark.parametrize(
    ("claim", "first", "second"),
    [
        (BOTH, points("aborted"), points("unverified")),
        (BOTH, points("unverified"), points("aborted")),
        (TIMING, SETUP, HEADED),
    ],
)
def test_two_halves_of_one_design_prove_a_claim(
    tmp_path: Path, claim: ClaimRow, first: str, second: str
) -> None:
    verdict = judge_both(tmp_path, claim, first, second)
    assert (verdict.status, verdict.capped_by) == ("PASS", ())


@pytest.mark.parametrize(
    ("claim", "first", "second"),
    [
        (BOTH, points("aborted"), points("unverified", design="counter")),
        (BOTH, points("aborted"), points("aborted")),
        (TIMING, SETUP, HEADED.replace("Design : blinker", "Design : counter")),
        (TIMING, SETUP, HEADED.replace("Design : blinker\n", "")),
        (TIMING, SETUP, SETUP),
    ],
)
def test_halves_of_two_designs_and_one_half_alone_prove_nothing(
    tmp_path: Path, claim: ClaimRow, first: str, second: str
) -> None:
    verdict = judge_both(tmp_path, claim, first, second)
    assert (verdict.status, verdict.would_be) == ("NEEDS_REVIEW", "PASS")
    assert any("was not measured" in cap.text for cap in verdict.capped_by)


@pytest.mark.parametrize(
    ("claim", "first", "second"),
    [
        (BOTH, points("aborted"), points("unverified", found=True)),
        (BOTH, points("aborted", found=True), points("unverified")),
        (
            TIMING,
            SETUP.replace(
                "(MET)                                         0.07",
                "(VIOLATED)                                   -0.07",
            ),
            HEADED,
        ),
    ],
)
def test_a_half_that_is_bad_breaks_the_claim(
    tmp_path: Path, claim: ClaimRow, first: str, second: str
) -> None:
    assert judge_both(tmp_path, claim, first, second).status == "FAIL"


def test_a_file_of_what_a_claim_leaves_out_is_a_question_and_no_wrong_file(tmp_path: Path) -> None:
    row = ClaimRow(name="no_unverified_points")
    files = (points("aborted"), points("unverified"))
    verdict = judge_both(tmp_path / "whole", row, *files)
    assert verdict.status == "ERROR"
    assert verdict.errors[0].message.startswith("wrong file: ")
    part = row.model_copy(update={"left_out": ("aborted",)})
    verdict = judge_both(tmp_path / "part", part, *files)
    assert verdict.status == "NEEDS_REVIEW"
    texts = [cap.text for cap in verdict.capped_by]
    assert texts[0] == 'not checked: "aborted"'
    assert "a.rpt was given, and the claim does not check it" in texts
    # Without a file of the claim there is no half that anybody could judge.
    assert judge_both(tmp_path / "none", part, files[0], files[0]).status == "ERROR"
