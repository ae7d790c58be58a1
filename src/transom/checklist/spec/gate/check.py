"""Section 2: validation items, pattern matching, overall logic."""

from __future__ import annotations

from collections.abc import Iterator

from transom.checklist.atoms import selection_problem
from transom.checklist.spec import words
from transom.checklist.spec.gate.problem import SpecProblem, consecutive, is_thin, listed, missing
from transom.checklist.spec.shapes import CheckSection, ParsingSection, SpecItem

MAX_ITEMS = 6
PATTERN_TYPES = (2, 3)


def check_says(section: CheckSection, parsing: ParsingSection) -> Iterator[SpecProblem]:
    """The findings of Section 2."""
    yield from _count(section)
    for item in section.items:
        yield from _texts(item)
        yield from _choices(item)
        yield from _condition(item)
        yield from _cross_fields(item, parsing)
    yield from _type(section)
    yield from _pattern_lists(section)
    yield from _correspondence(section)
    yield from _overall(section)


def _name(item: SpecItem) -> str:
    return f"{item.id} {item.name}".strip()


def _count(section: CheckSection) -> Iterator[SpecProblem]:
    count = len(section.items)
    if not 1 <= count <= MAX_ITEMS:
        yield SpecProblem(
            "spec.items.count", section.line, f"{count} validation items; must be 1 to {MAX_ITEMS} (`### 2.1 ...`)"
        )
    yield from consecutive("spec.items.count", section.item_ids(), "2", section.line)


def _texts(item: SpecItem) -> Iterator[SpecProblem]:
    yield from missing("spec.items", item.line, _name(item), [("Purpose", item.purpose)])
    for gate, label, text in (
        ("completeness", "Completeness definition", item.completeness),
        ("pass", "PASS condition", item.passes),
        ("fail", "FAIL condition", item.fails),
    ):
        if is_thin(text):
            yield SpecProblem(f"spec.items.{gate}", item.line, f"{_name(item)}: {label} is missing or says nothing")
    if not item.required:
        yield SpecProblem("spec.items.required", item.line, f"{_name(item)}: Required fields names no field")


def _choices(item: SpecItem) -> Iterator[SpecProblem]:
    for gate, label, value, wanted in (
        ("validation", "Validation type", item.validation, "existence check or pattern match"),
        ("mode", "Mode", item.mode, "require or forbid"),
        ("quantifier", "Quantifier", item.quantifier, "exists, each or per file"),
    ):
        if value is None:
            yield SpecProblem(f"spec.items.{gate}", item.line, f"{_name(item)}: {label} must be {wanted}")
    for problem in _selection(item):
        yield SpecProblem("spec.items.selection", item.line, f"{_name(item)}: {problem}")


def _selection(item: SpecItem) -> Iterator[str]:
    for label, text, read, wanted in (
        ("Take", item.take_text, item.take is not None, "first or last"),
        ("Count", item.count_text, item.count is not None, "a comparison with a number such as `<= 5`"),
    ):
        if not read and text and not words.is_none(text) and text.strip(" `.").casefold() != "all":
            yield f"{label} must be {wanted}, or left out"
    problem = selection_problem(item.take, item.count, item.quantifier, item.mode, item.validation)
    if problem:
        yield problem


def _condition(item: SpecItem) -> Iterator[SpecProblem]:
    if not item.condition_text:
        yield SpecProblem(
            "spec.items.condition", item.line, f"{_name(item)}: Condition is missing; write one comparison, or: none"
        )
    elif item.condition is None and not words.is_none(item.condition_text):
        yield SpecProblem(
            "spec.items.condition",
            item.line,
            f"{_name(item)}: Condition must be one comparison in backticks such as `category.field == True`, or: none",
        )


def _cross_fields(item: SpecItem, parsing: ParsingSection) -> Iterator[SpecProblem]:
    known = parsing.dotted_fields()
    used = [*item.required, *([item.condition.field] if item.condition else [])]
    for name in dict.fromkeys(used):
        if name not in known:
            yield SpecProblem("spec.cross.fields", item.line, f"{_name(item)}: {name} is not a field of Section 1")


def _type(section: CheckSection) -> Iterator[SpecProblem]:
    kind = section.capability_type
    if kind is None:
        yield SpecProblem("spec.type", section.line, "Capability type must be 1, 2, 3 or 4")
        return
    matched = [item.id for item in section.items if item.validation == "pattern"]
    if kind in PATTERN_TYPES and not matched:
        yield SpecProblem(
            "spec.type", section.line, f"type {kind} needs at least one item with Validation type: pattern match"
        )
    if kind not in PATTERN_TYPES and matched:
        yield SpecProblem(
            "spec.type", section.line, f"type {kind} has no pattern matching, but {listed(matched)} asks for it"
        )


def _pattern_lists(section: CheckSection) -> Iterator[SpecProblem]:
    for label, kind, ids in (
        ("Items requiring pattern matching", "pattern", section.pattern_ids),
        ("Items with existence check only", "existence", section.existence_ids),
    ):
        wanted = [item.id for item in section.items if item.validation == kind]
        if ids is None:
            yield SpecProblem("spec.patterns", section.pattern_line, f"{label} is missing")
        elif set(ids) != set(wanted):
            yield SpecProblem(
                "spec.patterns",
                section.pattern_line,
                f"{label}: {listed(ids)}; by the items' Validation type it is {listed(wanted)}",
            )


def _correspondence(section: CheckSection) -> Iterator[SpecProblem]:
    wanted = [item.id for item in section.items if item.validation == "pattern"]
    given = section.correspondence
    if given is None:
        yield SpecProblem("spec.patterns.order", section.pattern_line, "Pattern Correspondence Order is missing")
    elif set(given) != set(wanted):
        yield SpecProblem(
            "spec.patterns.order",
            section.pattern_line,
            f"Pattern Correspondence Order names {listed(given)}; must name each of {listed(wanted)}",
        )


def _overall(section: CheckSection) -> Iterator[SpecProblem]:
    for label, text in (("PASS", section.overall_pass), ("FAIL", section.overall_fail)):
        if is_thin(text):
            yield SpecProblem("spec.overall", section.pattern_line, f"Overall Pass/Fail Logic: {label} is missing")
    if all(is_thin(case) for case in section.edge_cases):
        yield SpecProblem("spec.edge_cases", section.pattern_line, "Edge Cases is missing or empty")
    if all(is_thin(step) for step in section.sequence):
        yield SpecProblem("spec.sequence", section.pattern_line, "Validation Sequence is missing or empty")
