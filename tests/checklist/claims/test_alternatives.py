"""Sentences with alternatives: of which one is enough, and those that deny both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from tests.checklist.claims.test_claim_verdicts import TABLE
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.ranking import candidates

BAD_SETUP = TABLE.replace("|  0.112  |  0.112  |", "| -0.112  | -0.112  |")
# The report fails the alternative that the claim checks, and the other one may hold.
EITHER = [
    ("Setup timing is met or hold timing is met.", "setup_met"),
    ("Either setup timing is met or hold timing is met.", "setup_met"),
    ("Either setup or hold timing is met", "setup_met"),
    ("Setup timing is met, or the violations are waived", "setup_met"),
    ("Setup timing is met in the ss or in the ff corner", "setup_met"),
    ("The worst setup slack is at least 0 ns or TNS is 0", "number_limit"),
]
# Nothing of both may be there, so one that is there is enough to fail.
NEITHER = [
    ("No setup or hold violations", "setup_met"),
    ("There are no setup violations or hold violations", "setup_met"),
]
WHOLE = [
    ("No setup or hold violations", "timing_met"),
    ("There are no setup or hold violations.", "timing_met"),
    ("Zero setup or hold violations remain", "timing_met"),
]
NOT_WHOLE = [
    "Setup or hold timing is met",
    "Either setup or hold timing is met",
    "Setup or hold violations are reported",
    "No setup violations, or hold timing is met",
    "No setup violations, hold violations waived, or timing is met",
    "There are no hold checks, setup is met, or hold violations",
    "No setup violation is open, hold or setup timing is met",
    "No violation of setup or hold is waived",
]


def row_of(description: str, name: str) -> ClaimRow:
    """Return the row of a candidate for a description."""
    for candidate in candidates(description, has_patterns=False):
        if candidate.row.name == name:
            return candidate.row
    raise AssertionError(f"{name} is not offered")


@pytest.mark.parametrize(("description", "name"), EITHER)
def test_an_alternative_that_fails_leaves_the_other_one_open(
    description: str, name: str, tmp_path: Path
) -> None:
    row = row_of(description, name)
    verdict = judge(tmp_path / "bad", row, BAD_SETUP, {"description": description})
    assert verdict.status == "NEEDS_MODEL"
    assert any("or" in words.text.split() for words in verdict.needs_model), verdict.needs_model
    verdict = judge(tmp_path / "good", row, TABLE, {"description": description})
    assert verdict.status in ("NEEDS_REVIEW", "NEEDS_MODEL")


@pytest.mark.parametrize(("description", "name"), NEITHER)
def test_one_of_two_that_may_not_be_there_is_enough_to_fail(
    description: str, name: str, tmp_path: Path
) -> None:
    row = row_of(description, name)
    verdict = judge(tmp_path, row, BAD_SETUP, {"description": description})
    assert verdict.status == "FAIL"


@pytest.mark.parametrize(("description", "name"), WHOLE)
def test_no_a_or_b_is_a_claim_about_both(description: str, name: str) -> None:
    offered = candidates(description, has_patterns=False)
    assert (offered[0].row.name, offered[0].row.left_out) == (name, ())


@pytest.mark.parametrize("description", NOT_WHOLE)
def test_alternatives_are_never_offered_whole(description: str) -> None:
    whole = [row.row for row in candidates(description, has_patterns=False) if not row.row.left_out]
    assert whole == []
