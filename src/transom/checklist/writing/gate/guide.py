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
    found: Problems, section: GuideSection, parsing: ParsingSection, check: CheckSection
) -> None:
    """The findings of Section 4."""
    for number in ("4.1", "4.2", "4.3"):
        found.unless(
            number in section.lines, "spec.sections", section.line, f"section {number} is missing"
        )
    _sources(found, section)
    _extractions(found, section, parsing)
    _examples(found, section, check)
    _scenarios(found, section, check)
    _matrix(found, section, check)


def check_example_coverage(found: Problems, section: GuideSection, check: CheckSection) -> None:
    """Examples that the writer of Section 4 is asked for once; an ItemSpec without examples is none
    the worse for that.

    A gate that has none to try says so.
    """
    given = {(example.item, example.outcome) for example in section.examples}
    for item in check.item_ids() if not section.examples_problem else ():
        for outcome in ("holds", "fails"):
            there = item in section.no_examples or (item, outcome) in given
            what = f"Examples has none of item {item} with outcome: {outcome}"
            found.unless(there, "spec.examples", _line(section, "4.1"), what)


def _line(section: GuideSection, number: str) -> int:
    return section.lines.get(number, section.line)


def _sources(found: Problems, section: GuideSection) -> None:
    primary = any(described.source.rank == "primary" for described in section.sources)
    found.unless(
        primary, "spec.sources", _line(section, "4.1"), "Data Sources has no primary source"
    )
    for described in section.sources:
        source = described.source
        if source.rank == "primary" or source.kind or len(described.note.split()) < 4:
            _source(found, described)


def _source(found: Problems, described: DescribedSource) -> None:
    source, line = described.source, described.line
    if not source.kind:
        message = f"the {source.rank} source needs a kind in backticks"
        found.add("spec.sources", line, message)
    elif not source.files:
        message = f"the {source.rank} source needs a name pattern in backticks"
        found.add("spec.sources", line, message)
    for name in source.files:
        message = f"name pattern {name} must be a file name without a folder"
        found.unless("/" not in name and "\\" not in name, "spec.sources", line, message)


def _extractions(found: Problems, section: GuideSection, parsing: ParsingSection) -> None:
    line, known = _line(section, "4.1"), parsing.keys()
    for key in known:
        there = any(extraction.category == key for extraction in section.extractions)
        what = f"no extraction for category {key} (`#### Extraction: ...`)"
        found.unless(there, "spec.extraction", line, what)
    for extraction in section.extractions:
        what = (
            f"extraction of {extraction.category or extraction.name}, which is no category key of"
            " Section 1"
        )
        found.unless(extraction.category in known, "spec.cross.categories", extraction.line, what)
        _extraction(found, extraction)
    for gate, label, texts in (
        ("spec.references", "References to Other Files", section.references),
        ("spec.tolerance", "Error Tolerance", section.error_tolerance),
        ("spec.steps", "Multi-Stage Steps", section.steps),
    ):
        found.unless(
            any(not is_thin(text, 1) for text in texts), gate, line, f"{label} is missing or empty"
        )


def _extraction(found: Problems, one: Extraction) -> None:
    gate, name = "spec.extraction", f"extraction of {one.name}"
    found.unless(
        one.keywords or one.patterns, gate, one.line, f"{name} has neither Keywords nor Patterns"
    )
    told = not (is_thin(one.method) and is_thin(one.location))
    found.unless(told, gate, one.line, f"{name} has neither Location nor Method")
    for pattern in one.patterns:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            problem = regex_problem(pattern.regex)
        what = f"pattern {pattern.regex} does not compile: {problem}"
        found.unless(problem is None, "spec.regex", pattern.line, what)


def _examples(found: Problems, section: GuideSection, check: CheckSection) -> None:
    line = _line(section, "4.1")
    examples_line = section.lines.get("examples", line)
    found.unless(not section.examples_problem, "spec.examples", line, section.examples_problem)
    for example in section.examples:
        what = f"an example is of item {example.item}, which Section 2 does not have"
        found.unless(example.item in check.item_ids(), "spec.cross.items", examples_line, what)


def _scenarios(found: Problems, section: GuideSection, check: CheckSection) -> None:
    gate, line, count = "spec.scenarios", _line(section, "4.2"), len(section.scenarios)
    what = f"{count} special scenarios; must be at least {MIN_SCENARIOS}"
    found.unless(count >= MIN_SCENARIOS, "spec.scenarios.count", line, what)
    for number, times in Counter(scenario.number for scenario in section.scenarios).items():
        found.unless(
            times == 1,
            "spec.scenarios.count",
            line,
            f"scenario {number} stands there {times} times",
        )
    for one in section.scenarios:
        name = f"scenario {one.number}"
        found.thin(one.context, gate, one.line, f"{name}: Context")
        found.thin(one.check_result, gate, one.line, f"{name}: Check result")
        found.thin(one.waiver_handling, gate, one.line, f"{name}: Waiver handling", 1)
        found.unless(one.items, gate, one.line, f"{name}: Check result names no item")
        for item in one.items:
            what = f"{name} names item {item}, which Section 2 does not have"
            found.unless(item in check.item_ids(), "spec.cross.items", one.line, what)


def _matrix(found: Problems, section: GuideSection, check: CheckSection) -> None:
    cells = Counter(CELLS.get((row.requirements, row.waivers)) for row in section.matrix)
    if sorted(cells.elements(), key=str) != list(CELLS.values()):
        wanted = "; ".join(f"{requirements} with {waivers}" for requirements, waivers in CELLS)
        what = f"the test matrix must have one row for each of requirements with waivers: {wanted}"
        found.add("spec.matrix", _line(section, "4.3"), what)
        return
    for row in section.matrix:
        name = f"row {row.number}"
        found.unless(
            row.applicable is not None,
            "spec.matrix",
            row.line,
            f"{name}: Applicable must be yes or no",
        )
        found.thin(row.objective, "spec.matrix", row.line, f"{name}: Objective")
        if check.capability_type and row.applicable is not None:
            _applicable(found, row, check.capability_type)


def _applicable(found: Problems, row: MatrixRow, kind: int) -> None:
    cell, rows = (
        CELLS[row.requirements, row.waivers],
        comma_list([str(n) for n in sorted(NEEDED[kind])]),
    )
    wrong = cell not in ALLOWED[kind] if row.applicable else cell in NEEDED[kind]
    must = "cannot" if row.applicable else "must"
    what = f"row {row.number} {must} apply to type {kind}; its rows are {rows}"
    found.unless(not wrong, "spec.matrix.type", row.line, what)
