"""What the answer that chooses a claim may take over, and what it never does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from tests.checklist.claims.test_claim_verdicts import TABLE
from transom.checklist.atoms import ClaimRow
from transom.checklist.item import Item, parse_item
from transom.checklist.judging.foreseeing import open_points, rows_by_unit
from transom.formats import reports
from transom.formats.reports import FileReading, load_format, read_report, shipped_formats
from transom.formats.yaml_files import dump_yaml

LOG = """\
OpenROAD v2.0-14000
[INFO ODB-0128] Design: lamp
{line}
Elapsed time: 0:27.63[h:]min:sec. CPU time: user 26.35 sys 1.25 (99%). Peak memory: 9KB.
"""
UTILISATION = """\
==========================================================================
report_design_area
--------------------------------------------------------------------------
Design area 727 um^2 13% utilization.
"""
SLACK = (
    "OpenSTA 2.6.0 1f7d7e6a4b Copyright (c) 2024, Parallax Software, Inc.\nworst slack {value}\n"
)
DENSITY = {"measure": "density", "limit": "below 60 %"}


def prepared(folder: Path, report: str) -> tuple[Item, list[FileReading]]:
    """Return an item over a report, and what was read of the report."""
    (folder / "a.rpt").write_text(report, "utf-8")
    data = {"description": "Confirm it.", "input_files": ["a.rpt"]}
    item = parse_item(dump_yaml(data), folder / "CLAIM-1.yaml")
    return item, [read_report(folder / "a.rpt", shipped_formats())]


def accepted(folder: Path, row: ClaimRow, report: str) -> tuple[str, ...]:
    item, readings = prepared(folder, report)
    return open_points(item, row, readings).accepts


WORDS_TAKEN = ["in the slow block", "of the chip", "after the last change", "Synthesis of the chip"]
WORDS_LEFT = [
    "and the density is below 70 %",
    "and hold",
    "except in the analog block",
    "without the input paths",
    "of 3 blocks",
    "and DRC is clean",
    "only",
    "no latches",
    "and utilization",
]


@pytest.mark.parametrize("words", [*WORDS_TAKEN, *WORDS_LEFT])
def test_words_that_only_narrow_are_taken_over(tmp_path: Path, words: str) -> None:
    row = ClaimRow(name="no_errors", left_out=(words,))
    expected = (f'not checked: "{words}"',) if words in WORDS_TAKEN else ()
    assert accepted(tmp_path, row, LOG.format(line="[INFO DPL-0001] Placed.")) == expected


SETUP_SUMMARY = """\
------------------------------------------------------------
Timing Analyzer Summary
------------------------------------------------------------

Type  : Slow 1200mV 85C Model Setup 'lamp_clk'
Slack : 0.350
TNS   : 0.000

Type  : Slow 1200mV 85C Model Hold 'lamp_clk'
Slack : 0.250
TNS   : 0.000

------------------------------------------------------------
"""
SLACK_WORDS = {
    "on all paths": True,
    "of every clock group": True,
    "at each endpoint": True,
    "and setup slack": False,
    "of the hold paths": False,
    "on the unconstrained paths": False,
    "on 5 paths": False,
    "on paths without exceptions": False,
    "and every net is routed": False,
}


@pytest.mark.parametrize("words", SLACK_WORDS)
def test_words_of_what_is_limited_narrow_a_limit(tmp_path: Path, words: str) -> None:
    limit = {"measure": "worst_slack", "check": "setup", "limit": "at least 0.1 ns"}
    words_left = words.replace("setup", "hold")
    row = ClaimRow(name="number_limit", parameters=limit, left_out=(words_left,))
    text = f'not checked: "{words_left}"'
    taken = accepted(tmp_path, row, SETUP_SUMMARY)
    assert (text in taken) == SLACK_WORDS[words]


LINES_TAKEN = [
    "[WARNING ODB-0220] NOWIREEXTENSIONATPIN statement is obsolete.",
    "[WARNING STA-0441] set_load is missing its pin.",
    "Warning: cannot find the attribute colour",
    "[INFO CTS-0032] Stop criterion found.",
    "Master cell_7 is loaded but not used.",
]
LINES_LEFT = [
    "[ERROR STA-0340] cannot open lamp.lib",
    "Killed",
    "Segmentation fault (core dumped)",
    "placer failed",
    "[WARNING GPL-0302] density was not met, target exceeded: failed",
    "[WARNING STA-0001] the process was aborted",
    "the density of 3 regions is wrong: not below its limit",
]


@pytest.mark.parametrize("line", [*LINES_TAKEN, *LINES_LEFT])
def test_mild_lines_about_other_matters_are_taken_over(tmp_path: Path, line: str) -> None:
    row = ClaimRow(name="number_limit", parameters=DENSITY)
    taken = accepted(tmp_path, row, UTILISATION + LOG.format(line=line))
    assert any(line in text for text in taken) == (line in LINES_TAKEN), taken


def test_what_the_answer_takes_over_is_all_that_holds_a_pass_back(tmp_path: Path) -> None:
    row = ClaimRow(name="no_errors", left_out=("of the chip",))
    report = LOG.format(line="[INFO CTS-0032] Stop criterion found.")
    held = judge(tmp_path, row, report)
    assert (held.status, held.would_be) == ("NEEDS_REVIEW", "PASS")
    accept = [{"text": text, "by": "Ann Lee"} for text in accepted(tmp_path, row, report)]
    assert judge(tmp_path, row, report, {"accept": accept}).status == "PASS"


NETS = [
    "[WARNING ODB-0300] net {} is missing a driver",
    "[WARNING ODB-0300] net '{}' is missing a driver",
    "[WARNING ODB-0300] pin {}/A (ODB-0300) is missing",
]
NAMES = ["u7", "top/u8", "bus[3]"]


@pytest.mark.parametrize("line", NETS)
def test_lines_that_differ_in_names_are_one_form_of_any_name(tmp_path: Path, line: str) -> None:
    row = ClaimRow(name="number_limit", parameters=DENSITY)
    report = UTILISATION + LOG.format(line="\n".join(line.format(name) for name in NAMES))
    item, readings = prepared(tmp_path, report)
    points = open_points(item, row, readings)
    assert [text.count("<any name>") for text in points.accepts] == [1]
    assert points.shown == (f'3 lines like "{line.format(NAMES[0])}"',)
    accept = {"accept": [{"text": text, "by": "Ann Lee"} for text in points.accepts]}
    for name, status in (("u99", "PASS"), ("nothing at all", "NEEDS_REVIEW")):
        another = UTILISATION + LOG.format(line=line.format(name).replace("'", ""))
        if "'" not in line:
            assert judge(tmp_path, row, another, accept).status == status
    assert judge(tmp_path, row, report, accept).status == "PASS"
    # Another message, and another word of trouble, are questions of their own.
    for other in (
        "[WARNING ODB-0301] net u7 is missing a driver",
        "[WARNING ODB-0300] net u7 aborted",
    ):
        assert (
            judge(tmp_path, row, UTILISATION + LOG.format(line=other), accept).status
            == "NEEDS_REVIEW"
        )


def test_a_question_shows_at_most_five_forms(tmp_path: Path) -> None:
    words = ["colour", "taste", "smell", "sound", "weight", "shape", "size"]
    lines = [f"[WARNING ODB-0300] the {word} of net u7 is missing" for word in words]
    report = UTILISATION + LOG.format(
        line="\n".join([*lines, "Master cell_7 is loaded but not used."])
    )
    item, readings = prepared(tmp_path, report)
    points = open_points(item, ClaimRow(name="number_limit", parameters=DENSITY), readings)
    assert len(points.accepts) == len(words) + 1
    assert points.shown == (f'7 lines like "{lines[0]}"', '"Master cell_7 is loaded but not used."')


def test_values_and_words_are_no_names(tmp_path: Path) -> None:
    row = ClaimRow(name="number_limit", parameters=DENSITY)
    lines = ["[WARNING ODB-0300] max_cap is missing", "[WARNING ODB-0300] max_tran is missing"]
    lines += [
        "[WARNING STA-0001] delay 12ns is too large",
        "[WARNING STA-0001] delay 13ns is too large",
    ]
    assert not any(
        "<any name>" in text
        for text in accepted(tmp_path, row, UTILISATION + LOG.format(line="\n".join(lines)))
    )


def test_nothing_is_taken_over_where_nothing_was_measured(tmp_path: Path) -> None:
    row = ClaimRow(name="hold_met", left_out=("of the chip",))
    for report in (LOG.format(line="[INFO ODB-0001] wns 0.1"), LOG.format(line="")):
        assert accepted(tmp_path, row, report) == ()


@pytest.mark.parametrize(("value", "status"), [("0.53", "PASS"), ("-0.53", "FAIL")])
def test_the_check_of_a_value_without_one_is_stated(
    tmp_path: Path, value: str, status: str
) -> None:
    item, readings = prepared(tmp_path, SLACK.format(value=value))
    row = ClaimRow(name="hold_met")
    assert open_points(item, row, readings).check == "hold"
    stated = row.model_copy(update={"stated_check": "hold", "stated_by": "Ann Lee"})
    assert judge(tmp_path, stated, SLACK.format(value=value)).status == status
    # Of a claim about both checks nobody can state one.
    assert open_points(item, ClaimRow(name="timing_met"), readings).check == ""


UNITS = [
    ("yosys.stat", "below 800", "below 800 um2", "um2 as in the report", ()),
    ("yosys.stat", "below 800 um2", "below 800 um2", "", ()),
    ("synopsys.area", "below 800", "below 800", "", ()),
    ("synopsys.area", "below 800 um2", "< 800", "um2 is assumed", ("the unit um2",)),
]


@pytest.mark.parametrize(("name", "limit", "changed", "clause", "left_out"), UNITS)
def test_a_limit_has_the_unit_of_the_reports(
    tmp_path: Path, name: str, limit: str, changed: str, clause: str, left_out: tuple[str, ...]
) -> None:
    examples = load_format(Path(reports.__file__).with_name(f"{name}.yaml")).model.examples.good
    (report, *_) = [each.text for each in examples if "cell_area" in str(each.yields)]
    item, readings = prepared(tmp_path, report)
    row = ClaimRow(name="number_limit", parameters={"measure": "cell_area", "limit": limit})
    ((row, words),) = rows_by_unit(row, readings)
    assert (row.parameters["limit"], row.left_out) == (changed, left_out)
    assert clause in words
    # The person who takes the unit for that of the report says so with the same answer.
    caps = tuple(f'not checked: "{text}"' for text in left_out)
    assert open_points(item, row, readings).accepts == caps


PATHS = """\
****************************************
Report : qor
Design : blinker
Version: O-2018.06-SP1
****************************************

Timing Path Group 'clk'
  Critical Path Slack:          {value}
  Total Negative Slack:         0.00
  No. of Violating Paths:       0

1
"""


@pytest.mark.parametrize(
    ("value", "statuses"), [("0.16", ["PASS", "FAIL"]), ("0.06", ["FAIL", "FAIL"])]
)
def test_whoever_chooses_a_limit_states_the_unit_that_no_report_prints(
    tmp_path: Path, value: str, statuses: list[str]
) -> None:
    report = PATHS.format(value=value)
    _, readings = prepared(tmp_path, report)
    parameters = {"measure": "worst_slack", "check": "setup", "limit": "at least 100 ps"}
    row = ClaimRow(name="number_limit", parameters=parameters)
    rows = [row for row, _ in rows_by_unit(row, readings)]
    assert [row.parameters["limit"] for row in rows] == [">= 0.1", ">= 100"]
    assert [row.left_out for row in rows] == [("the unit ns",), ("the unit ps",)]
    verdicts = [judge(tmp_path / row.parameters["values_in"], row, report) for row in rows]
    found = [verdict.would_be or verdict.status for verdict in verdicts]
    assert found == statuses
    # A report of tomorrow that prints a unit is not compared with a limit without one.
    assert judge(tmp_path / "printed", rows[0], TABLE).status not in ("PASS", "FAIL")


NARROWED = """\
==========================================================================
finish report_checks -path_delay max
--------------------------------------------------------------------------
Startpoint: a (rising edge-triggered flip-flop clocked by clk)
Endpoint: b (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max

  Delay    Time   Description
---------------------------------------------------------
   1.00    1.00   data arrival time
   2.00    2.00   data required time
---------------------------------------------------------
           {slack}   slack ({word})

"""
PART = NARROWED.replace("-path_delay max", "-path_delay max {part}")
WHOLE = NARROWED.format(slack="1.00", word="MET")
PARTS = [
    (WHOLE + PART.format(part="reg to reg", slack="1.50", word="MET"), "PASS"),
    (WHOLE + PART.format(part="-from [all_inputs]", slack="1.50", word="MET"), "PASS"),
    (PART.format(part="reg to reg", slack="1.50", word="MET"), "NEEDS_REVIEW"),
    (PART.format(part="reg to reg", slack="1.50", word="MET") + WHOLE, "NEEDS_REVIEW"),
    (WHOLE + PART.format(part="-corner ss", slack="1.50", word="MET"), "NEEDS_REVIEW"),
    (WHOLE + PART.format(part="reg to reg", slack="-1.50", word="VIOLATED"), "FAIL"),
]


@pytest.mark.parametrize(("report", "status"), PARTS)
def test_a_report_of_a_part_behind_one_of_the_whole(
    tmp_path: Path, report: str, status: str
) -> None:
    verdict = judge(tmp_path, ClaimRow(name="setup_met"), report)
    assert verdict.status == status, [cap.text for cap in verdict.capped_by]
