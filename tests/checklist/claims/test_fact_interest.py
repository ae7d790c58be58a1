"""A claim is given the measurements that it asks for, and its verdict is that over all of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.checklist.claims.honest_reports import HONEST, STA, STA_LOG, HonestReport
from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_files import write_claim
from transom.checklist.claims.claim_interest import interest_of
from transom.checklist.item import parse_item
from transom.checklist.judging import check
from transom.checklist.vectors import STANDARD_SOURCE
from transom.formats.reports import FactInterest, fact_interest, read_report_pieces, shipped_formats
from transom.formats.yaml_files import dump_yaml

OTHERS = [
    # Other facts than those that the claim asks for are named in the error.
    ("rules_clean", STA_LOG),
    ("netlists_match", STA_LOG),
    # A fact behind the end of a log.
    ("setup_met", STA_LOG + "worst slack -0.20\n"),
    ("no_errors", STA_LOG.replace("exit\n", "Warning: net a has no driver.\nexit\n")),
    ("files_loaded", STA_LOG.replace("exit\n", "Error: cannot read file a.spef.\nexit\n")),
]
LONG = STA + "read_verilog a.v\n" + "report_tns\ntns 0.00\n" * 2_000 + "exit\n"


@pytest.mark.parametrize("report", HONEST, ids=lambda report: report.name)
@pytest.mark.parametrize("is_bad", [False, True], ids=["good", "bad"])
def test_a_verdict_is_that_over_all_measurements(
    report: HonestReport, is_bad: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = report.edited(report.bad) if is_bad else report.text
    verdict = judge(tmp_path / "asked", report.claim, text, report.more)
    monkeypatch.setattr(check, "interest_of", lambda *_: None)
    assert judge(tmp_path / "all", report.claim, text, report.more) == verdict


@pytest.mark.parametrize(("name", "text"), OTHERS)
def test_other_facts_are_counted_and_named(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = judge(tmp_path / "asked", ClaimRow(name=name), text)
    monkeypatch.setattr(check, "interest_of", lambda *_: None)
    assert judge(tmp_path / "all", ClaimRow(name=name), text) == verdict


def test_what_nobody_asks_for_is_counted() -> None:
    everything = read_report_pieces(iter([LONG]), "a.log", shipped_formats())
    interest = FactInterest(frozenset({"file_read"}))
    asked = read_report_pieces(iter([LONG]), "a.log", shipped_formats(), interest=interest)
    assert asked.fact_count == everything.fact_count == len(everything.measurements) > 2_000
    # The first of each other name shows what the file holds.
    names = [fact.name for fact in asked.measurements if fact.name != "file_read"]
    assert len(names) == len(set(names))
    assert {fact.name for fact in asked.measurements} == {
        fact.name for fact in everything.measurements
    }
    sections = zip(asked.sections, everything.sections, strict=True)
    assert all(a.completeness == b.completeness for a, b in sections)


def test_an_edited_checker_is_given_everything() -> None:
    item = parse_item(
        dump_yaml({"description": "Confirm it.", "input_files": ["a.rpt"]}), Path("I-1.yaml")
    )
    files = write_claim(item, ClaimRow(name="hold_met"))
    interest = interest_of(files.config, files.atoms)
    assert interest is not None
    assert "endpoint_slack" in interest.names
    # The standard functions may stand behind it, and nothing else.
    with_standard = f"{files.atoms}\n\n# Atoms B and C\n{STANDARD_SOURCE}"
    assert interest_of(files.config, with_standard) == interest
    own = "def extract_context(text):\n    return []\n"
    assert interest_of(files.config, f"{files.atoms}\n\n{own}") is None
    edited = files.atoms.replace("endpoint_slack", "cell_area", 1)
    assert edited != files.atoms
    assert interest_of(files.config, edited) is None


def paths(slacks: Iterable[str], end: str = "") -> str:
    """Return a list of endpoints with their slacks."""
    rows = [f"r{number}/D (dff1)   1.95   0.64   {slack}" for number, slack in enumerate(slacks)]
    head = "max_delay/setup group clk\n\nEndpoint     Delay  Delay  Slack\n" + "-" * 65
    return "\n".join([head, *rows, end, ""])


GOOD = ["0.31 (MET)"] * 40
FLOODS = {
    "all hold": (GOOD, "PASS"),
    "the last one fails": ([*GOOD, "-0.02 (VIOLATED)"], "FAIL"),
    "one in the middle fails": ([*GOOD, "-0.02 (VIOLATED)", *GOOD], "FAIL"),
    "one is no number": ([*GOOD, "N/A (MET)", *GOOD], "NEEDS_REVIEW"),
    "one is rounded": ([*GOOD, "-0.00 (MET)", *GOOD], "NEEDS_REVIEW"),
    "one is of no check": ([*GOOD, "0.31 (VIOLATED)"], "FAIL"),
}


@pytest.mark.parametrize(("slacks", "status"), FLOODS.values(), ids=FLOODS)
def test_of_many_values_that_hold_the_first_and_the_extreme_ones_are_kept(
    slacks: list[str], status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = paths(slacks)
    whole = judge(tmp_path / "whole", ClaimRow(name="setup_met"), text)
    monkeypatch.setattr(fact_interest, "MOST_OF_EACH", 10)
    verdict = judge(tmp_path / "kept", ClaimRow(name="setup_met"), text)
    assert verdict.status == whole.status == status, (whole.capped_by, whole.errors)
    assert verdict.would_be == whole.would_be
    assert verdict.capped_by == whole.capped_by
    assert any("more values hold" in note.message for note in verdict.warnings)


def test_the_least_of_many_values_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_interest, "MOST_OF_EACH", 10)
    row = ClaimRow(name="number_limit", parameters={"measure": "worst_slack", "limit": "> 0"})
    item = parse_item(
        dump_yaml({"description": "Confirm it.", "input_files": ["a.rpt"]}), Path("I-1.yaml")
    )
    files = write_claim(item, row)
    interest = interest_of(files.config, files.atoms)
    text = paths([*GOOD, "0.07 (MET)", *GOOD, "0.93 (MET)", *GOOD])
    reading = read_report_pieces(iter([text]), "a.rpt", shipped_formats(), interest=interest)
    values = [fact.value for fact in reading.measurements if fact.name == "endpoint_slack"]
    assert ("0.07" in values, "0.93" in values, len(values)) == (True, True, 12)
    assert [fact.line for fact in reading.measurements] == sorted(
        fact.line for fact in reading.measurements
    )
    assert reading.unlisted == reading.fact_count - len(reading.measurements)
