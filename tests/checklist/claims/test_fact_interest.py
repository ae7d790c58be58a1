"""A claim is given the measurements that it asks for, and its verdict is that over all of them."""

from __future__ import annotations

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
from transom.formats.reports import FactInterest, read_report_pieces, shipped_formats
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
