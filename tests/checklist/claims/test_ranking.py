"""Descriptions as claims: what is read at once, what is offered, and what is never offered whole."""

from __future__ import annotations

import pytest

from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.ranking import candidates, read_at_once

AT_ONCE = [
    ("Confirm that setup timing is met.", "setup_met", {}),
    ("Verify LVS is clean", "netlists_match", {}),
    ("Confirm KLayout DRC is clean.", "rules_clean", {}),
    ("Ensure that there are no max capacitance violations.", "capacitance_met", {}),
    (
        "Confirm that the worst hold slack is at least 0.1 ns.",
        "number_limit",
        {"measure": "worst_slack", "check": "hold", "limit": "at least 0.1 ns"},
    ),
    (
        "Confirm the total power is below 5 mW.",
        "number_limit",
        {"measure": "total_power", "limit": "below 5 mW"},
    ),
]
NOT_AT_ONCE = [
    "Setup timing is not met.",
    "Confirm setup timing is met in the scan mode.",
    "Confirm setup timing is met except in two views.",
    "Confirm the worst hold slack is not at least 0.1 ns.",
    "Confirm the total power is below 5 mW in standby.",
    "Confirm LVS is nearly clean.",
]
OFFERED = [
    ("Setup WNS must not be negative in the signed-off report.", "setup_met"),
    ("No hold violations anywhere.", "hold_met"),
    ("Layout and schematic agree, that is they match uniquely.", "netlists_match"),
    ("zero markers in the design rule check", "rules_clean"),
    ("setpu timing is met, all endpoints", "setup_met"),
    ("core density under 72 percent", "number_limit"),
    ("Utilization not above 80 %", "number_limit"),
    ("no latches were inferred in the netlist", "no_latches"),
    ("antennas: zero violations after routing", "antenna_clean"),
    ("Every library and SPEF was loaded", "files_loaded"),
    ("Verify netlist and spef both exist.", "kinds_loaded"),
    ("Confirm that both setup and hold timing are met.", "timing_met"),
]
# Each names what only one claim asks for, among many words of another.
OFFERED_FIRST = [
    ("Header check of the netlist and of the SPEF file read by the run", "headers_complete"),
    ("Versions of every verilog file and SPEF file read in STA, correct?", "headers_complete"),
    ("Release audit: version of netlist file, spef file and parasitics loaded", "headers_complete"),
    ("Every liberty, SDC and SPEF file was read in the STA run", "files_loaded"),
    ("Setup timing of all endpoints is met in the STA report", "setup_met"),
    ("Latch report of the synthesised design: none, without any error", "no_latches"),
]
INVERTED = [
    "The log contains errors.",
    "The log was found to have an error.",
    "Setup timing closes or hold timing closes.",
    "An open or short net remains.",
    "Connectivity finds opens or shorts.",
    "Every net fails its max transition limit.",
    "Formal verification failed.",
    "Formal verification of the RTL was not run.",
    "No design has a legal placement.",
    "The lint reports contain warnings.",
    "The setup report must show at least one violation.",
    "Hold is violated somewhere.",
    "Layout and schematic mismatch.",
    "LVS must not match.",
    "There must be latches.",
    "DRC violations are present.",
    "Setup timing is not met.",
    "No setup violation above 40 ps.",
    "Hold timing is met apart from the scan clock.",
    "Only one antenna violation is left.",
    "DRC is clean when fill is switched off.",
    "No latches in block alu.",
    "Setup timing is met after routing after CTS.",
    "Calibre and Magic DRC is clean.",
    "There are no DRV violations.",
    "Setup and hold timing are both not met.",
    "Setup and hold timing are not both met.",
    "Setup and hold timing are met in both corners.",
    "Setup timing is met in both runs.",
    "DRC is clean in all three runs.",
    "There are no antenna violations in both reports.",
    "DRC is clean in both dies.",
    "LVS and DRC are both clean.",
    "Netlist and SPEF never both exist.",
    "No electrical rule violations.",
    "The run ended early without errors.",
    "No net respects its max transition limit.",
    "Some nets do not obey the max capacitance limit.",
    "Setup slack is not positive.",
    "No path has positive hold slack.",
    "Each max fanout limit is satisfied by no net.",
    "The total area is below 31000.",
    "Core placement density of the ring is below 60 %.",
]


@pytest.mark.parametrize(("description", "name", "parameters"), AT_ONCE)
def test_a_written_sentence_is_read_at_once(
    description: str, name: str, parameters: dict[str, str]
) -> None:
    row = read_at_once(description, has_patterns=False)
    assert row is not None
    assert (row.name, row.parameters, row.left_out) == (name, parameters, ())


@pytest.mark.parametrize("description", NOT_AT_ONCE)
def test_any_other_word_is_a_question(description: str) -> None:
    assert read_at_once(description, has_patterns=False) is None


@pytest.mark.parametrize(("description", "name"), OFFERED)
def test_the_fitting_claim_is_among_three(description: str, name: str) -> None:
    assert name in [row.row.name for row in candidates(description, has_patterns=False)]


WHOLE = [
    ("Detailed routing ends with zero DRC violations.", "rules_clean"),
    ("The run ended with no errors.", "no_errors"),
    ("All nets respect the max transition limit.", "transition_met"),
    ("Max capacitance limits are obeyed by every net.", "capacitance_met"),
    ("The max fanout limit is satisfied on each net.", "fanout_met"),
    ("Every reported setup path has positive slack.", "setup_met"),
    ("The total power consumption is below 15 mW.", "number_limit"),
    ("Placement utilization is below 60 %", "number_limit"),
    ("Check that verifyConnectivity reports no opens or shorts.", "connectivity_clean"),
    ("Setup timing closes in every path group.", "setup_met"),
    ("All cells are legally placed.", "placement_legal"),
    ("No process antenna violations remain.", "antenna_clean"),
    ("No antenna violations are left in the design.", "antenna_clean"),
    ("Formal verification succeeded.", "equivalent"),
    ("No net of the design violates its max fanout limit.", "fanout_met"),
    ("check_timing finds no setup violations", "setup_met"),
    ("verifyConnectivity finds no shorts, opens or other problems", "connectivity_clean"),
    ("There are no opens, shorts or floating wires.", "connectivity_clean"),
    ("No max transition violators remain", "transition_met"),
]


@pytest.mark.parametrize(("description", "name"), WHOLE)
def test_verbs_of_finding_narrow_nothing(description: str, name: str) -> None:
    offered = candidates(description, has_patterns=False)
    left_out = {row.row.name: row.row.left_out for row in offered}
    assert left_out.get(name) == (), left_out


FOREIGN = {
    # Their words belong to many claims: the claims that would be far-fetched.
    "Confirm design database is loaded.": "rules_clean",
    "Confirm the design is complete.": "timing_met",
    "Confirm design loaded": "timing_met",
    "The report of the layer stack is archived": "rules_clean",
}


@pytest.mark.parametrize(("description", "name"), OFFERED_FIRST)
def test_a_claim_that_leaves_out_the_matter_of_another_is_behind_it(
    description: str, name: str
) -> None:
    offered = candidates(description, has_patterns=False)
    assert [candidate.row.name for candidate in offered][:1] == [name]


@pytest.mark.parametrize("description", FOREIGN)
def test_a_claim_that_shares_common_words_alone_is_not_offered(description: str) -> None:
    found = [row.row.name for row in candidates(description, has_patterns=False)]
    assert FOREIGN[description] not in found


@pytest.mark.parametrize("description", INVERTED)
def test_another_sense_is_never_offered_whole(description: str) -> None:
    whole = [row.row for row in candidates(description, has_patterns=False) if not row.row.left_out]
    assert whole == []


def test_a_denied_limit_turns_its_comparison_round() -> None:
    row = candidates("Core utilisation not above 80 %", has_patterns=False)[0].row
    assert row.parameters == {"measure": "density", "limit": "<= 80 %"}


def test_a_candidate_says_which_words_it_leaves_out() -> None:
    found = candidates("Hold timing is met and the density is below 70 %", has_patterns=False)
    by_name = {candidate.row.name: candidate for candidate in found}
    assert by_name["hold_met"].row.left_out == ("the density is below 70",)
    assert 'not checked: "the density is below 70"' in by_name["hold_met"].sentence


@pytest.mark.parametrize("has_patterns", [False, True])
def test_each_written_sentence_belongs_to_one_claim(has_patterns: bool) -> None:
    sentences: list[str] = []
    for claim in shipped_claims().claims.values():
        if (claim.list is not None) == has_patterns:
            sentences += claim.says
    assert len(sentences) == len(set(sentences)) > 0
