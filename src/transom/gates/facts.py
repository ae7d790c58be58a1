"""Numbers and ids in a text, and whether another text has them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from decimal import Context, Decimal, InvalidOperation
from itertools import islice
from typing import NamedTuple

from transom.once import once

# A word with a digit or an underscore in it, or a path: TICKET-12, u_core/u_alu, data_bus[15], report.rpt, 1.2.3, 3fa9.
# What is longer is none: a line of code, a picture in letters. And a search takes no time that grows with its square.
_ID = re.compile(
    r"(?<!\w)(?:[A-Za-z_][\w./:\[\]+-]{0,300}[\w\]](?!\w)|/[\w.][\w./-]{0,300}\w(?!\w)"
    r"|(?!\d+\.\d+[eE][-+]?\d+[A-Za-z]{0,4}(?![.:/-]?\w))\d+(?:[.:/-]\w+){2,}"  # 1.5e-30 is a number
    r"|(?!\d+[eE]\d+\b)\d+[A-Za-z_]\w*[\d_]\w*)"
)
_HAS_ID = re.compile(r"[\d_\[]|/\w+/|\w{2,}\.\w{2,}")
_NUMBER = re.compile(
    # In 1-5 and 5%-10% it is no sign, in -$5 and -9..-5 it is one; and 1..5 are two numbers.
    r"(?=[-+±.\d])(?:(\+/-\s?|±\s?)[$€£¥]?|(?:(?<![\w.%)\]°])|(?<=\.\.))[-+][$€£¥]?|(?:(?<![\w.])|(?<=\.\.)))"
    r"(?:(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?|(?<![\w.)\]])\.\d+)(?:[eE][-+]?\d+)?(?=[A-Za-z]{0,4}(?!\w))(?:\s?%)?"
)
_MARKS = str.maketrans("", "", ",_%$€£¥")  # that stand in a number and are no part of what it says
# A dash and a space before a number are its sign where a value begins: slack: - 0.5, x = - 0.5, from - 2 to - 1.
# Behind a word or another number they part it from that, and at the beginning of a line they are an item's of a list.
_DASHES = ("- ", "− ", "– ")
_BEGINS = re.compile(
    r"(?:[=(\[,][ \t]*|(?:[:|~≈]|[<>]=?|\b(?:is|was|are|were|of|from|to|at|than|about|between|and|or))[ \t]+)[-−–] $",
    re.IGNORECASE,
)
# Alone in brackets, where a table has a cell or a value begins, a number may be an accountant's negative one, or not.
_OPENS = re.compile(
    r"(?:^ *|[\t|]\s*|\s{2}|(?<=\S),|[:=]\s?|\b(?:is|was)\s)[$€£¥]?\([$€£¥]?$", re.IGNORECASE | re.MULTILINE
)
_CLOSES = re.compile(r"\)\s?%?(?=\s*$|\s{2}|\s*[\t|;,]|\.(?:\s|$))", re.MULTILINE)
# Words beside a number that may tell its sign: violates by 0.5, a negative slack of 0.5, minus 0.5; 0.5 of violation.
_SAYS_SIGN = ("by ", "of ", "about ", "minus ", "negative ")
_NOT = r"(?<!not )(?<!no )(?<!never )(?<!n't )(?<!without )(?<!non-)(?<!non )"
_BELOW = re.compile(
    rf"{_NOT}\b(?:(?:violat|miss|fail|f[ae]ll|drop|decreas|declin|reduc|los[est]|below|short|down|lower|less|worse)\w*"
    r"(?:\s+[\w./\[\]-]+){0,2}\s+by|(?:violation|shortfall|deficit|loss|drop|decrease|decline|negative\s+\w+)\s+of"
    r"|minus|negative)\s+(?:about\s+)?$",
    re.IGNORECASE,
)
_OF_BELOW = re.compile(
    r"[A-Za-zµ]{0,4}(?:\s[A-Za-zµ]{1,4})?\s+of\s+(?:(?!no\s)[A-Za-z]+\s+)?(?:violation|shortfall|deficit|loss)\b",
    re.IGNORECASE,
)
_DENIED = ("not ", "no ", "never ", "n't ", "without ")
_NAMES = ("is ", "was ", "about ", ":", ": ", "=", "= ")
# What is called negative, and no count of what is: the worst negative slack is 0.5, negative slack (WNS): 0.5.
_CALLED = re.compile(
    rf"{_NOT}\bnegative\s+(?:\w+\s+)?(?:slack|margin|value|difference|delta|balance|skew|offset)"
    r"(?:\s+\(\w{1,20}\))?(?:\s+(?:is|was)\s+(?:about\s+)?|\s?[:=]\s?)$",
    re.IGNORECASE,
)
_BEGIN_DIGITS = frozenset("0123456789.")
_CURRENCIES = ("$", "€", "£", "¥")
# What stands around something, two signs on each side of a \0, where it is part of a longer word or another number.
_IN_A_WORD = re.compile(r".?\w\0.*|.*\0\w.?", re.DOTALL)
_IN_A_NUMBER = re.compile(
    r".?[\w.,+±−–$€£¥-]\0.*|[−–-][ \t]\0.*|.*\0(?:\w.?|[.,]\d|\s?%.?)",
    re.DOTALL,
)
_BEFORE = 80  # characters that are looked at for them
_BULLET = re.compile(r"^[^\S\n]*\d+[.)]\s", re.MULTILINE)
MOST_READ = 16_000_000
"""Characters of a source that are gone through, in four seconds; behind them facts are looked up to the letter."""
_LEAST_DIGITS = 2  # a number of one digit is not taken for a rounded one
_LONGEST = 400  # digits, and powers of ten: no float has more of them; what has more is looked up to the letter
_EXACT = Context(prec=4 * _LONGEST)  # so that nothing is rounded and nothing fails, whatever context the program set


class Fact(NamedTuple):
    """A number or an id.

    Attributes:
        text: as it stands.
        start: where.
        value: of a number, what it says; of an id None.
        percent: whether it is one of a hundred.
        either: whether it may stand for the negative one too: `±5`, `violated by 5`, a cell with `(5)`.
        called: whether it has the name of a negative one: `negative slack is 5`. Reports call positive ones so too, so
            that it counts in what is said of a source, and in no source.
    """

    text: str
    start: int
    value: Decimal | None = None
    percent: bool = False
    either: bool = False
    called: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def facts_of(text: str) -> Iterator[Fact]:
    """Numbers and ids of a text, in order. The numbers that count a list's items are none."""
    ids: list[Fact] = []
    numbers = list(_numbers_of(text, ids.append))
    yield from sorted((*ids, *numbers), key=lambda fact: fact.start)


def count_facts(text: str, most: int) -> int:
    """How many numbers and ids a text has, counted up to so many."""
    ids: list[Fact] = []
    numbers = sum(1 for _ in islice(_numbers_of(text, ids.append), most))
    return min(len(ids) + numbers, most)


def _numbers_of(text: str, take: Callable[[Fact], None]) -> Iterator[Fact]:
    """The numbers of a text, once all its ids were taken. However long it is, no step of this takes long by itself."""
    plain = _BULLET.sub(lambda match: " " * len(match[0]), text)
    rest, at = list[str](), 0
    for match in _ID.finditer(plain):
        name = match[0]
        if _HAS_ID.search(name):
            start, end = match.span()
            take(Fact(name, start))
            rest += (plain[at:start], "_" * (end - start))
            at = end
    rest.append(plain[at:])
    for match in _NUMBER.finditer("".join(rest).replace("−", "-").replace("–", "-")):
        yield _number(match, plain)


def _number(match: re.Match[str], whole: str) -> Fact:
    start, either = match.start(), match[1] or ""
    text = whole[start : match.end()].rstrip()
    if len(text) > _LONGEST:
        return Fact(text, start)
    try:
        value = Decimal(match[0][len(either) :].translate(_MARKS))
    except InvalidOperation:  # its power of ten has twenty digits itself
        return Fact(text, start)
    if not value.is_finite() or abs(value.adjusted()) > _LONGEST:
        return Fact(text, start)
    end = start + len(text)
    if text[0] not in _BEGIN_DIGITS:
        return Fact(text, start, value, text.endswith("%"), bool(either))
    if whole.startswith(_CURRENCIES, max(0, start - 1)):
        start -= 1
    near = max(0, start - _BEFORE)
    if whole.endswith(_DASHES, near, start) and _BEGINS.search(whole, near, start):
        return Fact(whole[start - 2 : end], start - 2, value.copy_negate(), text.endswith("%"))
    below = _below(whole, near, start, end) or _in_brackets(whole, near, start, end)
    called = whole.endswith(_NAMES, near, start) and _CALLED.search(whole[near:start]) is not None
    return Fact(text, end - len(text), value, text.endswith("%"), below, called)


def _below(text: str, near: int, start: int, end: int) -> bool:
    """Whether the words right before or behind a number say that it is how far something lies below."""
    if text.endswith(_SAYS_SIGN, near, start) and _BELOW.search(text[near:start]):
        return True
    return _OF_BELOW.match(text, end) is not None and not text[near:start].lower().endswith(_DENIED)


def _in_brackets(text: str, near: int, start: int, end: int) -> bool:
    """Whether a number stands alone in brackets, where these may say that it is negative."""
    return bool(_CLOSES.match(text, end) and _OPENS.search(text, near, end - len(text[start:end].lstrip("$€£¥"))))


class Source:
    """What a text says: to look facts of another one up in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        long = len(text) > MOST_READ
        self._read = max(text.rfind("\n", 0, MOST_READ), MOST_READ // 2) if long else len(text)

    @property
    def ids(self) -> Collection[str]:
        """Its ids, each once, in order."""
        return self._facts[0].keys()

    @once
    def _facts(self) -> tuple[dict[str, None], tuple[_Numbers, _Numbers, _Numbers]]:
        """Its ids; its plain numbers, its percentages, and these as parts of one; both signs where that is not told.

        It is gone through once: that takes a quarter of a second for each MB.
        """
        ids: dict[str, None] = {}
        plain, percent = set[Decimal](), set[Decimal]()
        for one in _numbers_of(self._text[: self._read], lambda fact: ids.setdefault(fact.text)):
            if one.value is None:
                ids[one.text] = None
            else:
                (percent if one.percent else plain).update(_said(one))
        return ids, (_Numbers(plain), _Numbers(percent), _Numbers({_hundredth(value) for value in percent}))

    def has(self, fact: Fact) -> bool:
        """Whether it says that: an id to the letter; a number also in another notation, rounded, or as a percentage.

        A number has the sign that it has there. One without any stands for a negative one only where the words
        beside it say so.
        """
        if fact.value is None:
            return fact.text in self.ids or self._holds(fact.text)
        said = (*_said(fact), fact.value.copy_negate()) if fact.called else _said(fact)
        plain, percent, parts = self._facts[1]
        if fact.percent:
            found = any(plain.has(one) or percent.has(one) or plain.has(_hundredth(one)) for one in said)
        else:
            found = any(plain.has(one) or percent.has(one) or parts.has(one) for one in said)
        return found or (self._read < len(self._text) and self._holds(fact.text, _IN_A_NUMBER, self._read))

    def _holds(self, text: str, beside: re.Pattern[str] = _IN_A_WORD, start: int = 0) -> bool:
        """Whether it has that to the letter, and no part of something longer. An expression alone would be slower."""
        at = self._text.find(text, start)
        while at >= 0:
            end = at + len(text)
            if not beside.fullmatch(f"{self._text[max(0, at - 2) : at]}\0{self._text[end : end + 2]}"):
                return True
            at = self._text.find(text, at + 1)
        return False


class _Numbers:
    """Numbers, to look one up among them."""

    def __init__(self, values: set[Decimal]) -> None:
        self._values = values

    @once
    def _in_order(self) -> list[Decimal]:
        return sorted(self._values)

    def has(self, value: Decimal) -> bool:
        """Whether it is there, or one that is rounded to it: away from nothing at a half, or to the even one."""
        if value in self._values:
            return True
        negative, digits, place = value.as_tuple()
        if len(digits) < _LEAST_DIGITS or not isinstance(place, int):
            return False
        half = Decimal((0, (5,), place - 1))
        least, most = _EXACT.subtract(value, half), _EXACT.add(value, half)
        order, even = self._in_order, digits[-1] % 2 == 0
        at, end = bisect_left(order, least), bisect_right(order, most)
        if at < end and order[at] == least and negative and not even:
            at += 1
        if at < end and order[end - 1] == most and not negative and not even:
            end -= 1
        return at < end


def _said(fact: Fact) -> tuple[Decimal, ...]:
    """The numbers that it may stand for."""
    if fact.value is None:
        return ()
    return (fact.value, fact.value.copy_negate()) if fact.either else (fact.value,)


def _hundredth(value: Decimal) -> Decimal:
    return value.scaleb(-2, _EXACT)


def strike(text: str, wrong: Iterable[Fact], mark: str) -> str:
    """The text with a mark in the place of these facts."""
    for fact in sorted(wrong, key=lambda one: one.start, reverse=True):
        text = text[: fact.start] + mark + text[fact.end :]
    return text
