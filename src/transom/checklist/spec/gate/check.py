"""Section 2: validation items, pattern matching, overall logic."""

from __future__ import annotations

from collections.abc import Iterator

from transom.checklist.spec import words
from transom.checklist.spec.gate.said import Said, consecutive, is_thin, listed, missing
from transom.checklist.spec.shapes import CheckSection, ParsingSection, SpecItem

MAX_ITEMS = 6
PATTERN_TYPES = (2, 3)


def check_says(section: CheckSection, parsing: ParsingSection) -> Iterator[Said]:
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


def _count(section: CheckSection) -> Iterator[Said]:
    count = len(section.items)
    if not 1 <= count <= MAX_ITEMS:
        yield Said(
            "spec.items.count", section.line, f"{count} validation items; must be 1 to {MAX_ITEMS} (`### 2.1 ...`)"
        )
    yield from consecutive("spec.items.count", section.item_ids(), "2", section.line)


def _texts(item: SpecItem) -> Iterator[Said]:
    yield from missing("spec.items", item.line, _name(item), [("Purpose", item.purpose)])
    for gate, label, text in (
        ("completeness", "Completeness definition", item.completeness),
        ("pass", "PASS condition", item.passes),
        ("fail", "FAIL condition", item.fails),
    ):
        if is_thin(text):
            yield Said(f"spec.items.{gate}", item.line, f"{_name(item)}: {label} is missing or says nothing")
    if not item.required:
        yield Said("spec.items.required", item.line, f"{_name(item)}: Required fields names no field")


def _choices(item: SpecItem) -> Iterator[Said]:
    for gate, label, value, wanted in (
        ("validation", "Validation type", item.validation, "existence check or pattern match"),
        ("mode", "Mode", item.mode, "require or forbid"),
        ("quantifier", "Quantifier", item.quantifier, "exists, each or per file"),
    ):
        if value is None:
            yield Said(f"spec.items.{gate}", item.line, f"{_name(item)}: {label} must be {wanted}")


def _condition(item: SpecItem) -> Iterator[Said]:
    if not item.condition_text:
        yield Said(
            "spec.items.condition", item.line, f"{_name(item)}: Condition is missing; write one comparison, or: none"
        )
    elif item.condition is None and not words.is_none(item.condition_text):
        yield Said(
            "spec.items.condition",
            item.line,
            f"{_name(item)}: Condition must be one comparison in backticks such as `category.field == True`, or: none",
        )


def _cross_fields(item: SpecItem, parsing: ParsingSection) -> Iterator[Said]:
    known = parsing.dotted_fields()
    used = [*item.required, *([item.condition.field] if item.condition else [])]
    for name in dict.fromkeys(used):
        if name not in known:
            yield Said("spec.cross.fields", item.line, f"{_name(item)}: {name} is not a field of Section 1")


def _type(section: CheckSection) -> Iterator[Said]:
    kind = section.capability_type
    if kind is None:
        yield Said("spec.type", section.line, "Capability type must be 1, 2, 3 or 4")
        return
    matched = [item.id for item in section.items if item.validation == "pattern"]
    if kind in PATTERN_TYPES and not matched:
        yield Said(
            "spec.type", section.line, f"type {kind} needs at least one item with Validation type: pattern match"
        )
    if kind not in PATTERN_TYPES and matched:
        yield Said("spec.type", section.line, f"type {kind} has no pattern matching, but {listed(matched)} asks for it")


def _pattern_lists(section: CheckSection) -> Iterator[Said]:
    for label, kind, ids in (
        ("Items requiring pattern matching", "pattern", section.pattern_ids),
        ("Items with existence check only", "existence", section.existence_ids),
    ):
        wanted = [item.id for item in section.items if item.validation == kind]
        if ids is None:
            yield Said("spec.patterns", section.pattern_line, f"{label} is missing")
        elif set(ids) != set(wanted):
            yield Said(
                "spec.patterns",
                section.pattern_line,
                f"{label}: {listed(ids)}; by the items' Validation type it is {listed(wanted)}",
            )


def _correspondence(section: CheckSection) -> Iterator[Said]:
    wanted = [item.id for item in section.items if item.validation == "pattern"]
    given = section.correspondence
    if given is None:
        yield Said("spec.patterns.order", section.pattern_line, "Pattern Correspondence Order is missing")
    elif set(given) != set(wanted):
        yield Said(
            "spec.patterns.order",
            section.pattern_line,
            f"Pattern Correspondence Order names {listed(given)}; must name each of {listed(wanted)}",
        )


def _overall(section: CheckSection) -> Iterator[Said]:
    for label, text in (("PASS", section.overall_pass), ("FAIL", section.overall_fail)):
        if is_thin(text):
            yield Said("spec.overall", section.pattern_line, f"Overall Pass/Fail Logic: {label} is missing")
    if all(is_thin(case) for case in section.edge_cases):
        yield Said("spec.edge_cases", section.pattern_line, "Edge Cases is missing or empty")
    if all(is_thin(step) for step in section.sequence):
        yield Said("spec.sequence", section.pattern_line, "Validation Sequence is missing or empty")
