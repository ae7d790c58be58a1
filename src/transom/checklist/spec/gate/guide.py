"""Section 4: sources, extraction, special scenarios, test matrix."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Final

from transom.checklist.spec.gate.problem import SpecProblem, is_thin, listed
from transom.checklist.spec.shapes import CheckSection, Extraction, GuideSection, MatrixRow, ParsingSection, SpecSource

MIN_SCENARIOS = 4
CELLS: Final = {("N/A", "N/A"): 1, ("N/A", "0"): 2, ("N/A", ">0"): 3, (">0", "N/A"): 4, (">0", "0"): 5, (">0", ">0"): 6}
# Cells that a capability type must mark as applicable, and those that it may: an item that can do more also does less.
NEEDED: Final = {1: {1}, 2: {4}, 3: {4, 5, 6}, 4: {1, 2, 3}}
ALLOWED: Final = {1: {1}, 2: {1, 4}, 3: {1, 2, 3, 4, 5, 6}, 4: {1, 2, 3}}


def guide_says(section: GuideSection, parsing: ParsingSection, check: CheckSection) -> Iterator[SpecProblem]:
    """The findings of Section 4."""
    for number in ("4.1", "4.2", "4.3"):
        if number not in section.lines:
            yield SpecProblem("spec.sections", section.line, f"section {number} is missing")
    yield from _sources(section)
    yield from _extraction(section, parsing)
    yield from _regexes(section)
    yield from _examples(section, check)
    yield from _points(section)
    yield from _scenarios(section, check)
    yield from _matrix(section, check)


def _line(section: GuideSection, number: str) -> int:
    return section.lines.get(number, section.line)


def _sources(section: GuideSection) -> Iterator[SpecProblem]:
    if not any(source.rank == "primary" for source in section.sources):
        yield SpecProblem("spec.sources", _line(section, "4.1"), "Data Sources has no primary source")
    for source in section.sources:
        yield from _source(source)


def _source(source: SpecSource) -> Iterator[SpecProblem]:
    told = len(source.note.split()) >= 4
    if source.rank != "primary" and source.kind is None and told:
        return
    if source.kind is None or not source.files:
        what = "a kind in backticks" if source.kind is None else "a name pattern in backticks"
        yield SpecProblem("spec.sources", source.line, f"the {source.rank} source needs {what}")
    for name in source.files:
        if "/" in name or "\\" in name:
            yield SpecProblem("spec.sources", source.line, f"name pattern {name} must be a file name without a folder")


def _extraction(section: GuideSection, parsing: ParsingSection) -> Iterator[SpecProblem]:
    known = parsing.keys()
    named = [extraction.category for extraction in section.extractions]
    for key in known:
        if key not in named:
            yield SpecProblem(
                "spec.extraction", _line(section, "4.1"), f"no extraction for category {key} (`#### Extraction: ...`)"
            )
    for extraction in section.extractions:
        if extraction.category not in known:
            yield SpecProblem(
                "spec.cross.categories",
                extraction.line,
                f"extraction of {extraction.category or extraction.name}, which is no category key of Section 1",
            )
        yield from _method(extraction)


def _method(extraction: Extraction) -> Iterator[SpecProblem]:
    if not extraction.keywords and not extraction.patterns:
        yield SpecProblem(
            "spec.extraction", extraction.line, f"extraction of {extraction.name} has neither Keywords nor Patterns"
        )
    if is_thin(extraction.method) and is_thin(extraction.location):
        yield SpecProblem(
            "spec.extraction", extraction.line, f"extraction of {extraction.name} has neither Location nor Method"
        )


def _regexes(section: GuideSection) -> Iterator[SpecProblem]:
    for extraction in section.extractions:
        for pattern in extraction.patterns:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FutureWarning)
                    re.compile(pattern.regex)
            except (re.error, OverflowError, RecursionError) as error:
                yield SpecProblem("spec.regex", pattern.line, f"pattern {pattern.regex} does not compile: {error}")


def _examples(section: GuideSection, check: CheckSection) -> Iterator[SpecProblem]:
    if section.examples_problem:
        yield SpecProblem("spec.examples", _line(section, "4.1"), section.examples_problem)
    for example in section.examples:
        if example.item not in check.item_ids():
            problem = f"an example is of item {example.item}, which Section 2 does not have"
            yield SpecProblem("spec.cross.items", example.line, problem)


def examples_wanted(section: GuideSection, check: CheckSection) -> Iterator[SpecProblem]:
    """What whoever writes Section 4 is asked for once; an ItemSpec without examples is none the worse for that.

    A gate that has none to try says so.
    """
    told = {(example.item, example.outcome) for example in section.examples}
    for item in check.item_ids() if not section.examples_problem else ():
        for outcome in ("holds", "fails"):
            if item not in section.no_examples and (item, outcome) not in told:
                problem = f"Examples has none of item {item} with outcome: {outcome}"
                yield SpecProblem("spec.examples", _line(section, "4.1"), problem)


def _points(section: GuideSection) -> Iterator[SpecProblem]:
    line = _line(section, "4.1")
    for gate, label, texts in (
        ("spec.references", "References to Other Files", section.references),
        ("spec.tolerance", "Error Tolerance", section.error_tolerance),
        ("spec.steps", "Multi-Stage Steps", section.steps),
    ):
        if all(is_thin(text, 1) for text in texts):
            yield SpecProblem(gate, line, f"{label} is missing or empty")


def _scenarios(section: GuideSection, check: CheckSection) -> Iterator[SpecProblem]:
    line, count = _line(section, "4.2"), len(section.scenarios)
    if count < MIN_SCENARIOS:
        yield SpecProblem("spec.scenarios.count", line, f"{count} special scenarios; must be at least {MIN_SCENARIOS}")
    for number, times in Counter(scenario.number for scenario in section.scenarios).items():
        if times > 1:
            yield SpecProblem("spec.scenarios.count", line, f"scenario {number} stands there {times} times")
    for scenario in section.scenarios:
        name = f"scenario {scenario.number}"
        for label, text, least in (
            ("Context", scenario.context, 2),
            ("Check result", scenario.check_result, 2),
            ("Waiver handling", scenario.waiver_handling, 1),
        ):
            if is_thin(text, least):
                yield SpecProblem("spec.scenarios", scenario.line, f"{name}: {label} is missing or says nothing")
        if not scenario.items:
            yield SpecProblem("spec.scenarios", scenario.line, f"{name}: Check result names no item")
        for item in scenario.items:
            if item not in check.item_ids():
                yield SpecProblem(
                    "spec.cross.items", scenario.line, f"{name} names item {item}, which Section 2 does not have"
                )


def _matrix(section: GuideSection, check: CheckSection) -> Iterator[SpecProblem]:
    line = _line(section, "4.3")
    found = Counter(CELLS.get((row.requirements, row.waivers)) for row in section.matrix)
    if sorted(found.elements(), key=str) != list(CELLS.values()):
        cells = "; ".join(f"{requirements} with {waivers}" for requirements, waivers in CELLS)
        yield SpecProblem(
            "spec.matrix", line, f"the test matrix must have one row for each of requirements with waivers: {cells}"
        )
        return
    for row in section.matrix:
        if row.applicable is None:
            yield SpecProblem("spec.matrix", row.line, f"row {row.number}: Applicable must be yes or no")
        if is_thin(row.objective):
            yield SpecProblem("spec.matrix", row.line, f"row {row.number}: Objective is missing")
        yield from _applicable(row, check.capability_type)


def _applicable(row: MatrixRow, kind: int | None) -> Iterator[SpecProblem]:
    cell = CELLS[row.requirements, row.waivers]
    if kind is None or row.applicable is None:
        return
    if row.applicable and cell not in ALLOWED[kind]:
        yield SpecProblem("spec.matrix.type", row.line, f"row {row.number} cannot apply to type {kind}; {_fit(kind)}")
    if not row.applicable and cell in NEEDED[kind]:
        yield SpecProblem("spec.matrix.type", row.line, f"row {row.number} must apply to type {kind}; {_fit(kind)}")


def _fit(kind: int) -> str:
    return f"its rows are {listed([str(n) for n in sorted(NEEDED[kind])])}"
