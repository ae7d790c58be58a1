"""Each good report offered to each claim: only a report of the claim's own matter may pass it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import (
    limited_measure,
    measure_name,
    proof_facts,
    scope_of_claim,
    shipped_claims,
)
from transom.checklist.narrowing import synonyms
from transom.formats.reports import load_formats, read_report_pieces, read_report_text
from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.reports.loading import SHIPPED

FORMATS = load_formats([SHIPPED])
# A limit that every number holds, so that only the kind of the report can keep it from a PASS.
ABSENT = "no log has this text"
# Genus reports the area, power or timing of what it has synthesised; its log and its checks do not
# say whether it was.
SYNTHESIS = {"genus.area", "genus.gates", "genus.legacy_timing", "genus.power", "genus.power_categories", "genus.qor", "genus.timing", "genus.timing_summary"}  # fmt: skip
GENEROUS = {"time": "at least -1000 s", "share": "below 101 %", "power": "below 1000 W"}


def claims() -> list[ClaimRow]:
    """Return each claim, and the limit claim for each measure."""
    rows = list[ClaimRow]()
    for name, claim in shipped_claims().claims.items():
        if "limit" not in claim.parameters:
            # A text that no log has, so that only the kind of the log can keep it from a PASS.
            parameters = {"text": ABSENT} if "text" in claim.parameters else {}
            if name == "kinds_loaded":
                parameters = {"kinds": "netlist or spef"}
            rows.append(ClaimRow(name=name, parameters=parameters))
            continue
        for measure in shipped_claims().measures:
            parameters = {"measure": measure.name, "limit": GENEROUS.get(measure.quantity, ">= 0")}
            if measure.check is not None:
                parameters["check"] = measure.check
            rows.append(ClaimRow(name=name, parameters=parameters))
    return rows


def list_for(row: ClaimRow) -> dict[str, object]:
    """Return a list that allows everything, so that only the kind of the report can be wrong."""
    listed = shipped_claims().claims[row.name].list
    if listed is None:
        return {}
    pattern = ABSENT if listed == "forbidden" else "*"
    return {"requirements": {"value": 1, "pattern_items": [pattern]}}


def measures_the_matter(row: ClaimRow, report: str) -> bool:
    """Return whether a report has a measurement that proves or breaks a claim."""
    claim = shipped_claims().claims[row.name]
    scope = scope_of_claim(claim, row.parameters)
    names = {
        measure_name(pattern, row.parameters)
        for group in proof_facts(claim, row.parameters)
        for pattern in group
    } | {measure_name(pattern, row.parameters) for pattern in claim.bad}
    measure = limited_measure(row.parameters)
    if measure is not None and measure.negative_part:
        names.add(measure.negative_part)
    searches = "text" in claim.parameters or claim.list == "forbidden"
    sought = [ABSENT] if searches else []
    for fact in read_report_pieces(iter([report]), "report", FORMATS, sought).measurements:
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
            verdict = judge(tmp_path / str(tried), row, example.text, list_for(row))
            tried += 1
            if verdict.status in ("PASS", "FAIL") or verdict.would_be:
                passed.append(f"{row.name} {row.parameters}: {verdict.status}")
    assert tried >= 8, "a report may not speak of nearly everything"
    assert passed == []


@pytest.mark.slow
@pytest.mark.parametrize("report_format", FORMATS, ids=lambda each: each.name)
def test_a_report_never_passes_for_a_tool_stage_or_corner_that_it_does_not_state(
    report_format: CompiledFormat, tmp_path: Path
) -> None:
    tried = 0
    passed = list[str]()
    for number, example in enumerate(report_format.model.examples.good):
        row = passing_claim(tmp_path / f"good-{number}", example.text)
        if row is None:
            continue
        more = list_for(row)
        sections = read_report_text(example.text, FORMATS).sections
        stated = [fact.text for each in sections for fact in each.identity.facts]
        if report_format.name in SYNTHESIS:
            stated.append("post synthesis")
        text = "\n".join([example.text, *stated])
        for group in (group for groups in synonyms().values() for group in groups):
            # The banner of a file states its tool, whether its format reads that or not.
            if any(re.search(rf"(?i)(?<![a-z]){re.escape(name)}", text) for name in group):
                continue
            name = list(group)[-1]
            asked = {**more, "description": f"Confirm it for {name}."}
            verdict = judge(tmp_path / f"{number}-{tried}", row, example.text, asked)
            tried += 1
            if verdict.status in ("PASS", "FAIL"):
                passed.append(f"{row.name} for {name}: {verdict.status}")
    assert passed == []


def passing_claim(folder: Path, report: str) -> ClaimRow | None:
    """Return the first claim that passes on a report, or None."""
    for row in claims():
        if not measures_the_matter(row, report):
            continue
        if judge(folder / row.name, row, report, list_for(row)).status == "PASS":
            return row
    return None
