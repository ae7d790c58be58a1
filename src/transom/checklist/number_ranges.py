"""Regular expressions for the numbers on one side of a limit, as a taught log prints them.

Numbers with an exponent or thousands marks are on neither side, so a log that prints one is not
read as it was taught.
"""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

Comparison = Literal[">=", ">", "<=", "<"]
COMPARISONS: Final[tuple[Comparison, ...]] = get_args(Comparison)

_MIRRORED: Final[dict[Comparison, Comparison]] = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
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
    match = _LIMIT.fullmatch(limit)
    if match is None:
        raise ValueError(f"{limit!r} is no plain number")
    # Zeros at the ends say nothing, and would be compared as digits.
    integer, fraction = match["whole"].lstrip("0") or "0", (match["fraction"] or "").rstrip("0")
    is_zero = not (integer.strip("0") or fraction)
    is_upper = comparison in ("<=", "<")
    if match["sign"] != "-" or is_zero:
        positive = rf"\+?{_magnitude(comparison, integer, fraction)}"
        if not is_upper:
            return rf"(?:{positive}{_ENDS})"
        # Below a positive limit lie all negative numbers; a printed -0 is not below zero.
        least = r"(?=[\d.]*[1-9])" if is_zero and comparison == "<" else ""
        return rf"(?:(?:{positive}|-{least}{_PLAIN}){_ENDS})"
    # Above a negative limit lie all positive numbers, and negative ones that are smaller in size.
    size = rf"-{_magnitude(_MIRRORED[comparison], integer, fraction)}"
    if is_upper:
        return rf"(?:{size}{_ENDS})"
    return rf"(?:(?:\+?{_PLAIN}|{size}){_ENDS})"


def fulfils(number: float, comparison: Comparison, limit: float) -> bool:
    """Return whether a number fulfils a comparison."""
    if comparison == ">=":
        return number >= limit
    if comparison == ">":
        return number > limit
    if comparison == "<=":
        return number <= limit
    return number < limit


def _magnitude(comparison: Comparison, integer: str, fraction: str) -> str:
    """Return the expression of the sizes on one side of a limit, written without a lookaround."""
    is_upper = comparison in ("<=", "<")
    forms = list[str]()
    # Fewer digits mean a smaller number, since leading zeros are taken off.
    if is_upper and len(integer) > 1:
        forms.append(rf"\d{{1,{len(integer) - 1}}}(?:\.\d+)?")
    if not is_upper:
        forms.append(rf"[1-9]\d{{{len(integer)},}}(?:\.\d+)?")
    # The first digit that differs decides, and all digits before it are equal.
    for index, digit in enumerate(integer):
        digits = _other_digits(digit, is_upper=is_upper)
        if digits:
            remaining = len(integer) - index - 1
            forms.append(rf"{integer[:index]}{digits}\d{{{remaining}}}(?:\.\d+)?")
    for index, digit in enumerate(fraction):
        digits = _other_digits(digit, is_upper=is_upper)
        if digits:
            forms.append(rf"{integer}\.{fraction[:index]}{digits}\d*")
        if is_upper:
            # A number with fewer digits is below the limit, whose last digit is not zero.
            forms.append(rf"{integer}\.{fraction[:index]}" if index else integer)
    if comparison == ">":
        forms.append(rf"{integer}\.{fraction}\d*[1-9]\d*")
    elif comparison == ">=":
        forms.append(rf"{integer}\.{fraction}\d*" if fraction else rf"{integer}(?:\.\d+)?")
    elif comparison == "<=":
        forms.append(rf"{integer}\.{fraction}0*" if fraction else rf"{integer}(?:\.0+)?")
    # Nothing is smaller in size than zero.
    return rf"0*(?:{'|'.join(forms) or '(?!)'})"


def _other_digits(digit: str, *, is_upper: bool) -> str:
    """Return the class of the digits below a digit, or above it; empty if there is none."""
    if is_upper:
        if digit != "0":
            return f"[0-{int(digit) - 1}]"
        return ""
    if digit != "9":
        return f"[{int(digit) + 1}-9]"
    return ""
