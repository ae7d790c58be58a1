"""Does one entry hold? Fields, conditions, and the reason in words."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Mapping

from transom.canonical import Json
from transom.checklist.atoms import Condition, Count, Operator, ValidationItem
from transom.checklist.patterns import REGEX

# What an entry that does not hold is called, and what a number of entries must be.
_UNMET = {
    Operator.EQUALS: ("not", "exactly"),
    Operator.NOT_EQUALS: ("which is excluded:", "not"),
    Operator.IN: ("not one of", ""),
    Operator.MATCHES: ("which does not match", ""),
    Operator.LT: ("not less than", "fewer than"),
    Operator.LE: ("not at most", "at most"),
    Operator.GT: ("not greater than", "more than"),
    Operator.GE: ("not at least", "at least"),
}
_SIGNS = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}


def field_of(parsed_fields: Mapping[str, Json], dotted: str) -> Json:
    """The value at `category.field`, None where any part of the way is absent."""
    value: Json = dict(parsed_fields)
    for part in dotted.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def has_field(parsed_fields: Mapping[str, Json], dotted: str) -> bool:
    """The key is there, though its value may be None."""
    parent, _, last = dotted.rpartition(".")
    holder = field_of(parsed_fields, parent) if parent else parsed_fields
    return isinstance(holder, Mapping) and last in holder


def is_empty(value: Json) -> bool:
    """None, blank text and empty containers; zero and false are values."""
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def shortfall(item: ValidationItem, parsed_fields: Mapping[str, Json]) -> str | None:
    """Reason why an entry does not fulfil an item, one clause, or None if it does."""
    empty = [name for name in item.required if is_empty(field_of(parsed_fields, name))]
    if empty:
        return f"{_listed(empty)} {'is' if len(empty) == 1 else 'are'} empty"
    if item.condition is not None:
        return _unmet(item.condition, field_of(parsed_fields, item.condition.field))
    if not item.required and is_empty(field_of(parsed_fields, item.select)):
        return f"{item.select} is empty"
    return None


def judge_count(item: ValidationItem, count: Count, number: int) -> tuple[str, bool]:
    """Meaning of a number of entries for an item that counts them, one clause, and whether it
    holds.
    """
    seen = f"{number} {'entry' if number == 1 else 'entries'} with {item.select}"
    asked = f"{_UNMET[count.op][1]} {count.value}"
    holds = _holds(count.op, number, count.value)
    return (f"{seen}, {asked}" if holds else f"{seen}; must be {asked}"), holds


def achievement(item: ValidationItem, parsed_fields: Mapping[str, Json]) -> str:
    """Proof of an entry that holds, one clause."""
    if item.condition is not None:
        field = item.condition.field
        return f"{field} is {show(field_of(parsed_fields, field))}"
    names = item.required or (item.select,)
    return f"{_listed(list(names))} {'is' if len(names) == 1 else 'are'} there"


def show(value: Json) -> str:
    """A value in a sentence: texts in quotes, the rest as JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _unmet(condition: Condition, value: Json) -> str | None:
    name, wanted = condition.field, condition.value
    if is_empty(value):
        return f"{name} is empty"
    if condition.op is Operator.EXISTS or _holds(condition.op, value, wanted):
        return None
    return f"{name} is {show(value)}, {_UNMET[condition.op][0]} {show(wanted)}"


def _holds(op: Operator, value: Json, wanted: Json) -> bool:
    if op is Operator.EQUALS:
        return _same(value, wanted)
    if op is Operator.NOT_EQUALS:
        return not _same(value, wanted)
    if op is Operator.IN:
        return isinstance(wanted, list) and any(_same(value, one) for one in wanted)
    if op is Operator.MATCHES:
        return (
            re.search(
                str(wanted).removeprefix(REGEX), value if isinstance(value, str) else show(value)
            )
            is not None
        )
    left, right = _number(value), _number(wanted)
    return left is not None and right is not None and bool(_SIGNS[op](left, right))


def _same(one: Json, other: Json) -> bool:
    """Equal, where numbers may be written as text, and true is never 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) or isinstance(other, int | float):
        left, right = _number(one), _number(other)
        return left is not None and left == right
    return one == other


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if number == number else None  # NaN compares with nothing
