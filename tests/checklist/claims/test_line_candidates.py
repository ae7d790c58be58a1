"""Lines of files of no known format that a description may limit: what is offered, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.item import parse_item
from transom.checklist.judging.foreseeing import open_points
from transom.checklist.line_candidates import line_candidates
from transom.checklist.taught_format import NO_END
from transom.formats.reports import format_of, read_report
from transom.formats.yaml_files import dump_yaml

COVERAGE = "merge of 12 shards\nbranch coverage: 71.0 %\nFunctional Coverage = {value}%\n"
TABLE = """\
+----------------+------+-----------+-------+
| Site           | Used | Available | Util% |
+----------------+------+-----------+-------+
| Slices         |   18 |        60 | 30.00 |
| Slices as RAM  |   12 |        19 | {value} |
+----------------+------+-----------+-------+
"""
METRICS = '{{\n  "lamp__open_pins__count": {value},\n  "lamp__area": 12.5,\n  "lamp__open__ports": 3\n}}\n'
ROW = "design,cells,open_pins,nets,rows,sites,layers,vias\nlamp,12,{value},8,4,5,6,7\n"

# The description, the report, a value that holds and one that does not.
LIMITS = [
    ("Functional coverage is at least 95 %", COVERAGE, "96.67", "90.17"),
    ("The functional coverage reaches 95 % or more", COVERAGE, "95.00", "94.99"),
    ("ALU functional coverage must not be below 95 %", COVERAGE, "96.67", "12.5"),
    ("Slices used as RAM: at most 60 % of the device", TABLE, "59.99", "67.51"),
    ("No open pins", METRICS, "0", "3"),
    ("The number of open pins is zero", METRICS, "0", "12"),
    ("Zero open pins in the lamp", ROW, "0", "2"),
    ("assertion checker: no assertion mishaps", "Assertion mishaps = {value}\n", "0", "245"),
    ("The branch ratio may not fall below 95 %", "branch ratio: {value} %\n", "96.5", "12.5"),
    ("The branch ratio never gets above 95 %", "branch ratio: {value} %\n", "12.5", "96.5"),
    ("Timing slips are 0", "Timing slips: {value}  Score: 12\n", "0", "37"),
    ("The global skew is below 50 ps", "clock a: global skew {value} ns\n", "0.045", "0.0501"),
    ("Insertion delay: at least 0.2 ns", "insertion delay {value} ps\n", "200", "199.5"),
    (
        "The insertion delay is below 300 ps",
        "q skew=21 ps  insertion delay={value} ps\n",
        "240",
        "301",
    ),
    ("Hold slack: at least 1 ns", "setup slack 3 ns hold slack {value} ns\n", "1.5", "0.9"),
    ("The design uses no more than 10 registers", "Total registers : {value}\n", "3", "12"),
    ("There are at most 3 notes in the log", "12 lines\nnotes: {value}\n", "3", "4"),
    ("Fewer than 200 clock buffers are inserted", "{value} clock buffers\n", "148", "200"),
    ("The tree has min. 4 buffer levels", "buffer levels = {value}\n", "5", "3"),
    ("Insertion takes no longer than 3 ns", "insertion: {value} ns\n", "2.5", "3.5"),
    ("The tap rate is 15 MHz or faster", "tap rate {value} MHz\n", "16", "14"),
    ("usage of DSPs stays below 70 %", "  DSPs | 26/368  {value}%\n", "7", "74"),
]


@pytest.mark.parametrize(("description", "report", "good", "bad"), LIMITS)
def test_the_line_that_a_description_limits_is_offered_and_judged(
    tmp_path: Path, description: str, report: str, good: str, bad: str
) -> None:
    for value, status in ((good, "PASS"), (bad, "FAIL")):
        text = report.format(value=value)
        folder = tmp_path / status
        folder.mkdir()
        (folder / "a.rpt").write_text(text, "utf-8")
        best, *_ = line_candidates(description, [folder / "a.rpt"])
        assert f"number {value}" in best.says, best.says
        (folder / "line.yaml").write_text(dump_yaml(best.report_format), "utf-8")
        row = best.row("line.yaml")
        row = row.model_copy(
            update={"left_out": tuple(words for words in row.left_out if words == NO_END)}
        )
        item = parse_item(dump_yaml({"description": description}), folder / "CLAIM-1.yaml")
        readings = [read_report(folder / "a.rpt", (format_of(best.report_format),))]
        taken = open_points(item, row, readings, best).accepts
        accept = [{"text": words, "by": "Ann Lee"} for words in taken]
        # Nothing shows that the file is whole: a person takes that over by name, and the item keeps it.
        assert f'not checked: "{NO_END}"' in taken or status == "FAIL"
        if status == "PASS":
            assert judge(folder, row, text).status == "NEEDS_REVIEW"
        verdict = judge(folder, row, text, {"accept": accept} if accept else {})
        assert verdict.status == status, [cap.text for cap in verdict.capped_by]


NOT_OFFERED = [
    # A count that was not made, and no count.
    ("No open pins", '{"open_pins__count": -1}\n'),
    ("No open pins", '{"open_pins__count": "Infinity"}\n'),
    ("Functional coverage is at least 95 %", "Functional Coverage: not measured\n"),
    # Which of two numbers is meant nobody can tell.
    ("Functional coverage is at least 95 %", "Functional Coverage: 96 % of 98 %\n"),
    ("The skew is at most 3 ns", "skew 2 ns 4 ns\n"),
    ("The latency is at most 3 ns", "tree: 1 ns skew, 2 ns latency\n"),
    ("The latency is at most 3 ns", "latency: max 2 ns mean 1 ns\n"),
    ("The slack is at least 1 ns", "setup slack 2 ns hold slack 3 ns\n"),
    # A unit of another quantity, and other words.
    ("The latency is at most 3 ns", "latency 12 mV\n"),
    ("The insertion delay is at most 3 ns", "latency 2 ns\n"),
    # What is counted is no other thing that the line counts, and no share of it.
    ("The design uses at most 10 registers", "Total pins : 3\n"),
    ("The design uses at most 10 registers", "Total registers : 3 / 7\n"),
    ("The tree has at most 200 clock buffers", "clock gates: 148\n"),
    # A count on the way: the last one holds, an earlier one does not.
    ("No open pins", "open pins: 12\nopen pins: 3\nopen pins: 0\n"),
    # Nothing is limited.
    ("The pins are connected", "open pins: 0\n"),
    # A script says what would be printed.
    ("No open pins", 'puts "open pins: 0"\n'),
    # "Non-open pins" are other pins.
    ("No non-open pins", "open pins: 0\n"),
]


@pytest.mark.parametrize(("description", "report"), NOT_OFFERED)
def test_what_may_be_something_else_is_not_offered(
    tmp_path: Path, description: str, report: str
) -> None:
    (tmp_path / "a.rpt").write_text(report, "utf-8")
    says = [candidate.says for candidate in line_candidates(description, [tmp_path / "a.rpt"])]
    assert says == []


def test_a_label_stands_for_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "a.rpt").write_text(METRICS.format(value=0), "utf-8")
    best, *_ = line_candidates("No open pins", [tmp_path / "a.rpt"])
    (tmp_path / "line.yaml").write_text(dump_yaml(best.report_format), "utf-8")
    row = best.row("line.yaml").model_copy(update={"left_out": ()})
    assert judge(tmp_path, row, METRICS.format(value=0)).status == "PASS"
    # The next day's file has the label no more, or a line of trouble.
    gone = METRICS.format(value=0).replace("open_pins__count", "pins__count")
    assert judge(tmp_path, row, gone).status in ("NEEDS_MODEL", "NEEDS_REVIEW", "ERROR")
    worse = METRICS.format(value=0).replace("}", ',  "error__count": 4\n}')
    assert judge(tmp_path, row, worse).status == "NEEDS_REVIEW"
