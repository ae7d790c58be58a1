"""Each good report offered to each claim: only a report of the claim's own matter may pass it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import (
    limited_measure,
    measure_name,
    scope_of_claim,
    shipped_claims,
)
from transom.formats.reports import read_report_text, shipped_formats
from transom.formats.reports.rules import CompiledFormat

FORMATS = shipped_formats()
# A limit that every number holds, so that only the kind of the report can keep it from a PASS.
GENEROUS = {"time": "at least -1000 s", "share": "below 101 %", "power": "below 1000 W"}


def claims() -> list[ClaimRow]:
    """Return each claim, and the limit claim for each measure."""
    rows = list[ClaimRow]()
    for name, claim in shipped_claims().claims.items():
        if "limit" not in claim.parameters:
            rows.append(ClaimRow(name=name))
            continue
        for measure in shipped_claims().measures:
            parameters = {"measure": measure.name, "limit": GENEROUS.get(measure.quantity, ">= 0")}
            if measure.check is not None:
                parameters["check"] = measure.check
            rows.append(ClaimRow(name=name, parameters=parameters))
    return rows


def measures_the_matter(row: ClaimRow, report: str) -> bool:
    """Return whether a report has a measurement that proves or breaks a claim."""
    claim = shipped_claims().claims[row.name]
    scope = scope_of_claim(claim, row.parameters)
    names = {
        measure_name(pattern, row.parameters) for group in claim.proof for pattern in group
    } | {measure_name(pattern, row.parameters) for pattern in claim.bad}
    measure = limited_measure(row.parameters)
    if measure is not None and measure.negative_part:
        names.add(measure.negative_part)
    for fact in read_report_text(report, FORMATS).measurements:
        if fact.name in names and all(
            fact.scope.get(key, word) == word for key, word in scope.items()
        ):
            return True
    return False


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("report_format", FORMATS, ids=lambda each: each.name)
def test_a_report_of_another_matter_never_passes(
    report_format: CompiledFormat, tmp_path: Path
) -> None:
    tried = 0
    passed = list[str]()
    for example in report_format.model.examples.good:
        for row in claims():
            if measures_the_matter(row, example.text):
                continue
            listed = shipped_claims().claims[row.name].list
            # A list that allows everything, so that only the kind of the report can be wrong.
            more = {"requirements": {"value": 1, "pattern_items": ["*"]}} if listed else {}
            verdict = judge(tmp_path / str(tried), row, example.text, more)
            tried += 1
            if verdict.status in ("PASS", "FAIL") or verdict.would_be:
                passed.append(f"{row.name} {row.parameters}: {verdict.status}")
    assert tried >= 8, "a report may not speak of nearly everything"
    assert passed == []
