"""Numbers and dates as people and programs write them: the same number in each notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PERCENT = r"(?P<percent>\s?(?:%|per ?cent\b|percent\b|Prozent\b))?"
_SPACE = " \u00a0\u2009\u202f"
_WRITTEN = re.compile(
    r"(?<![\w.])(?:"
    r"(?P<date>\d{4}-\d{1,2}-\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}/\d{1,2}/\d{4})"
    r"|(?P<parts>\d{1,9}(?:\.\d{1,9}){2,4}|\d{1,2}:\d{2}(?::\d{2})?)"
    r"|(?P<grouped>\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,15})?"
    r"|\d{1,3}(?:['’_]\d{3}){1,5}(?:\.\d{1,15})?"
    rf"|\d{{1,3}}(?:[{_SPACE}]\d{{3}}){{1,5}}(?:[.,]\d{{1,15}})?"
    r"|\d{1,3}(?:\.\d{3}){1,5},\d{1,15})"
    r"|(?P<comma>\d{1,15},\d{1,15})"
    r"|(?P<plain>0[xX][0-9a-fA-F]{1,16}|\d{1,20}(?:\.\d{1,20})?)"
    rf"){_PERCENT}(?![\w])(?!\.\d)"
)
_TOKEN = re.compile(
    r"(?<![\w.])(?:(?P<hex>0[xX][0-9a-fA-F_]{1,20})"
    r"|(?P<number>\d[\d_]{0,30}(?:\.\d[\d_]{0,30})?(?:[eE][+-]?\d{1,3})?)"
    r"(?:[iuf]\d{1,3}|usize|isize|[nLlfFdDuU])?(?!\w)"
    rf"|(?P<month>(?:\w+\.)?(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\b))"
)
_STRING = re.compile(r"\"([^\"\n]{1,500})\"|'([^'\n]{1,500})'|`([^`]{1,500})`")


@dataclass(frozen=True)
class WrittenNumber:
    """A number of a text.

    Attributes:
        forms: the sequences of numbers that a program may hold for it: `1,234` is (1234) or
            (1, 234), a date is its parts in any order.
    """

    text: str
    place: int
    forms: tuple[tuple[Decimal, ...], ...]


class NumbersOfText:
    """The numbers of a program's text, in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._numbers = list(_tokens(text))
        for match in _STRING.finditer(text):
            for number in written_numbers(match[1] or match[2] or match[3]):
                # A NaN between them keeps the numbers of two texts apart.
                for form in number.forms:
                    self._numbers += [Decimal("NaN"), *form]
        self._joined = _joined(self._numbers)

    def __contains__(self, text: str) -> bool:
        """Whether the text holds a number as it is written."""
        return bool(re.search(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d|,\d)", self._text))

    def has(self, form: tuple[Decimal, ...]) -> bool:
        """Whether the numbers follow each other in the text."""
        return _joined(form) in self._joined


def written_numbers(text: str) -> Iterator[WrittenNumber]:
    """Yield the numbers that a text for people holds."""
    for match in _WRITTEN.finditer(text):
        forms = list(_forms(match))
        if match["percent"]:
            for form in list(forms):
                if len(form) == 1:
                    forms.append((form[0] / 100,))
        value = match[0].removesuffix(match["percent"] or "")
        yield WrittenNumber(value, match.start(), tuple(forms))


def holds_value(text: str, value: str) -> bool:
    """Whether a part of a program holds a value: a text, or a number as a whole word."""
    if re.fullmatch(r"[\d_.,]+", value):
        return bool(re.search(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", text))
    return value in text


def _forms(match: re.Match[str]) -> Iterator[tuple[Decimal, ...]]:
    """Yield the forms of a number; `1,234` may be one number or a list of two."""
    value = match["date"] or match["parts"]
    if value:
        parts = [*map(Decimal, re.split(r"[-./:]", value))]
        yield tuple(parts)
        if match["date"]:
            yield from _dates(parts)
        return
    if value := match["grouped"]:
        is_decimal_comma = bool(re.search(r"[.\u00a0\u2009\u202f ]\d{3},\d", value))
        plain = value.replace(".", "").replace(",", ".") if is_decimal_comma else value
        yield (Decimal(re.sub(rf"[,'’_{_SPACE}]", "", plain)),)
        groups: list[str] = re.split(rf"[,{_SPACE}]", value)
        if len(groups) == 2 and all(group.isdigit() and group[0] != "0" for group in groups):
            yield tuple(map(Decimal, groups))
        return
    if value := match["comma"]:
        yield (Decimal(value.replace(",", ".")),)
        yield tuple(map(Decimal, value.split(",")))
        return
    value = match["plain"]
    yield (Decimal(int(value, 16)) if value[:2] in ("0x", "0X") else Decimal(value),)


def _dates(parts: list[Decimal]) -> Iterator[tuple[Decimal, ...]]:
    """Yield the orders in which programs write a date."""
    year, first, second = parts if parts[0] > 31 else (parts[2], parts[1], parts[0])
    for month, day in ((first, second), (second, first)):
        yield from ((year, month, day), (day, month, year), (month, day, year))
        # JavaScript counts months from 0.
        yield (year, month - 1, day)


def _tokens(text: str) -> Iterator[Decimal]:
    for match in _TOKEN.finditer(text):
        if match["hex"]:
            yield Decimal(int(match["hex"].replace("_", ""), 16))
        elif match["month"]:
            name = match["month"].rpartition(".")[2]
            yield Decimal(_MONTHS.index(name[:3]) + 1)
        else:
            yield Decimal(match["number"].replace("_", ""))


def _joined(numbers: list[Decimal] | tuple[Decimal, ...]) -> str:
    """Return numbers as one text, in which a part can be found."""
    return "".join(f"<{number.normalize():f}>" for number in numbers)
