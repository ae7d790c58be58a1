"""Regular expressions for the numbers on one side of a limit, as a taught log prints them.

Numbers with an exponent or thousands marks are on neither side, so a log that prints one is not
read as it was taught.
"""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

Comparison = Literal[">=", ">", "<=", "<"]
COMPARISONS: Final[tuple[Comparison, ...]] = get_args(Comparison)

_PLAIN: Final = r"\d+(?:\.\d+)?"
_ENDS: Final = r"(?![\d.]*\d)(?![eE][-+]?\d)(?!,\d)%?"
_LIMIT: Final = re.compile(r"(?P<sign>[-+]?)(?P<whole>\d+)(?:\.(?P<fraction>\d+))?")


def range_regex(comparison: Comparison, limit: str) -> str:
    """Return the expression of all numbers that fulfil a comparison.

    Args:
        limit: the limit as a plain decimal number, such as `-0.5`.

    Raises:
        ValueError: the limit is no such number.
    """
    if comparison in ("<=", "<"):
        other: Comparison = ">" if comparison == "<=" else ">="
        return rf"(?:(?!{range_regex(other, limit)})[-+]?{_PLAIN}{_ENDS})"
    match = _LIMIT.fullmatch(limit)
    if match is None:
        raise ValueError(f"{limit!r} is no plain number")
    whole, fraction = match["whole"].lstrip("0") or "0", (match["fraction"] or "").rstrip("0")
    if match["sign"] != "-" or not (whole.strip("0") or fraction):
        return rf"(?:\+?{_magnitude(comparison, whole, fraction)}{_ENDS})"
    # Above a negative limit lie all positive numbers, and negative ones that are smaller in size.
    beyond = _magnitude(">" if comparison == ">=" else ">=", whole, fraction)
    return rf"(?:(?:\+?{_PLAIN}|-(?!{beyond}{_ENDS}){_PLAIN}){_ENDS})"


def fulfils(number: float, comparison: Comparison, limit: float) -> bool:
    """Return whether a number fulfils a comparison."""
    if comparison == ">=":
        return number >= limit
    if comparison == ">":
        return number > limit
    if comparison == "<=":
        return number <= limit
    return number < limit


def _magnitude(comparison: Comparison, whole: str, fraction: str) -> str:
    """Return the expression of the sizes at or above a limit."""
    forms = [rf"[1-9]\d{{{len(whole)},}}(?:\.\d+)?"]
    for index, digit in enumerate(whole):
        if digit != "9":
            rest = len(whole) - index - 1
            forms.append(rf"{whole[:index]}[{int(digit) + 1}-9]\d{{{rest}}}(?:\.\d+)?")
    for index, digit in enumerate(fraction):
        if digit != "9":
            forms.append(rf"{whole}\.{fraction[:index]}[{int(digit) + 1}-9]\d*")
    if comparison == ">":
        forms.append(rf"{whole}\.{fraction}\d*[1-9]\d*")
    elif fraction:
        forms.append(rf"{whole}\.{fraction}\d*")
    else:
        forms.append(rf"{whole}(?:\.\d+)?")
    return rf"0*(?:{'|'.join(forms)})"
