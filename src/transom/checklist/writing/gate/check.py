"""Section 2: validation items, pattern matching, overall logic."""

from __future__ import annotations

from typing import Final

from transom.checklist.atoms import selection_problem
from transom.checklist.writing import words
from transom.checklist.writing.gate.problems import Problems, comma_list, is_thin
from transom.checklist.writing.shapes import CheckSection, ParsingSection, SpecItem

MAX_ITEMS: Final = 6
PATTERN_TYPES: Final = (2, 3)


def check_logic(found: Problems, section: CheckSection, parsing: ParsingSection) -> None:
    """The findings of Section 2."""
    count = len(section.items)
    many = f"{count} validation items; must be 1 to {MAX_ITEMS} (`### 2.1 ...`)"
    found.unless(1 <= count <= MAX_ITEMS, "spec.items.count", section.line, many)
    found.numbered("spec.items.count", section.item_ids(), "2", section.line)
    for item in section.items:
        _texts(found, item)
        _choices(found, item)
        used = [*item.required, *([item.condition.field] if item.condition else [])]
        for name in dict.fromkeys(used):
            what = f"{_name(item)}: {name} is not a field of Section 1"
            found.unless(name in parsing.dotted_fields(), "spec.cross.fields", item.line, what)
    _type(found, section)
    _patterns(found, section)
    _overall(found, section)


def _name(item: SpecItem) -> str:
    return f"{item.id} {item.name}".strip()


def _texts(found: Problems, item: SpecItem) -> None:
    for gate, label, text in (
        ("purpose", "Purpose", item.purpose),
        ("completeness", "Completeness definition", item.completeness),
        ("pass", "PASS condition", item.passes),
        ("fail", "FAIL condition", item.fails),
    ):
        found.thin(text, f"spec.items.{gate}", item.line, f"{_name(item)}: {label}")
    found.unless(
        item.required,
        "spec.items.required",
        item.line,
        f"{_name(item)}: Required fields names no field",
    )


def _choices(found: Problems, item: SpecItem) -> None:
    for gate, label, value, wanted in (
        ("validation", "Validation type", item.validation, "existence check or pattern match"),
        ("mode", "Mode", item.mode, "require or forbid"),
        ("quantifier", "Quantifier", item.quantifier, "exists, each or per file"),
    ):
        found.unless(
            value, f"spec.items.{gate}", item.line, f"{_name(item)}: {label} must be {wanted}"
        )
    for label, text, read, wanted in (
        ("Take", item.take_text, item.take, "first or last"),
        ("Count", item.count_text, item.count, "a comparison with a number such as `<= 5`"),
    ):
        said = text and not words.is_none(text) and text.strip(" `.").casefold() != "all"
        what = f"{_name(item)}: {label} must be {wanted}, or left out"
        found.unless(read or not said, "spec.items.selection", item.line, what)
    wanted = "one comparison in backticks such as `category.field == True`, or: none"
    readable = item.condition or words.is_none(item.condition_text)
    what = f"{_name(item)}: Condition must be {wanted}"
    found.unless(item.condition_text and readable, "spec.items.condition", item.line, what)
    problem = selection_problem(item.take, item.count, item.quantifier, item.mode, item.validation)
    found.unless(not problem, "spec.items.selection", item.line, f"{_name(item)}: {problem}")


def _type(found: Problems, section: CheckSection) -> None:
    kind, matched = section.capability_type, _of_kind(section, "pattern")
    if kind is None:
        found.add("spec.type", section.line, "Capability type must be 1, 2, 3 or 4")
    elif kind in PATTERN_TYPES:
        what = f"type {kind} needs at least one item with Validation type: pattern match"
        found.unless(matched, "spec.type", section.line, what)
    else:
        what = f"type {kind} has no pattern matching, but {comma_list(matched)} asks for it"
        found.unless(not matched, "spec.type", section.line, what)


def _of_kind(section: CheckSection, kind: str) -> list[str]:
    return [item.id for item in section.items if item.validation == kind]


def _patterns(found: Problems, section: CheckSection) -> None:
    """The lists of items must be those that follow from the items themselves."""
    for gate, label, kind, ids in (
        ("spec.patterns", "Items requiring pattern matching", "pattern", section.pattern_ids),
        ("spec.patterns", "Items with existence check only", "existence", section.existence_ids),
        ("spec.patterns.order", "Pattern Correspondence Order", "pattern", section.correspondence),
    ):
        wanted = _of_kind(section, kind)
        if ids is None:
            found.add(gate, section.pattern_line, f"{label} is missing")
        elif set(ids) != set(wanted):
            what = (
                f"{label}: {comma_list(ids)}; by the items' Validation type it is"
                f" {comma_list(wanted)}"
            )
            found.add(gate, section.pattern_line, what)


def _overall(found: Problems, section: CheckSection) -> None:
    line = section.pattern_line
    for label, text in (("PASS", section.overall_pass), ("FAIL", section.overall_fail)):
        found.thin(text, "spec.overall", line, f"Overall Pass/Fail Logic: {label}")
    for gate, label, texts in (
        ("spec.edge_cases", "Edge Cases", section.edge_cases),
        ("spec.sequence", "Validation Sequence", section.sequence),
    ):
        found.unless(not all(map(is_thin, texts)), gate, line, f"{label} is missing or empty")
