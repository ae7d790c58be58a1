"""Try a report format on its own examples."""

from __future__ import annotations

from collections.abc import Iterator

from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.reports.reader import read_report_text
from transom.formats.reports.readings import FileReading, Measurement
from transom.formats.reports.report_format import ExpectedMeasurement, ReportExample


def problems_of_examples(report_format: CompiledFormat) -> list[str]:
    """Return a problem for each example that is not read as it says."""
    problems = list[str]()
    examples = report_format.model.examples
    # `empty` needs no check beside its `yields`: they say that nothing was measured.
    for kind in ("good", "bad", "cut", "empty", "foreign"):
        for number, example in enumerate(getattr(examples, kind), 1):
            reading = read_report_text(example.text, (report_format,))
            for problem in _problems(kind, example, reading):
                problems.append(f"examples.{kind}[{number}]: {problem}")
    return problems


def measures(fact: Measurement, expected: ExpectedMeasurement) -> bool:
    """Return whether a measurement is an expected one."""
    if fact.name != expected.name:
        return False
    if expected.value is not None and fact.value != expected.value:
        return False
    if expected.text is not None and fact.text != expected.text:
        return False
    if expected.not_measured is not None and fact.is_not_measured != expected.not_measured:
        return False
    # An example names the keys that it is about; others may be there.
    return expected.scope.items() <= fact.scope.items()


def _problems(kind: str, example: ReportExample, reading: FileReading) -> Iterator[str]:
    """Yield what is wrong with the reading of an example."""
    if kind == "foreign":
        if reading.sections:
            yield "it is taken for the format"
        return
    if not reading.sections:
        yield "no line begins the format"
        return
    for expected in example.yields:
        if not any(measures(fact, expected) for fact in reading.measurements):
            yield f"{expected.name} is not read from it"
    # An example is one report; what a log holds comes after the log itself.
    completeness = reading.sections[0].completeness
    if kind == "cut" and completeness != "cut":
        yield "nothing shows that it is cut"
    if kind != "good":
        return
    if completeness == "cut":
        yield "it does not show its end"
    # A good report raises no question: each of its lines must have a rule.
    for shape in reading.unexplained:
        yield f"line {shape.lines[0]} is not explained: {shape.text}"
    for fact in reading.measurements:
        if fact.is_trouble:
            yield f"line {fact.line} is trouble: {fact.content.strip()}"
