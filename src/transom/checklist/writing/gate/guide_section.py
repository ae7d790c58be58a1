"""Section 4: sources, extraction, special scenarios, test matrix."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Final

from transom.checklist.patterns import regex_problem
from transom.checklist.writing.gate.problems import Problems, comma_list, is_thin
from transom.checklist.writing.shapes import (
    CheckSection,
    DescribedSource,
    Extraction,
    GuideSection,
    MatrixRow,
    ParsingSection,
)

MIN_SCENARIOS: Final = 4
CELLS: Final = {
    ("N/A", "N/A"): 1,
    ("N/A", "0"): 2,
    ("N/A", ">0"): 3,
    (">0", "N/A"): 4,
    (">0", "0"): 5,
    (">0", ">0"): 6,
}
# Cells that a capability type must mark as applicable, and those that it may: an item that can do
# more also does less.
NEEDED: Final = {1: {1}, 2: {4}, 3: {4, 5, 6}, 4: {1, 2, 3}}
ALLOWED: Final = {1: {1}, 2: {1, 4}, 3: {1, 2, 3, 4, 5, 6}, 4: {1, 2, 3}}


def check_guide(
    problems: Problems, section: GuideSection, parsing: ParsingSection, check: CheckSection
) -> None:
    """Check Section 4."""
    for number in ("4.1", "4.2", "4.3"):
        problems.unless(
            number in section.lines, "spec.sections", section.line, f"section {number} is missing"
        )
    _sources(problems, section)
    _extractions(problems, section, parsing)
    _examples(problems, section, check)
    _scenarios(problems, section, check)
    _matrix(problems, section, check)


def check_example_coverage(problems: Problems, section: GuideSection, check: CheckSection) -> None:
    """Report examples that the writer of Section 4 is asked for once.

    An ItemSpec without examples is none the worse for that.

    A gate that has none to try says so.
    """
    covered = {(example.item, example.outcome) for example in section.examples}
    # A list that cannot be read has a finding of its own.
    for item in check.item_ids() if not section.examples_problem else ():
        for outcome in ("holds", "fails"):
            is_covered = item in section.no_examples or (item, outcome) in covered
            message = f"Examples has none of item {item} with outcome: {outcome}"
            problems.unless(is_covered, "spec.examples", _line(section, "4.1"), message)


def _line(section: GuideSection, number: str) -> int:
    return section.lines.get(number, section.line)


def _sources(problems: Problems, section: GuideSection) -> None:
    primary = any(described.source.rank == "primary" for described in section.sources)
    problems.unless(
        primary, "spec.sources", _line(section, "4.1"), "Data Sources has no primary source"
    )
    for described in section.sources:
        # A secondary source may be described in words alone.
        source = described.source
        if source.rank == "primary" or source.kind or len(described.note.split()) < 4:
            _source(problems, described)


def _source(problems: Problems, described: DescribedSource) -> None:
    source, line = described.source, described.line
    if not source.kind:
        message = f"the {source.rank} source needs a kind in backticks"
        problems.add("spec.sources", line, message)
    elif not source.files:
        message = f"the {source.rank} source needs a name pattern in backticks"
        problems.add("spec.sources", line, message)
    for name in source.files:
        message = f"name pattern {name} must be a file name without a folder"
        problems.unless("/" not in name and "\\" not in name, "spec.sources", line, message)


def _extractions(problems: Problems, section: GuideSection, parsing: ParsingSection) -> None:
    line, categories = _line(section, "4.1"), parsing.keys()
    for key in categories:
        has_extraction = any(extraction.category == key for extraction in section.extractions)
        message = f"no extraction for category {key} (`#### Extraction: ...`)"
        problems.unless(has_extraction, "spec.extraction", line, message)
    for extraction in section.extractions:
        message = (
            f"extraction of {extraction.category or extraction.name}, which is no category key of"
            " Section 1"
        )
        problems.unless(
            extraction.category in categories, "spec.cross.categories", extraction.line, message
        )
        _extraction(problems, extraction)
    for gate, label, texts in (
        ("spec.references", "References to Other Files", section.references),
        ("spec.tolerance", "Error Tolerance", section.error_tolerance),
        ("spec.steps", "Multi-Stage Steps", section.steps),
    ):
        problems.unless(
            any(not is_thin(text, 1) for text in texts), gate, line, f"{label} is missing or empty"
        )


def _extraction(problems: Problems, extraction: Extraction) -> None:
    gate, name = "spec.extraction", f"extraction of {extraction.name}"
    problems.unless(
        extraction.keywords or extraction.patterns,
        gate,
        extraction.line,
        f"{name} has neither Keywords nor Patterns",
    )
    has_place = not (is_thin(extraction.method) and is_thin(extraction.location))
    problems.unless(has_place, gate, extraction.line, f"{name} has neither Location nor Method")
    for pattern in extraction.patterns:
        # Python warns of signs that may mean something else one day; models write them often.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            problem = regex_problem(pattern.regex)
        message = f"pattern {pattern.regex} does not compile: {problem}"
        problems.unless(problem is None, "spec.regex", pattern.line, message)


def _examples(problems: Problems, section: GuideSection, check: CheckSection) -> None:
    line = _line(section, "4.1")
    examples_line = section.lines.get("examples", line)
    problems.unless(not section.examples_problem, "spec.examples", line, section.examples_problem)
    for example in section.examples:
        message = f"an example is of item {example.item}, which Section 2 does not have"
        problems.unless(
            example.item in check.item_ids(), "spec.cross.items", examples_line, message
        )


def _scenarios(problems: Problems, section: GuideSection, check: CheckSection) -> None:
    gate, line, count = "spec.scenarios", _line(section, "4.2"), len(section.scenarios)
    message = f"{count} special scenarios; must be at least {MIN_SCENARIOS}"
    problems.unless(count >= MIN_SCENARIOS, "spec.scenarios.count", line, message)
    for number, times in Counter(scenario.number for scenario in section.scenarios).items():
        problems.unless(
            times == 1,
            "spec.scenarios.count",
            line,
            f"scenario {number} stands there {times} times",
        )
    for scenario in section.scenarios:
        name = f"scenario {scenario.number}"
        problems.thin(scenario.context, gate, scenario.line, f"{name}: Context")
        problems.thin(scenario.check_result, gate, scenario.line, f"{name}: Check result")
        problems.thin(scenario.waiver_handling, gate, scenario.line, f"{name}: Waiver handling", 1)
        problems.unless(scenario.items, gate, scenario.line, f"{name}: Check result names no item")
        for item in scenario.items:
            message = f"{name} names item {item}, which Section 2 does not have"
            problems.unless(item in check.item_ids(), "spec.cross.items", scenario.line, message)


def _matrix(problems: Problems, section: GuideSection, check: CheckSection) -> None:
    cells = Counter(CELLS.get((row.requirements, row.waivers)) for row in section.matrix)
    # The six combinations have to be there before any of them can be judged.
    if sorted(cells.elements(), key=str) != list(CELLS.values()):
        expected_rows = "; ".join(
            f"{requirements} with {waivers}" for requirements, waivers in CELLS
        )
        message = (
            "the test matrix must have one row for each of requirements with waivers:"
            f" {expected_rows}"
        )
        problems.add("spec.matrix", _line(section, "4.3"), message)
        return
    for row in section.matrix:
        name = f"row {row.number}"
        problems.unless(
            row.applicable is not None,
            "spec.matrix",
            row.line,
            f"{name}: Applicable must be yes or no",
        )
        problems.thin(row.objective, "spec.matrix", row.line, f"{name}: Objective")
        if check.capability_type and row.applicable is not None:
            _applicable(problems, row, check.capability_type)


def _applicable(problems: Problems, row: MatrixRow, kind: int) -> None:
    cell, rows = (
        CELLS[row.requirements, row.waivers],
        comma_list([str(n) for n in sorted(NEEDED[kind])]),
    )
    wrong = cell not in ALLOWED[kind] if row.applicable else cell in NEEDED[kind]
    must = "cannot" if row.applicable else "must"
    message = f"row {row.number} {must} apply to type {kind}; its rows are {rows}"
    problems.unless(not wrong, "spec.matrix.type", row.line, message)
