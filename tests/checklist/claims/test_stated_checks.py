"""A value of which the report does not name the check becomes a question, and is judged then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.judging.claim_account import checks_to_choose
from transom.formats.reports import read_report_text, shipped_formats

HEAD = "OpenSTA 2.6.0 1f7d7e6a4b Copyright (c) 2024, Parallax Software, Inc.\n"
GOOD = HEAD + "worst slack 0.53\n"
BAD = HEAD + "worst slack -0.53\n"
# A flow's summary without the banner of the tool.
SUMMARY = "wns 0.00\ntns 0.00\nworst slack 0.53\n"
NEGATIVE_SUM = HEAD + "wns -0.20\ntns -3.10\n"
BOTH = HEAD + "worst slack 1.20\nworst slack 0.28\n"
NAMED = HEAD + "worst slack max 1.20\n"
LIMIT = {"measure": "worst_slack", "check": "hold", "limit": "at least 0.1"}

QUESTIONS = [
    ("setup_met", GOOD, ["setup", "hold"]),
    ("setup_met", SUMMARY, ["setup", "hold"]),
    ("setup_met", BAD, ["setup", "hold"]),
    ("hold_met", GOOD, ["hold", "setup"]),
    ("hold_met", NEGATIVE_SUM, ["hold", "setup"]),
    ("timing_met", GOOD, ["setup", "hold"]),
    # Two different values may be of both checks, so one answer cannot be right for them.
    ("setup_met", BOTH, []),
    ("setup_met", NAMED, []),
    ("no_errors", GOOD, []),
]


@pytest.mark.parametrize(("claim", "report", "checks"), QUESTIONS)
def test_the_checks_that_come_into_question(claim: str, report: str, checks: list[str]) -> None:
    reading = read_report_text(report, shipped_formats())
    assert list(checks_to_choose(ClaimRow(name=claim), [reading])) == checks


@pytest.mark.parametrize("claim", ["setup_met", "hold_met", "timing_met"])
@pytest.mark.parametrize("report", [GOOD, BAD, BOTH])
def test_nothing_is_judged_before_the_check_is_stated(
    tmp_path: Path, claim: str, report: str
) -> None:
    verdict = judge(tmp_path, ClaimRow(name=claim), report)
    expected = "FAIL" if claim == "timing_met" and report == BAD else "NEEDS_MODEL"
    assert verdict.status == expected, verdict.errors


STATED = [
    ("setup_met", GOOD, "setup", "PASS"),
    ("setup_met", SUMMARY, "setup", "PASS"),
    ("hold_met", SUMMARY, "hold", "PASS"),
    ("setup_met", BAD, "setup", "FAIL"),
    ("hold_met", BAD, "hold", "FAIL"),
    ("hold_met", NEGATIVE_SUM, "hold", "FAIL"),
    # What is of the other check proves nothing, and breaks nothing.
    ("hold_met", GOOD, "setup", "ERROR"),
    ("hold_met", BAD, "setup", "ERROR"),
    # The other check is not measured.
    ("timing_met", GOOD, "setup", "NEEDS_REVIEW"),
    # A check that the report names is no matter of a statement.
    ("hold_met", NAMED, "hold", "ERROR"),
]


@pytest.mark.parametrize(("claim", "report", "check", "status"), STATED)
def test_a_stated_check_is_judged(
    tmp_path: Path, claim: str, report: str, check: str, status: str
) -> None:
    row = ClaimRow(name=claim, stated_check=check, stated_by="alice")
    verdict = judge(tmp_path, row, report)
    assert verdict.status == status, (verdict.capped_by, verdict.errors)
    if status in ("PASS", "FAIL"):
        notes = [note.message for note in verdict.warnings]
        assert any(f"alice states that it is {check}" in note for note in notes), notes


def test_a_limit_is_compared_once_the_check_is_stated(tmp_path: Path) -> None:
    report = HEAD + "set_cmd_units -time ns\nworst slack 0.05\n"
    row = ClaimRow(name="number_limit", parameters={**LIMIT, "limit": "at least 0"})
    assert judge(tmp_path, row, report).status == "NEEDS_MODEL"
    stated = row.model_copy(update={"stated_check": "hold", "stated_by": "bob"})
    assert judge(tmp_path, stated, report).status == "PASS"
