"""Values that break a condition, printed as a report prints the good ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import Condition, Operator, ValidationItem
from transom.checklist.building.mutation.alterations import other_token, places
from transom.checklist.judging.entries import shortfall

# Just beyond the limit, clearly beyond it, and with more digits than the good values have.
_STEPS: Final = (1, 3, 40)
_COMPARED: Final = (Operator.LE, Operator.LT, Operator.GE, Operator.GT, Operator.EQUALS)


def bad_texts(
    item: ValidationItem, line: str, value: Json, known_words: Sequence[str] = ()
) -> Iterator[tuple[str, bool]]:
    """Yield a line with values in place of its good one that break an item's condition.

    Numbers keep their unit, their decimals and their column.

    Args:
        known_words: bad words that the reports are known to print.

    Yields:
        The line, and whether a reader of such reports must know the value.
    """
    condition = item.condition
    if condition is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        yield from _bad_words(condition, item, line, value, known_words)
        return
    limit = condition.value
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        return
    if condition.op not in _COMPARED or not isinstance(value, int | float):
        return
    ((start, end),) = places(line, value)
    token = line[start:end]
    printed = float(token)
    # The report may print nanoseconds that atom A reads as picoseconds.
    factor = value / printed if printed else 1.0
    decimals = len(token.partition(".")[2]) if re.fullmatch(r"[-+]?\d*+\.?\d*+", token) else 3
    smallest = 10.0**-decimals
    printed_limit = float(limit) / factor
    unit = max(smallest, abs(printed_limit) / 25)
    # Parsers go wrong at different sizes: by rounding, by a sign, by one more digit.
    distances = [step * unit for step in _STEPS]
    distances.append(12 * max(abs(printed), abs(printed_limit), 1))
    for distance in distances:
        for sign in _signs(item, condition):
            number = printed_limit + sign * distance
            if number < 0 and condition.op is Operator.EQUALS:
                continue
            text = f"{number:.{decimals}f}"
            if _breaks(item, condition, float(text) * factor):
                yield _with_number(line, start, end, text), True


def _signs(item: ValidationItem, condition: Condition) -> tuple[int, ...]:
    """Return in which direction a value breaks the condition."""
    if condition.op is Operator.EQUALS:
        if item.mode == "require":
            return (1,)
        return (0,)
    is_upper_limit = condition.op in (Operator.LE, Operator.LT)
    if is_upper_limit is (item.mode == "require"):
        return (1,)
    return (-1,)


def _breaks(item: ValidationItem, condition: Condition, value: Json) -> bool:
    """Return whether an item is broken by a value."""
    category, _, field = condition.field.partition(".")
    only = item.model_copy(update={"required": ()})
    is_fulfilled = shortfall(only, {category: {field: value}}) is None
    return is_fulfilled is (item.mode == "forbid")


def _with_number(line: str, start: int, end: int, text: str) -> str:
    """Return a line with another number, right-aligned in its column if it is longer."""
    before = line[:start]
    for _ in range(len(text) - (end - start)):
        if before.endswith("  "):
            before = before[:-1]
    return f"{before}{text.rjust(end - start)}{line[end:]}"


def _bad_words(
    condition: Condition, item: ValidationItem, line: str, value: str, known_words: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Yield a line with a bad word in place of the good one."""
    ((start, end),) = places(line, value)
    for word in known_words:
        yield f"{line[:start]}{word}{line[end:]}", True
    if condition.op is Operator.EQUALS and item.mode == "require":
        # Words that look like the good one; no report need print them.
        negation = "NOT" if value.isupper() else "not"
        for word in (other_token(value), f"{negation} {value}"):
            yield f"{line[:start]}{word}{line[end:]}", False
