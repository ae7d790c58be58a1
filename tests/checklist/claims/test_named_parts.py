"""Words that a claim leaves out: which part of a design they choose, and which are its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.ranking import candidates
from transom.checklist.judging.named_parts import row_of_named_object
from transom.checklist.narrowing import stages_of_file_name
from transom.formats.reports import read_report, shipped_formats

RESOURCES = """Fitter Status : Successful - Sat Nov 14 10:00:00 2020
Quartus Prime Version : 20.1.1 Build 720 11/11/2020 SJ Lite Edition
Revision Name : blinker
Top-level Entity Name : blinker
Family : Cyclone V
Device : 5CSEBA6U23I7
Timing Models : Final
Logic utilization (in ALMs) : 1,234 / 41,910 ( 3 % )
Total block memory bits : 1,000,000 / 5,662,720 ( 18 % )
Total DSP Blocks : 10 / 112 ( 9 % )
Total PLLs : 0 / 6 ( 0 % )
"""
LIMIT = {"measure": "density", "limit": "below 10 %"}

NAMED = [
    ("ALM", "Logic utilization (in ALMs)", ()),
    ("the block memory", "Total block memory bits", ()),
    ("DSP", "Total DSP Blocks", ()),
    ("filter DSP", "Total DSP Blocks", ("filter",)),
    ("the total", None, ("the total",)),
    ("the block", None, ("the block",)),
    ("the filter", None, ("the filter",)),
]


@pytest.mark.parametrize(("words", "chosen", "left"), NAMED)
def test_words_that_name_one_resource_choose_it(
    tmp_path: Path, words: str, chosen: str | None, left: tuple[str, ...]
) -> None:
    path = tmp_path / "blinker.fit.summary"
    path.write_text(RESOURCES)
    row = ClaimRow(name="number_limit", parameters=LIMIT, left_out=(words,))
    named = row_of_named_object(row, [read_report(path, shipped_formats())])
    assert (named.parameters.get("object"), named.left_out) == (chosen, left)


def test_a_value_of_another_resource_is_a_question_and_no_violation(tmp_path: Path) -> None:
    row = ClaimRow(name="number_limit", parameters=LIMIT, left_out=("the filter",))
    verdict = judge(tmp_path, row, RESOURCES)
    assert (verdict.status, verdict.would_be) == ("NEEDS_REVIEW", "FAIL")
    assert [cap.text for cap in verdict.capped_by] == ['not checked: "the filter"']


def test_a_person_who_accepts_the_words_gets_the_violation(tmp_path: Path) -> None:
    row = ClaimRow(name="number_limit", parameters=LIMIT, left_out=("the filter",))
    accept = [{"text": 'not checked: "the filter"', "by": "Ada"}]
    assert judge(tmp_path, row, RESOURCES, {"accept": accept}).status == "FAIL"


def test_a_resource_that_the_words_name_breaks_its_limit(tmp_path: Path) -> None:
    row = ClaimRow(name="number_limit", parameters=LIMIT, left_out=("block memory",))
    assert judge(tmp_path, row, RESOURCES).status == "FAIL"


def test_without_words_left_out_each_resource_must_hold_the_limit(tmp_path: Path) -> None:
    row = ClaimRow(name="number_limit", parameters=LIMIT)
    assert judge(tmp_path, row, RESOURCES).status == "FAIL"


def test_the_name_of_the_design_in_the_report_is_no_open_word(tmp_path: Path) -> None:
    limit = {"measure": "density", "limit": "below 20 %"}
    row = ClaimRow(name="number_limit", parameters=limit, left_out=("of the blinker",))
    assert judge(tmp_path, row, RESOURCES).status == "PASS"
    row = ClaimRow(name="number_limit", parameters=limit, left_out=("of the blinker core",))
    assert judge(tmp_path, row, RESOURCES).status == "NEEDS_REVIEW"


MODELS = """Timing Analyzer Summary

Type  : Slow 1200mV 85C Model Recovery 'clk'
Slack : 6.047
TNS   : 0.000

Type  : Slow 1200mV 85C Model Removal 'clk'
Slack : {removal}
TNS   : 0.000

Type  : Fast 1200mV 0C Model Recovery 'clk'
Slack : 8.047
TNS   : 0.000

Type  : Fast 1200mV 0C Model Removal 'clk'
Slack : 0.183
TNS   : 0.000
"""


@pytest.mark.parametrize(
    ("left_out", "removal", "status"),
    [
        ((), "0.2", "PASS"),
        ((), "-0.2", "FAIL"),
        (("both models",), "0.2", "PASS"),
        (("two models",), "0.2", "PASS"),
        (("four models",), "0.2", "NEEDS_REVIEW"),
        (("fast model",), "-0.2", "NEEDS_REVIEW"),
        (("slow model",), "-0.2", "FAIL"),
    ],
)
def test_recovery_and_removal_are_judged_in_each_model(
    tmp_path: Path, left_out: tuple[str, ...], removal: str, status: str
) -> None:
    row = ClaimRow(name="asynchronous_met", left_out=left_out)
    assert judge(tmp_path, row, MODELS.format(removal=removal)).status == status


def test_a_report_that_speaks_of_the_matter_is_not_the_wrong_file(tmp_path: Path) -> None:
    log = """Timing Analyzer report for blinker
Quartus Prime Version 24.1std.0 Build 1077 03/04/2025 SC Lite Edition
Info (332146): Worst-case setup slack is 5.535
; Unconstrained Gadgets ; 4 ;
Info: Quartus Prime Timing Analyzer was successful. 0 errors, 1 warning
"""
    verdict = judge(tmp_path, ClaimRow(name="endpoints_constrained"), log)
    assert verdict.status == "NEEDS_MODEL"
    assert [row.text for row in verdict.needs_model] == ["; Unconstrained Gadgets ; 4 ;"]


@pytest.mark.parametrize(
    ("line", "parameters"),
    [
        ("The core takes less than 30 square microns of chip area.", "less than 30 square microns"),
        ("Branch coverage reaches 95 %.", "at least 95 %"),
        ("The total power is no higher than 5 mW", "at most 5 mW"),
        ("Cell area: not larger than 27000", "<= 27000"),
        ("Worst setup slack is no smaller than 0.1 ns", "at least 0.1 ns"),
        ("The max frequency is 150 MHz or faster", "at least 150 MHz"),
        ("clock frequency: 150 MHz or faster after routing", "at least 150 MHz"),
        ("No path has a path delay longer than 6 ns", "at most 6 ns"),
        ("The path delay is 6 ns or shorter", "at most 6 ns"),
        ("The path delay is max. 6 ns", "max. 6 ns"),
        ("The TNS of each group is zero", "at least 0"),
        ("TNS equals 0 in the routed design", "at least 0"),
        ("TNS is 0 after post-route fixing", "at least 0"),
        ("Core density is at most 70 % during placement", "at most 70 %"),
        ("The worst setup slack is above 0 before routing", "above 0"),
    ],
)
def test_a_limit_is_read_with_its_whole_unit_and_verb(line: str, parameters: str) -> None:
    best = candidates(line, has_patterns=False)[0]
    assert best.row.parameters["limit"] == parameters


@pytest.mark.parametrize(
    "line",
    [
        # What is faster or slower depends on what is measured.
        "The total power is 5 mW or faster",
        # Nothing says which side of a number is good.
        "The max frequency is faster, 150 MHz",
        "The TNS is zero point five ns",
        "The TNS is not zero",
        "The TNS is 0.5 ns",
    ],
)
def test_what_may_be_no_limit_is_none(line: str) -> None:
    names = [candidate.row.name for candidate in candidates(line, has_patterns=False)]
    assert "number_limit" not in names


def test_slack_of_both_checks_is_one_limit() -> None:
    best = candidates("Both setup and hold slack stay above 4 ns.", has_patterns=False)[0]
    assert best.row.parameters == {"measure": "worst_slack", "limit": "above 4 ns"}
    assert best.row.left_out == ("Both setup and hold",)


def test_a_check_before_placement_is_of_no_placed_design() -> None:
    assert stages_of_file_name("check_design_pre_place.rpt") == ("pre placement",)
