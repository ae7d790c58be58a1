"""The examples of every report format are its tests: recognition, facts, bad news and cuts."""

from __future__ import annotations

import re

import pytest
from _pytest.mark.structures import ParameterSet

from tests.evidence.tables import load_rows
from tests.sampled import sampled
from transom.formats.reports import FileReading, load_formats, read_report_text
from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.reports.loading import SHIPPED
from transom.formats.reports.readings import Measurement
from transom.formats.reports.report_format import ExpectedMeasurement, ReportExample

FORMATS = load_formats([SHIPPED])
BAD_ROWS = [row for row in load_rows("trouble", "noticed") if "line" in row]
BAD_LINES = [row["line"] for row in BAD_ROWS if row.get("field", "eda") in ("all", "eda")]
# The tool prints no end of these, so nobody can tell that lines are missing.
WITHOUT_END = {
    "conformal.log",
    "flow.metrics_row",
    "flow.signoff_table",
    "genus.messages",
    "innovus.area",
    "liberty.header",
    "netlist.header",
    "openroad.route_drc",
    "openroad.design_area",
    "openroad.flow_values",
    "openroad.log",
    "openroad.metrics_csv",
    "opensta.clock_period",
    "opensta.slack_summary",
    "sdc.clocks",
    "quartus.sta_summary",
    "spef.header",
    "timing.session",
    "upf.power_intent",
    "verible.lint",
    "vivado.report",
    "yosys.stat",
}


def examples(kind: str) -> list[ParameterSet]:
    """Return a test case for each example of a kind."""
    cases = []
    for report_format in FORMATS:
        for number, example in enumerate(getattr(report_format.model.examples, kind), 1):
            case = f"{report_format.name} {kind} {number}"
            cases.append(pytest.param(report_format, example, id=case))
    return cases


def read(text: str) -> FileReading:
    return read_report_text(text, FORMATS)


def fits(fact: Measurement, expected: ExpectedMeasurement) -> bool:
    """Return whether a measurement is an expected one."""
    if fact.name != expected.name:
        return False
    if expected.value is not None and fact.value != expected.value:
        return False
    if expected.text is not None and fact.text != expected.text:
        return False
    if expected.not_measured is not None and fact.is_not_measured != expected.not_measured:
        return False
    return expected.scope.items() <= fact.scope.items()


def is_quiet(reading: FileReading) -> bool:
    """Return whether nothing in a reading stands against a positive verdict."""
    if not reading.sections or reading.unexplained:
        return False
    if any(fact.is_trouble for fact in reading.measurements):
        return False
    return all(section.completeness != "cut" for section in reading.sections)


def assert_expectations(reading: FileReading, example: ReportExample) -> None:
    """Assert that an example yields what it says."""
    for expected in example.yields:
        facts = reading.measurements
        assert any(fits(fact, expected) for fact in facts), f"{expected} is not among {facts}"
    identity = {fact.facet: fact.text for fact in reading.sections[0].identity.facts}
    assert example.identity.items() <= identity.items()
    texts = {shape.text for shape in reading.unexplained}
    assert set(example.unexplained) <= texts


@pytest.mark.parametrize(("report_format", "example"), examples("good"))
def test_a_good_report_is_read_whole(report_format: CompiledFormat, example: ReportExample) -> None:
    reading = read(example.text)
    assert reading.formats == [report_format.name]
    assert reading.unexplained == []
    assert not reading.ambiguous
    wanted = {"no_end"} if report_format.name in WITHOUT_END else {"complete"}
    assert {section.completeness for section in reading.sections if not section.inside} == wanted
    assert not [fact for fact in reading.measurements if fact.is_trouble]
    assert example.yields, "say what the example yields"
    assert_expectations(reading, example)


@pytest.mark.parametrize(("report_format", "example"), examples("bad"))
def test_bad_news_is_a_fact_or_an_unexplained_line(
    report_format: CompiledFormat, example: ReportExample
) -> None:
    reading = read(example.text)
    assert reading.formats == [report_format.name]
    assert example.yields or example.unexplained, "say what shows the bad news"
    assert_expectations(reading, example)


@pytest.mark.parametrize(("report_format", "example"), examples("cut"))
def test_a_cut_report_is_noticed(report_format: CompiledFormat, example: ReportExample) -> None:
    reading = read(example.text)
    assert reading.formats == [report_format.name]
    assert reading.sections[0].completeness == "cut"
    assert_expectations(reading, example)


@pytest.mark.parametrize(("report_format", "example"), examples("empty"))
def test_a_report_without_measurements_has_no_number(
    report_format: CompiledFormat, example: ReportExample
) -> None:
    reading = read(example.text)
    assert reading.formats == [report_format.name]
    assert_expectations(reading, example)
    assert not [fact for fact in reading.measurements if fact.value and not fact.is_not_measured]


@pytest.mark.parametrize(("report_format", "example"), examples("foreign"))
def test_a_similar_report_is_not_taken_for_the_format(
    report_format: CompiledFormat, example: ReportExample
) -> None:
    assert report_format.name not in read(example.text).formats


@pytest.mark.parametrize("report_format", FORMATS, ids=lambda each: each.name)
def test_each_format_has_examples_of_the_faults_that_it_can_have(
    report_format: CompiledFormat,
) -> None:
    model = report_format.model
    assert model.examples.foreign, "write a text that looks similar"
    if report_format.name not in WITHOUT_END:
        assert model.examples.cut, "write a report that is cut off"


def unseen_bad_news(lines: list[str], position: int) -> list[str]:
    """Return the lines of bad news that nobody would see at this position of a report."""
    unseen = []
    for bad_line in BAD_LINES:
        text = "\n".join([*lines[:position], bad_line, *lines[position:]]) + "\n"
        reading = read(text)
        is_fact = any(fact.line == position + 1 for fact in reading.measurements)
        if is_quiet(reading) and not is_fact:
            unseen.append(bad_line)
    return unseen


@pytest.mark.parametrize(("report_format", "example"), sampled(examples("good"), every=4))
def test_added_bad_news_never_stays_unseen(
    report_format: CompiledFormat, example: ReportExample
) -> None:
    lines = example.text.splitlines()
    assert unseen_bad_news(lines, len(lines) // 2) == []


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize(("report_format", "example"), examples("good"))
def test_bad_news_before_and_behind_a_report_never_stays_unseen(
    report_format: CompiledFormat, example: ReportExample
) -> None:
    lines = example.text.splitlines()
    assert unseen_bad_news(lines, 0) == []
    assert unseen_bad_news(lines, len(lines)) == []


@pytest.mark.parametrize(("report_format", "example"), examples("good"))
def test_a_report_cut_after_any_line_loses_no_fact_unseen(
    report_format: CompiledFormat, example: ReportExample
) -> None:
    if report_format.name in WITHOUT_END:
        pytest.skip("the tool prints no end")
    whole = read(example.text)
    lines = example.text.split("\n")
    unseen = []
    for count in range(1, len(lines)):
        reading = read("\n".join(lines[:count]) + "\n")
        lost_facts = len(reading.measurements) < len(whole.measurements)
        # Until a line announces the end, nobody can tell.
        ends_after = report_format.model.ends_after
        is_announced = any(re.search(each, line) for each in ends_after for line in lines[:count])
        can_be_told = is_announced or not ends_after
        if can_be_told and reading.sections and lost_facts and is_quiet(reading):
            unseen.append((count, lines[count - 1]))
    assert unseen == []
