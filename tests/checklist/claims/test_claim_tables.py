"""Tables of what must not pass and what must; two stand-ins show that each row asserts something."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.checklist.claims.claim_tables import TableRow, must_not_pass, must_pass
from tests.checklist.claims.support import judge
from transom.checklist.judging import Verdict

NOT_PASS = list(must_not_pass())
PASS = list(must_pass())
FEWEST_FORMS = 6
FEWEST_ROWS = 250
BROKEN = "broken"


def reasons(verdict: Verdict) -> str:
    """Return all that a verdict says of why it is no PASS."""
    entries = (*verdict.missing_items, *verdict.extra_items)
    texts = [f"{entry.value} {entry.reason} {entry.matched_content}" for entry in entries]
    texts += [cap.text for cap in verdict.capped_by]
    texts += [error.message for error in verdict.errors]
    texts += [f"{row.text} {row.where}" for row in verdict.needs_model]
    return "\n".join(texts)


def holds_not_pass(row: TableRow, status: str, why: str) -> bool:
    """Return whether a verdict is right for a row that must not pass."""
    if row.kind == BROKEN:
        return status == "FAIL"
    return status in ("NEEDS_REVIEW", "NEEDS_MODEL", "ERROR") and row.word in why and bool(why)


def holds_pass(status: str) -> bool:
    """Return whether a verdict is right for a row that must pass."""
    return status == "PASS"


@pytest.mark.slow
@pytest.mark.parametrize("row", NOT_PASS, ids=lambda row: row.id)
def test_what_proves_nothing_does_not_pass(row: TableRow, tmp_path: Path) -> None:
    verdict = judge(tmp_path, row.claim, row.text, row.more)
    why = reasons(verdict)
    assert holds_not_pass(row, verdict.status, why), (verdict.status, why)


@pytest.mark.slow
@pytest.mark.parametrize("row", PASS, ids=lambda row: row.id)
def test_an_honest_report_passes_however_it_is_written(row: TableRow, tmp_path: Path) -> None:
    verdict = judge(tmp_path, row.claim, row.text, row.more)
    assert holds_pass(verdict.status), reasons(verdict)


def test_one_that_passes_everything_fails_each_row_that_must_not() -> None:
    assert [row.id for row in NOT_PASS if holds_not_pass(row, "PASS", "")] == []


def test_one_that_abstains_from_everything_fails_each_row_that_must_pass() -> None:
    assert not holds_pass("NEEDS_REVIEW")
    abstention = "a question"
    named = [row for row in NOT_PASS if row.word or row.kind == BROKEN]
    # One that abstains without a reason of its own is told apart where a row names the word.
    assert [row.id for row in named if holds_not_pass(row, "NEEDS_REVIEW", abstention)] == []
    assert len(named) >= FEWEST_ROWS


@pytest.mark.parametrize("rows", [NOT_PASS, PASS], ids=["must not pass", "must pass"])
def test_each_kind_has_enough_forms(rows: list[TableRow]) -> None:
    assert len(rows) >= FEWEST_ROWS
    forms = Counter(row.kind for row in rows)
    assert {kind: count for kind, count in forms.items() if count < FEWEST_FORMS} == {}
    assert max(Counter(row.id for row in rows).values()) == 1
