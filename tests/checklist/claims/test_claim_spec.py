"""The ItemSpec of a claim: whole by the gate of written ones, and about the items that decide."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from transom.checklist.atoms import CheckerConfig, ClaimRow
from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.claim_files import write_claim
from transom.checklist.claims.claim_spec import write_claim_text
from transom.checklist.item import parse_item
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.gate import check_spec
from transom.formats.yaml_files import dump_yaml

PARAMETERS = {
    "number_limit": {"measure": "worst_slack", "check": "setup", "limit": "at least 0.05 ns"},
    "text_absent": {"text": "latch inferred"},
    "kinds_loaded": {"kinds": "netlist or spef"},
}
LISTED = {"value": 2, "pattern_items": ["core_clk", "bus_clk"]}
WAIVED = {"value": 1, "waive_items": ["2.1"]}


def written(name: str, listed: bool, waived: bool) -> tuple[str, CheckerConfig]:
    """Return the ItemSpec of a claim and its `checker.yaml`."""
    data: dict[str, object] = {"description": "Confirm that it holds.", "input_files": ["a/b.rpt"]}
    data["requirements"] = LISTED if listed else {"value": "N/A", "pattern_items": []}
    data["waivers"] = WAIVED if waived else {"value": "N/A", "waive_items": []}
    item = parse_item(dump_yaml(data), Path("CLAIM-1.yaml"))
    row = ClaimRow(name=name, parameters=PARAMETERS.get(name, {}))
    config = write_claim(item, row).config
    return write_claim_text(item, row, config), config


def is_listed(name: str) -> bool:
    return shipped_claims().claims[name].list is not None


@pytest.mark.parametrize(("name", "waived"), [*product(shipped_claims().claims, (False, True))])
def test_the_itemspec_passes_the_gate_of_written_ones(name: str, waived: bool) -> None:
    text, config = written(name, is_listed(name), waived)
    document = parse_spec(text)
    assert [finding.message for finding in check_spec(document)] == []
    assert document.check.capability_type == config.capability_type
    for described, validation in zip(document.check.items, config.items, strict=True):
        rule = described.rule
        same = ("id", "name", "check", "select", "condition", "mode", "quantifier", "take")
        assert {key: getattr(rule, key) for key in same} == {
            key: getattr(validation, key) for key in same
        }
        assert rule.only_with == validation.only_with
        if validation.required:
            assert rule.required == validation.required
        if document.waiver.supported and validation.keywords:
            assert document.waiver.keywords_of(rule.id) == validation.keywords
            assert document.waiver.stages_of(rule.id) == validation.stages


def test_no_two_items_share_their_words() -> None:
    text, _ = written("headers_complete", listed=False, waived=False)
    check = parse_spec(text).check
    for part in ("purpose", "passes", "fails"):
        texts = [getattr(described, part) for described in check.items]
        assert len({*texts}) == len(texts) == 4
    assert len({*check.edge_cases}) == len(check.edge_cases) == 6


def test_examples_come_from_a_report() -> None:
    text, _ = written("setup_met", listed=False, waived=False)
    document = parse_spec(text)
    example = document.parsing.output_example
    assert example is not None
    assert isinstance(example.value, list)
    entry = example.value[0]
    assert isinstance(entry, dict)
    assert str(entry["value"]) in str(entry["matched_content"])


def test_patterns_that_are_not_shown_are_counted() -> None:
    text, _ = written("no_errors", listed=False, waived=False)
    assert "more rows of the report formats are not shown here" in text
