"""Numbers and ids in a text, and whether another text has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cached_property

# A word with a digit or an underscore in it, or a path: TICKET-12, u_core/u_alu, data_bus[15], report.rpt, 1.2.3, 3fa9.
# What is longer is none: a line of code, a picture in letters. And a search takes no time that grows with its square.
_ID = re.compile(
    r"(?<!\w)(?:[A-Za-z_][\w./:\[\]+-]{0,300}[\w\]](?!\w)|/[\w./-]{1,300}\w(?!\w)|\d+(?:[.:/-]\w+){2,}"
    r"|(?!\d+[eE]\d+\b)\d+[A-Za-z_]\w*[\d_]\w*)"
)
_HAS_ID = re.compile(r"[\d_\[]|/\w+/|\w{2,}\.\w{2,}")
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[A-Za-z]{0,4}(?!\w))(?:\s?%)?"
)
_BULLET = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)
_LARGEST = Decimal(10) ** 15  # beyond it nothing is rounded to single places
_LEAST_DIGITS = 2  # a number of one digit is not taken for a rounded one


@dataclass(frozen=True)
class Fact:
    """A number or an id.

    Attributes:
        text: as it stands.
        start: where.
        value: of a number, what it says; of an id None.
        percent: whether it is one of a hundred.
    """

    text: str
    start: int
    value: Decimal | None = None
    percent: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def facts_of(text: str) -> Iterator[Fact]:
    """Numbers and ids of a text, in order. The numbers that count a list's items are none."""
    plain = _BULLET.sub(lambda match: " " * len(match[0]), text)
    ids = [Fact(match[0], match.start()) for match in _ID.finditer(plain) if _HAS_ID.search(match[0])]
    rest = list(plain)
    for one in ids:
        rest[one.start : one.end] = "_" * len(one.text)
    numbers = (_number(match) for match in _NUMBER.finditer("".join(rest)))
    yield from sorted((*ids, *(one for one in numbers if one)), key=lambda fact: fact.start)


def _number(match: re.Match[str]) -> Fact | None:
    text = match[0].rstrip()
    try:
        value = Decimal(re.sub(r"[,_%\s]", "", text))
    except InvalidOperation:
        return None
    return Fact(text, match.start(), value, text.endswith("%"))


class Source:
    """What a text says: to look facts of another one up in it."""

    def __init__(self, text: str) -> None:
        self._text = text

        self._rounded: dict[int, frozenset[Decimal]] = {}

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(one.text for one in facts_of(self._text) if one.value is None)

    @cached_property
    def _values(self) -> frozenset[Decimal]:
        """Its numbers, without their signs; of a percentage the ratio too, and of any ratio the percentage."""
        values: set[Decimal] = set()
        for one in facts_of(self._text):
            if one.value is not None:
                size = abs(one.value)
                values |= {size, size / 100} if one.percent else {size}
        return frozenset(values)

    def has(self, fact: Fact) -> bool:
        """Whether it says that: an id to the letter; a number also in another notation, rounded, or as a percentage."""
        if fact.value is None:
            return fact.text in self.ids or self._holds(fact.text)
        size = abs(fact.value)
        if size in self._values or (fact.percent and size / 100 in self._values):
            return True
        shown = size.as_tuple()
        if len(shown.digits) < _LEAST_DIGITS or not isinstance(shown.exponent, int) or shown.exponent > 0:
            return False
        return size in self._to(shown.exponent) or (fact.percent and size / 100 in self._to(shown.exponent - 2))

    def _to(self, exponent: int) -> frozenset[Decimal]:
        """Its numbers, rounded to that place."""
        if exponent not in self._rounded:
            place = Decimal(1).scaleb(exponent)
            near = [value for value in self._values if value < _LARGEST]
            ways = (ROUND_HALF_UP, ROUND_HALF_EVEN)
            self._rounded[exponent] = frozenset(value.quantize(place, way) for value in near for way in ways)
        return self._rounded[exponent]

    def _holds(self, text: str) -> bool:
        return re.search(rf"(?<![\w]){re.escape(text)}(?![\w])", self._text) is not None


def strike(text: str, wrong: Iterable[Fact], mark: str) -> str:
    """The text with a mark in the place of these facts."""
    for fact in sorted(wrong, key=lambda one: one.start, reverse=True):
        text = text[: fact.start] + mark + text[fact.end :]
    return text
