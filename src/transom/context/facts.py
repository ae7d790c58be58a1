"""Numbers and ids in a text, and whether another text has them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from functools import cached_property

# A word with a digit or an underscore in it, or a path: TICKET-12, u_core/u_alu, data_bus[15], report.rpt, 1.2.3, 3fa9.
# What is longer is none: a line of code, a picture in letters. And a search takes no time that grows with its square.
_ID = re.compile(
    r"(?<!\w)(?:[A-Za-z_][\w./:\[\]+-]{0,300}[\w\]](?!\w)|/[\w./-]{1,300}\w(?!\w)"
    r"|(?!\d+\.\d+[eE][-+]?\d+[A-Za-z]{0,4}(?![.:/-]?\w))\d+(?:[.:/-]\w+){2,}"  # 1.5e-30 is a number
    r"|(?!\d+[eE]\d+\b)\d+[A-Za-z_]\w*[\d_]\w*)"
)
_HAS_ID = re.compile(r"[\d_\[]|/\w+/|\w{2,}\.\w{2,}")
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[A-Za-z]{0,4}(?!\w))(?:\s?%)?"
)
_BULLET = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)
_LEAST_DIGITS = 2  # a number of one digit is not taken for a rounded one
_LONGEST = 400  # digits, and powers of ten: no float has more of them; what has more is looked up to the letter
_EXACT = Context(prec=4 * _LONGEST)  # so that nothing is rounded and nothing fails, whatever context the program set


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
    numbers = [_number(match) for match in _NUMBER.finditer("".join(rest))]
    yield from sorted((*ids, *numbers), key=lambda fact: fact.start)


def _number(match: re.Match[str]) -> Fact:
    text = match[0].rstrip()
    to_the_letter = Fact(text, match.start())
    if len(text) > _LONGEST:
        return to_the_letter
    try:
        value = Decimal(re.sub(r"[,_%\s]", "", text))
    except InvalidOperation:  # its power of ten has twenty digits itself
        return to_the_letter
    if not value.is_finite() or abs(value.adjusted()) > _LONGEST:
        return to_the_letter
    return Fact(text, match.start(), value, text.endswith("%"))


class Source:
    """What a text says: to look facts of another one up in it."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(one.text for one in facts_of(self._text) if one.value is None)

    @cached_property
    def _values(self) -> frozenset[Decimal]:
        """Its numbers, without their signs; of a percentage the ratio too."""
        values: set[Decimal] = set()
        for one in facts_of(self._text):
            if one.value is not None:
                size = one.value.copy_abs()
                values |= {size, _hundredth(size)} if one.percent else {size}
        return frozenset(values)

    @cached_property
    def _in_order(self) -> list[Decimal]:
        return sorted(self._values)

    def has(self, fact: Fact) -> bool:
        """Whether it says that: an id to the letter; a number also in another notation, rounded, or as a percentage."""
        if fact.value is None:
            return fact.text in self.ids or self._holds(fact.text)
        size = fact.value.copy_abs()
        return self._says(size) or (fact.percent and self._says(_hundredth(size)))

    def _says(self, size: Decimal) -> bool:
        """Whether it has that number, or one that is rounded to it: up from a half, or to the even one."""
        if size in self._values:
            return True
        _, digits, place = size.as_tuple()
        if len(digits) < _LEAST_DIGITS or not isinstance(place, int):
            return False
        half = Decimal((0, (5,), place - 1))
        least, most = _EXACT.subtract(size, half), _EXACT.add(size, half)
        at = bisect_left(self._in_order, least)
        if at == len(self._in_order):
            return False
        return self._in_order[at] < most or (self._in_order[at] == most and digits[-1] % 2 == 0)

    def _holds(self, text: str) -> bool:
        return re.search(rf"(?<![\w]){re.escape(text)}(?![\w])", self._text) is not None


def _hundredth(value: Decimal) -> Decimal:
    return value.scaleb(-2, _EXACT)


def strike(text: str, wrong: Iterable[Fact], mark: str) -> str:
    """The text with a mark in the place of these facts."""
    for fact in sorted(wrong, key=lambda one: one.start, reverse=True):
        text = text[: fact.start] + mark + text[fact.end :]
    return text
