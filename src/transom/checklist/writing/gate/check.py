"""Section 2: validation items, pattern matching, overall logic."""

from __future__ import annotations

from typing import Final, Literal

from transom.checklist.writing.gate.problems import Problems, comma_list, is_thin
from transom.checklist.writing.shapes import CheckSection, DescribedItem, ParsingSection

MAX_ITEMS: Final = 6
PATTERN_TYPES: Final = (2, 3)
# The gate that reports a problem with a part of an item.
_GATES: Final = {
    "required": "required",
    "check": "validation",
    "mode": "mode",
    "quantifier": "quantifier",
    "take": "selection",
    "count": "selection",
    "selection": "selection",
    "condition": "condition",
}


def check_logic(problems: Problems, section: CheckSection, parsing: ParsingSection) -> None:
    """Check Section 2."""
    count = len(section.items)
    count_message = f"{count} validation items; must be 1 to {MAX_ITEMS} (`### 2.1 ...`)"
    problems.unless(1 <= count <= MAX_ITEMS, "spec.items.count", section.line, count_message)
    problems.numbered("spec.items.count", section.item_ids(), "2", section.line)
    for item in section.items:
        _texts(problems, item)
        _choices(problems, item)
        # A field that Section 1 does not have would be asked for in vain.
        for name in item.fields:
            message = f"{_name(item)}: {name} is not a field of Section 1"
            problems.unless(
                name in parsing.dotted_fields(), "spec.cross.fields", item.line, message
            )
    _type(problems, section)
    _patterns(problems, section)
    _overall(problems, section)


def _name(item: DescribedItem) -> str:
    return f"{item.id} {item.name}".strip()


def _texts(problems: Problems, item: DescribedItem) -> None:
    for gate, label, text in (
        ("purpose", "Purpose", item.purpose),
        ("completeness", "Completeness definition", item.completeness),
        ("pass", "PASS condition", item.passes),
        ("fail", "FAIL condition", item.fails),
    ):
        problems.thin(text, f"spec.items.{gate}", item.line, f"{_name(item)}: {label}")


def _choices(problems: Problems, item: DescribedItem) -> None:
    for part, message in item.problems.items():
        problems.add(f"spec.items.{_GATES[part]}", item.line, f"{_name(item)}: {message}")


def _type(problems: Problems, section: CheckSection) -> None:
    kind, matched = section.capability_type, section.ids_of("pattern")
    if kind is None:
        problems.add("spec.type", section.line, "Capability type must be 1, 2, 3 or 4")
    elif kind in PATTERN_TYPES:
        message = f"type {kind} needs at least one item with Validation type: pattern match"
        problems.unless(matched, "spec.type", section.line, message)
    else:
        message = f"type {kind} has no pattern matching, but {comma_list(matched)} asks for it"
        problems.unless(not matched, "spec.type", section.line, message)


def _patterns(problems: Problems, section: CheckSection) -> None:
    """Check that the lists of items are those that follow from the items themselves."""
    parts: tuple[tuple[str, str, Literal["existence", "pattern"], tuple[str, ...] | None], ...] = (
        ("spec.patterns", "Items requiring pattern matching", "pattern", section.pattern_ids),
        ("spec.patterns", "Items with existence check only", "existence", section.existence_ids),
        ("spec.patterns.order", "Pattern Correspondence Order", "pattern", section.correspondence),
    )
    for gate, label, check, ids in parts:
        expected_ids = section.ids_of(check)
        # None: the label is missing; an empty list is an answer.
        if ids is None:
            problems.add(gate, section.pattern_line, f"{label} is missing")
        elif set(ids) != set(expected_ids):
            message = (
                f"{label}: {comma_list(ids)}; by the items' Validation type it is"
                f" {comma_list(expected_ids)}"
            )
            problems.add(gate, section.pattern_line, message)


def _overall(problems: Problems, section: CheckSection) -> None:
    line = section.pattern_line
    for label, text in (("PASS", section.overall_pass), ("FAIL", section.overall_fail)):
        problems.thin(text, "spec.overall", line, f"Overall Pass/Fail Logic: {label}")
    for gate, label, texts in (
        ("spec.edge_cases", "Edge Cases", section.edge_cases),
        ("spec.sequence", "Validation Sequence", section.sequence),
    ):
        problems.unless(not all(map(is_thin, texts)), gate, line, f"{label} is missing or empty")
