"""Limits of numbers, and whether a printed number holds one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from transom.evidence.numbers import (
    Comparator,
    DecimalMark,
    PrintedNumber,
    UnknownNumber,
    convert,
    read_number,
)
from transom.evidence.units import (
    UnitSource,
    quantity_of,
)

_AT_LEAST_WORDS = ("at least", "not less than", "no less than", "minimum", "min.", "min", "≥", ">=")
_AT_MOST_WORDS = ("at most", "not more than", "no more than", "up to", "maximum", "max.", "max")
_ABOVE_WORDS = ("more than", "greater than", "above", "over", ">")
_BELOW_WORDS = ("less than", "lower than", "below", "under", "<")
_BOUND_WORDS: dict[str, Comparator] = {
    **dict.fromkeys(_AT_LEAST_WORDS, ">="),
    **dict.fromkeys((*_AT_MOST_WORDS, "≤", "<="), "<="),
    **dict.fromkeys(_ABOVE_WORDS, ">"),
    **dict.fromkeys(_BELOW_WORDS, "<"),
    "exactly": "=",
    "equal to": "=",
    "==": "=",
    "=": "=",
}
_BOUND = re.compile(
    "|".join(re.escape(word) for word in sorted(_BOUND_WORDS, key=len, reverse=True)), re.IGNORECASE
)


@dataclass(frozen=True)
class NumberLimit:
    """A limit with its sense: `at least 85 %`, `< 800 ms`."""

    comparator: Comparator
    number: PrintedNumber


def compare(
    number: PrintedNumber, comparator: Comparator, limit: PrintedNumber
) -> bool | UnknownNumber:
    """Return whether a number holds a limit; printed precision counts as printed.

    A limit that lies within the rounding of the print, but is not the printed number itself, cannot
    be decided: 85 (printed without a fraction) against 85.4.
    """
    text = f"{number.text or number.value} {comparator} {limit.text or limit.value}"
    amount = number
    if number.unit != limit.unit and limit.value != 0:
        converted = _comparable(number, limit)
        if isinstance(converted, UnknownNumber):
            return converted
        amount = converted
    if amount.value != limit.value and abs(amount.value - limit.value) < amount.step / 2:
        return UnknownNumber(text, "rounded", f"{text}: the number was rounded too far to tell")
    if comparator == ">=":
        return amount.value >= limit.value
    if comparator == "<=":
        return amount.value <= limit.value
    if comparator == ">":
        return amount.value > limit.value
    if comparator == "<":
        return amount.value < limit.value
    return amount.value == limit.value


def _comparable(number: PrintedNumber, limit: PrintedNumber) -> PrintedNumber | UnknownNumber:
    """Return the number in the unit of the limit."""
    # "12 errors" can be compared with a plain 5, but "12 ns" cannot.
    if not limit.unit and quantity_of(number.unit) is None:
        return number
    if not number.unit and quantity_of(limit.unit) is None:
        return number
    return convert(number, limit.unit)


def read_bound(
    text: str,
    *,
    units: Sequence[UnitSource] = (),
    decimal_mark: DecimalMark | None = None,
    default: Comparator | None = None,
) -> NumberLimit | UnknownNumber:
    """Read a limit with its sense: `at least 85 %`, `<= 800 ms`, `max. 5`.

    Args:
        default: the comparator of a limit that states none; without one such a limit is unknown.
    """
    stripped = text.strip()
    match = _BOUND.match(stripped)
    # "min" must not be taken out of "minutes".
    if match is not None and match[0][-1].isalpha() and stripped[match.end() :][:1].isalpha():
        match = None
    comparator = _BOUND_WORDS[match[0].casefold()] if match else default
    figures = stripped[match.end() :].lstrip(" :") if match else stripped
    if comparator is None:
        return UnknownNumber(
            text, "ambiguous", f"{text!r} does not say whether it is a lower or upper limit"
        )
    number = read_number(figures, units=units, decimal_mark=decimal_mark)
    return number if isinstance(number, UnknownNumber) else NumberLimit(comparator, number)
