"""Read numbers: the only place that knows how a printed number can look.

    read_number("-0.31 ns")                     -> PrintedNumber(-0.31, unit "ns", step 0.01)
    read_number("1.234,5")                      -> PrintedNumber(1234.5)
    read_number("1,234")                        -> UnknownNumber: thousands or a fraction
    read_number("1,234", is_count=True)         -> PrintedNumber(1234)
    read_number("-0.00")                        -> UnknownNumber: a rounded negative number
    read_number("INF")                          -> UnknownNumber: not measured

A value that may be read in two ways is unknown, never guessed. A printed word that stands for no
value (`INF`, `N/A`) is remembered as such: a value stood there, and it was no number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Literal

from transom.evidence.units import (
    AMBIGUOUS_UNITS,
    PERCENT,
    RATIO,
    UnitOrigin,
    UnitSource,
    factor_between,
    find_unit,
)

DecimalMark = Literal[".", ","]
Comparator = Literal[">=", "<=", ">", "<", "="]
UnknownReason = Literal[
    "not_measured", "ambiguous", "rounded", "unit", "above_whole", "not_a_number"
]
"""Why a text gives no number.

`not_measured`: a word stands in its place; `ambiguous`: two readings; `rounded`: a printed negative
zero, or a comparison finer than the print; `unit`: units that conflict or cannot be compared;
`above_whole`: a share that is negative or above 100 %; `not_a_number`: anything else.
"""

# What tools, spreadsheets and people write where there is no value, apart from signs alone.
NOT_MEASURED = frozenset(
    {
        *("inf", "-inf", "+inf", "infinity", "-infinity", "∞", "-∞", "nan"),
        *("n/a", "na", "n.a.", "k.a.", "none", "null", "nil", "tbd", "tba"),
        *("uninit", "uninitialized", "unset", "unknown", "undefined"),
        *("missing", "unavailable", "pending", "no data", "no value", "no path", "no paths"),
        *("not available", "not applicable", "not measured", "not run", "not set"),
        *("#n/a", "#div/0!", "#value!", "#ref!", "#null!", "#num!", "#name?"),
    }
)
# An empty cell, a dash, and the asterisks of a column that was too narrow.
_SIGNS_ALONE = re.compile(r"[-*?.—=_\s]*")

_THIN_SPACES = "\u00a0\u2007\u2009\u202f"
_MINUS = "-\u2212\u2010\u2011\u2012\u2013"
_PLAIN = str.maketrans(
    {
        **dict.fromkeys(_THIN_SPACES, " "),
        **dict.fromkeys(_MINUS, "-"),
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
        "’": "'",
        "\uff0e": ".",
        "\uff0c": ",",
    }
)
_FORM = re.compile(
    r"""(?P<sign>[-+]?)
    (?P<digits>[0-9]+(?:[.,'_ ][0-9]+)*\.?|[.,][0-9]+)
    (?:[eE](?P<exponent>[-+]?[0-9]{1,4})|[dD](?P<fortran>[-+][0-9]{1,4})
      |\s?[x×]\s?10\^(?P<power>[-+]?[0-9]{1,4}))?
    (?P<behind>.*)""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_WELL_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:\s[0-9]{3})+", re.ASCII)
_INDIAN = re.compile(r"[1-9][0-9]?(?:\s[0-9]{2})+\s[0-9]{3}", re.ASCII)
_COUNTED_WORDS = re.compile(r"\s[^\W\d_][^\W\d]*(?:[ /-][^\W\d]+){0,2}")
_MOST_CHARACTERS = 200
# No digit of a number of that length is lost, whatever the program's own context is.
_EXACT = Context(prec=4 * _MOST_CHARACTERS)


@dataclass(frozen=True)
class PrintedNumber:
    """A value as it was printed.

    Attributes:
        value: the exact value in the unit.
        unit: the canonical unit, the counted noun ("errors"), or "".
        unit_origin: where the unit is written.
        step: what one step of the last printed digit is worth; 0 if the value is a count.
        text: the text that was read.
    """

    value: Decimal
    unit: str = ""
    unit_origin: UnitOrigin = ""
    step: Decimal = Decimal(0)
    text: str = ""


@dataclass(frozen=True)
class UnknownNumber:
    """A text, or a comparison, that gives no certain result.

    Attributes:
        text: the text that was read.
        reason: see `UnknownReason`.
        message: the reason in words.
    """

    text: str
    reason: UnknownReason
    message: str


def read_number(
    value: object,
    *,
    units: Sequence[UnitSource] = (),
    decimal_mark: DecimalMark | None = None,
    sentinels: Collection[str] = (),
    is_count: bool = False,
    is_share: bool = False,
) -> PrintedNumber | UnknownNumber:
    """Read one printed value.

    Args:
        value: a text, or a value of JSON; a JSON number has a decimal point.
        units: statements of its unit beside it (see `unit_of_key`, `unit_of_heading`).
        decimal_mark: the decimal mark of the source, or None if it is not known (see
            `find_decimal_mark`).
        sentinels: values that stand for "not measured" in this source: `-1`, `99999`, `empty`.
        is_count: the value counts things, so it cannot have a fraction.
        is_share: the value is a share of a whole, so it lies between 0 and 100 %.

    Returns:
        The number, or why there is none.
    """
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        text, decimal_mark = str(value), "."
    elif isinstance(value, str):
        text = value
    elif value is None:
        return UnknownNumber("", "not_measured", "there is no value")
    else:
        return UnknownNumber(str(value), "not_a_number", f"{value!r:.60} is not a number")
    printed = " ".join(text.split())
    if len(printed) > _MOST_CHARACTERS:
        return UnknownNumber(printed, "not_a_number", f"{printed[:40]!r}... is not a number")
    plain = printed.translate(_PLAIN).strip()
    if is_placeholder(plain, sentinels):
        return UnknownNumber(printed, "not_measured", f"{printed!r} stands for no value")
    match = _FORM.fullmatch(plain)
    if match is None:
        return UnknownNumber(printed, "not_a_number", f"{printed!r} is not a number")
    unit = _unit_behind(match["behind"], units, printed)
    if isinstance(unit, UnknownNumber):
        return unit
    exponent = int(match["exponent"] or match["fortran"] or match["power"] or 0)
    candidates = list[PrintedNumber]()
    for digits, mark in _readings(match["digits"]):
        if decimal_mark is None or mark in ("", decimal_mark):
            candidates.append(_number(match["sign"] + digits, exponent, unit, printed))
    return _only_reading(
        candidates, printed, is_count=is_count, is_share=is_share, sentinels=sentinels
    )


def is_placeholder(text: str, sentinels: Collection[str] = ()) -> bool:
    """Return whether a text stands for "no value": `N/A`, `INF ps`, an empty cell, a sentinel."""
    folded = text.strip().casefold()
    if _SIGNS_ALONE.fullmatch(folded):
        return True
    if folded in NOT_MEASURED or folded in {sentinel.casefold() for sentinel in sentinels}:
        return True
    word, _, behind = folded.partition(" ")
    return word in NOT_MEASURED and find_unit(behind) is not None


@dataclass(frozen=True)
class _PrintedUnit:
    """The unit of a number, what one printed unit stands for, and a multiplier such as `k`."""

    unit: str
    origin: UnitOrigin
    factor: Decimal = Decimal(1)


def _unit_behind(
    behind: str, sources: Sequence[UnitSource], printed: str
) -> _PrintedUnit | UnknownNumber:
    """Return the unit that the text and the sources agree on."""
    multiplier = Decimal(1)
    if re.match(r"\s?[kK](?!\S)", behind):
        multiplier = Decimal(1000)
        behind = behind.lstrip()[1:]
    spelling = behind.strip()
    unit = find_unit(spelling) if spelling else ""
    if unit is None and spelling in AMBIGUOUS_UNITS:
        return UnknownNumber(printed, "unit", f"{printed!r}: {spelling} may be two units")
    if unit is None and _COUNTED_WORDS.fullmatch(behind):
        # A noun, such as in "12 failed tests"; it must stand apart from the digits.
        unit = spelling.casefold()
    if unit is None:
        return UnknownNumber(
            printed, "not_a_number", f"{printed!r} is not a number with a known unit"
        )
    claims = [UnitSource(unit, "text", text=printed)] if unit else []
    claims += sources
    for claim in claims[1:]:
        if (claim.unit, claim.factor) != (claims[0].unit, claims[0].factor):
            message = f"{printed!r}: {claims[0].text!r} and {claim.text!r} state different units"
            return UnknownNumber(printed, "unit", message)
    if not claims:
        return _PrintedUnit("", "", multiplier)
    return _PrintedUnit(claims[0].unit, claims[0].origin, claims[0].factor * multiplier)


def _readings(digits: str) -> list[tuple[str, str]]:
    """Return each way to read digits with marks: plain digits, and the decimal mark it implies.

    A comma that groups thousands implies a decimal point, and the reverse; other marks imply
    nothing.
    """
    digits = digits.removesuffix(".")
    marks = [mark for mark in digits if not mark.isdigit()]
    if not marks:
        return [(digits, "")]
    readings = list[tuple[str, str]]()
    if len(set(marks)) == 1 and _is_grouped(digits):
        implied = {",": ".", ".": ","}.get(marks[0], "")
        readings.append((digits.replace(marks[0], ""), implied))
    decimal = marks[-1]
    integral, _, fraction = digits.rpartition(decimal)
    if decimal in ".," and decimal not in marks[:-1]:
        groups = set(marks[:-1])
        if not groups or (len(groups) == 1 and _is_grouped(integral)):
            plain = re.sub(r"[^0-9]", "", integral) or "0"
            readings.append((f"{plain}.{fraction}", decimal))
    return readings


def _is_grouped(digits: str) -> bool:
    """Return whether marks group digits as a person does: by threes, or the Indian way."""
    spaced = re.sub(r"[^0-9]", " ", digits)
    return bool(_WELL_GROUPED.fullmatch(spaced) or _INDIAN.fullmatch(spaced))


def _number(digits: str, exponent: int, unit: _PrintedUnit, printed: str) -> PrintedNumber:
    """Return the number of plain digits, scaled by its exponent and unit."""
    places = len(digits.partition(".")[2])
    value = _EXACT.multiply(Decimal(digits).scaleb(exponent, _EXACT), unit.factor)
    step = _EXACT.multiply(Decimal(1).scaleb(exponent - places), unit.factor)
    return PrintedNumber(value, unit.unit, unit.origin, step, printed)


def _only_reading(
    candidates: list[PrintedNumber],
    printed: str,
    *,
    is_count: bool,
    is_share: bool,
    sentinels: Collection[str],
) -> PrintedNumber | UnknownNumber:
    """Return the one candidate that can be meant."""
    if not candidates:
        message = f"{printed!r} does not group its digits as its source writes numbers"
        return UnknownNumber(printed, "not_a_number", message)
    problems = list[UnknownNumber]()
    possible = list[PrintedNumber]()
    for candidate in candidates:
        problem = _problem_of(candidate, is_count=is_count, is_share=is_share, sentinels=sentinels)
        if problem is None:
            possible.append(candidate)
        else:
            problems.append(problem)
    if not possible:
        return problems[0]
    if len(possible) > 1:
        readings = " or ".join(f"{candidate.value:f}" for candidate in possible)
        return UnknownNumber(printed, "ambiguous", f"{printed!r} may mean {readings}")
    if is_share:
        return _as_share(possible[0])
    if is_count:
        number = possible[0]
        return PrintedNumber(number.value, number.unit, number.unit_origin, Decimal(0), printed)
    return possible[0]


def _problem_of(
    number: PrintedNumber, *, is_count: bool, is_share: bool, sentinels: Collection[str]
) -> UnknownNumber | None:
    """Return why a reading cannot be meant, or None."""
    printed = number.text
    if number.value.is_signed() and number.value == 0:
        return UnknownNumber(
            printed, "rounded", f"{printed!r} is a negative number, rounded to zero"
        )
    for sentinel in sentinels:
        if _equals(sentinel, number.value):
            return UnknownNumber(printed, "not_measured", f"{printed!r} stands for no value")
    if is_count and number.value != number.value.to_integral_value():
        return UnknownNumber(
            printed, "not_a_number", f"{printed!r} has a fraction, which a count cannot have"
        )
    if is_count and number.value < 0:
        return UnknownNumber(
            printed, "not_a_number", f"{printed!r} is negative, which a count cannot be"
        )
    if is_share:
        upper = factor_between(RATIO, number.unit or PERCENT)
        if upper is None:
            return UnknownNumber(printed, "unit", f"{printed!r} is not a share of a whole")
        if not 0 <= number.value <= upper:
            return UnknownNumber(
                printed, "above_whole", f"{printed!r} is not a share between 0 and 100 %"
            )
    return None


def _equals(sentinel: str, value: Decimal) -> bool:
    """Return whether a sentinel is this number in another notation."""
    try:
        return Decimal(sentinel) == value
    except InvalidOperation:
        return False


def _as_share(number: PrintedNumber) -> PrintedNumber | UnknownNumber:
    """Return a share, whose unit must be certain: 0.5 may be a half, or half a percent."""
    if number.unit or number.value == 0:
        return number
    if number.value <= 1:
        message = f"{number.text!r} may be a ratio or a percentage"
        return UnknownNumber(number.text, "ambiguous", message)
    # A ratio cannot be above 1.
    return PrintedNumber(number.value, PERCENT, "", number.step, number.text)


def find_decimal_mark(texts: Iterable[str]) -> DecimalMark | None:
    """Return the decimal mark of a source by those of its numbers that can be read in one way.

    `12,5` and `1.234,5` show a comma, `12.5` and `1,234.5` a point; `1,234` shows nothing. Numbers
    that disagree show nothing either.
    """
    implied = set[str]()
    for text in texts:
        match = _FORM.fullmatch(text.translate(_PLAIN).strip())
        readings = _readings(match["digits"]) if match else []
        if len(readings) == 1 and readings[0][1]:
            implied.add(readings[0][1])
    if implied == {"."}:
        return "."
    return "," if implied == {","} else None


def share_of(part: PrintedNumber, total: PrintedNumber) -> PrintedNumber | UnknownNumber:
    """Return part of whole in percent: passed tests of executed ones.

    A whole of 0 was not measured, and a part above its whole is refused.
    """
    text = f"{part.text} of {total.text}"
    if total.value == 0:
        return UnknownNumber(text, "not_measured", f"{text}: nothing was looked at")
    if part.value < 0 or part.value > total.value or total.value < 0:
        return UnknownNumber(text, "above_whole", f"{text} is more than the whole")
    return PrintedNumber(100 * part.value / total.value, PERCENT, "text", Decimal(0), text)


def convert(number: PrintedNumber, unit: str) -> PrintedNumber | UnknownNumber:
    """Return the number in another unit of its quantity."""
    factor = factor_between(number.unit, unit)
    if factor is None:
        unit_name = number.unit or "no unit"
        return UnknownNumber(
            number.text, "unit", f"{number.text!r} has {unit_name}, which is not {unit}"
        )
    value = _EXACT.multiply(number.value, factor)
    step = _EXACT.multiply(number.step, factor)
    return PrintedNumber(value, unit, number.unit_origin, step, number.text)
