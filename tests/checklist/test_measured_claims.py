"""A description that no word of a claim helps: the item's files say which claims it can mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.checklist.claims.ranking import candidates_of_limit
from transom.checklist.claims.written_limits import limit_in
from transom.checklist.item import load_item
from transom.checklist.manner import Places
from transom.checklist.offers import offers_of
from transom.formats.reports import load_formats
from transom.formats.reports.loading import SHIPPED

EXAMPLES = {each.model.name: each.model.examples.good for each in load_formats([SHIPPED])}


def offered(tmp_path: Path, sentence: str, report: str) -> list[str]:
    """Return the claims that are offered for a sentence and a good example of a report."""
    (tmp_path / "file.rpt").write_text(EXAMPLES[report][0].text)
    item = tmp_path / "ITEM-1.yaml"
    item.write_text(f"description: {sentence!r}\ninput_files: [file.rpt]\n")
    offers = offers_of(load_item(item), Places(), tmp_path)
    return [str(offer.row.reads_as["claim"]) for offer in offers]


@pytest.mark.parametrize(
    ("sentence", "report", "claim"),
    [
        ("The foundry's KLayout deck finds nothing on the tape-out.", "klayout.markers", "rules_clean"),
        ("Calibre returns the tape-out empty.", "calibre.drc_summary", "rules_clean"),
        ("Formality sees eye to eye with the RTL team.", "formality.log", "equivalent"),
        ("Netgen cannot tell the drawing from the plan.", "netgen.comparison", "netlists_match"),
        ("Each cell sits where it may sit.", "iccompiler.legality", "placement_legal"),
        ("All nets are hooked up.", "vivado.route_status", "nets_routed"),
        ("Each of the safety properties is shown to be true.", "symbiyosys.log", "proof_passed"),
        ("The core keeps 10 ps in reserve or more.", "opensta.slack_summary", "number_limit"),
        ("It runs at 5 MHz or more.", "icetime.report", "number_limit"),
    ],
)  # fmt: skip
def test_a_claim_that_the_file_can_prove_is_offered(
    sentence: str, report: str, claim: str, tmp_path: Path
) -> None:
    assert claim in offered(tmp_path, sentence, report)


def test_a_claim_of_the_files_stands_before_a_near_one_of_other_files(tmp_path: Path) -> None:
    sentence = "The KLayout deck finds nothing on the final GDS."
    claims = offered(tmp_path, sentence, "klayout.markers")
    assert claims[:2] == ["rules_clean", "netlists_match"]


@pytest.mark.parametrize(
    ("sentence", "report", "claim"),
    [
        # Another matter than what the file measures.
        ("Layout and schematic are the same thing.", "klayout.markers", "rules_clean"),
        ("No antenna is charged.", "netgen.comparison", "netlists_match"),
        # A limit is never left out, and never one of another quantity.
        ("The yield of the lot exceeds 98 percent.", "klayout.markers", "rules_clean"),
        ("The die stays cooler than at most 85 C.", "opensta.slack_summary", "number_limit"),
        # No word in common.
        ("The board is blue.", "yosys.log", "no_errors"),
        ("The bonding diagram agrees.", "opensta.paths", "setup_met"),
    ],
)
def test_a_claim_of_another_matter_is_not_offered(
    sentence: str, report: str, claim: str, tmp_path: Path
) -> None:
    assert claim not in offered(tmp_path, sentence, report)


@pytest.mark.parametrize(
    ("sentence", "limit"),
    [
        ("The routed design keeps a WNS of 0.5 ns or more.", ">= 0.5 ns"),
        ("The setup slack is 6 ns or better.", ">= 6 ns"),
        ("There are 50 ps of margin at least.", ">= 50 ps"),
        ("LUT utilization is 80 % or less.", "<= 80 %"),
        ("Fmax: 500 MHz minimum.", ">= 500 MHz"),
        ("Coverage exceeds 98 percent.", "> 98 %"),
        ("The overflow does not exceed 2 %.", "<= 2 %"),
        ("No path has a setup slack below 0.1 ns.", ">= 0.1 ns"),
        ("No net exceeds 5 pF.", "<= 5 pF"),
        ("None of the corners has a hold slack under 20 ps.", ">= 20 ps"),
        ("No errors, and the setup slack is above 0.1 ns.", "> 0.1 ns"),
        ("There are no errors and the slack is below 3 ns.", "< 3 ns"),
    ],
)
def test_a_comparison_behind_its_number_is_read(sentence: str, limit: str) -> None:
    found = limit_in(sentence)
    assert found is not None
    bound = found[1]
    assert f"{bound.comparator} {bound.number.value} {bound.number.unit}" == limit


@pytest.mark.parametrize(
    "sentence",
    [
        "The power is 5 mW or better.",
        "It runs at 1.2 GHz or 1.5 GHz.",
        "Block 3 or more precisely its top is clean.",
    ],
)
def test_a_number_without_a_plain_sense_is_no_limit(sentence: str) -> None:
    assert limit_in(sentence) is None


def test_limits_of_a_range_are_not_mixed_up() -> None:
    found = limit_in("The slack is at least 5 ns and at most 7 ns.")
    assert found is not None
    assert found[1].comparator == ">=" and found[1].number.value == 5


def test_a_denied_limit_is_offered_in_its_sense() -> None:
    (candidate, *_) = candidates_of_limit("The clock never rises above 5 ns.")
    assert candidate.row.parameters["limit"] == "<= 5 ns"
    (candidate, *_) = candidates_of_limit("The clock stays below 5 ns.")
    assert candidate.row.parameters["limit"] == "below 5 ns"
