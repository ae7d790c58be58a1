"""Finds numbers and ids in a text, and checks whether another text has them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from decimal import Context, Decimal, InvalidOperation
from itertools import islice
from typing import NamedTuple

from transom.once import once

# A word with a digit or an underscore in it, or a path: TICKET-12, u_core/u_alu, data_bus[15],
# report.rpt, 1.2.3, 3fa9. Longer words (code, ASCII art) are not ids; the limit also keeps the
# search time linear.
_ID = re.compile(
    r"(?<!\w)(?:[A-Za-z_][\w./:\[\]+-]{0,300}[\w\]](?!\w)|/[\w.][\w./-]{0,300}\w(?!\w)"
    # 1.5e-30 is a number
    r"|(?!\d+\.\d+[eE][-+]?\d+[A-Za-z]{0,4}(?![.:/-]?\w))\d+(?:[.:/-]\w+){2,}"
    r"|(?!\d+[eE]\d+\b)\d+[A-Za-z_]\w*[\d_]\w*)"
)
_HAS_ID = re.compile(r"[\d_\[]|/\w+/|\w{2}\.\w{2}")
_NUMBER = re.compile(
    # The dash in 1-5 and 5%-10% is not a sign, in -$5 and -9..-5 it is; 1..5 are two numbers.
    r"(?=[-+±.\d])(?:(\+/-\s?|±\s?)[$€£¥]?"
    r"|(?:(?<![\w.%)\]°])|(?<=\.\.))[-+][$€£¥]?|(?:(?<![\w.])|(?<=\.\.)))"
    r"(?:(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?|(?<![\w.)\]])\.\d+)"
    r"(?:[eE][-+]?\d+)?(?=[A-Za-z]{0,4}(?!\w))(?:\s?%)?"
)
_MARKS = str.maketrans("", "", ",_%$€£¥")  # marks in a number that do not change its value
# A dash and a space before a number are its sign at the start of a value: slack: - 0.5, x = - 0.5,
# from - 2 to - 1. After a word or another number they separate, and at the start of a line they
# mark a list item.
_DASHES = ("- ", "− ", "– ")
_BEGINS = re.compile(
    r"(?:[=(\[,]["
    r" \t]*|(?:[:|~≈]|[<>]=?|\b(?:is|was|are|were|of|from|to|at|than|about|between|and|or))["
    r" \t]+)[-−–] $",
    re.IGNORECASE,
)
# Alone in brackets, in a table cell or at the start of a value, a number may be negative, as in
# accounting.
_OPENS = re.compile(
    r"(?:^ *|[\t|]\s?|\s{2}|(?<=\S),|[:=]\s?|\b(?:is|was)\s)[$€£¥]?\([$€£¥]?$",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSES = re.compile(r"\)\s?%?(?=\s*$|\s{2}|\s*[\t|;,]|\.(?:\s|$))", re.MULTILINE)
# Words beside a number that may determine its sign: violates by 0.5, a negative slack of 0.5, minus
# 0.5.
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
# Quantities that are called negative, not counts: the worst negative slack is 0.5, negative slack
# (WNS): 0.5.
_CALLED = re.compile(
    rf"{_NOT}\bnegative\s+(?:\w+\s+)?(?:slack|margin|value|difference|delta|balance|skew|offset)"
    r"(?:\s+\(\w{1,20}\))?(?:\s+(?:is|was)\s+(?:about\s+)?|\s?[:=]\s?)$",
    re.IGNORECASE,
)
_BEGIN_DIGITS = frozenset("0123456789.")
_CURRENCIES = ("$", "€", "£", "¥")
# Context of a match, two characters on each side of a \0, that makes it part of a longer word or
# number.
_IN_A_WORD = re.compile(r".?\w\0.*|.*\0\w.?", re.DOTALL)
_IN_A_NUMBER = re.compile(
    r".?[\w.,+±−–$€£¥-]\0.*|[−–-][ \t]\0.*|.*\0(?:\w.?|[.,]\d|\s?%.?)",
    re.DOTALL,
)
_BEFORE = 80  # characters before a number that are searched for such words
_BULLET = re.compile(r"^[^\S\n]*\d+[.)]\s", re.MULTILINE)
MOST_READ = 16_000_000
"""Characters of a source that are parsed, in four seconds; beyond them facts are searched
literally.
"""
_LEAST_DIGITS = 2  # a number of one digit does not count as rounded
_LONGEST = 400  # digits, and powers of ten; a longer number than any float is searched literally
_EXACT = Context(prec=4 * _LONGEST)  # exact, independent of the program's own context


class Fact(NamedTuple):
    """A number or an id.

    Attributes:
        text: the fact as written.
        start: its position in the text.
        value: the value of a number; None for an id.
        percent: whether it is a percentage.
        either: whether it may also mean the negative number: `±5`, `violated by 5`, a cell with
            `(5)`.
        called: whether it is called negative: `negative slack is 5`. Reports use the name for
            positive numbers too, so it counts in statements about a source, and not in a source.
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
    """Yield the numbers and ids of a text, in order; numbers of list items are not included."""
    ids: list[Fact] = []
    numbers = list(_numbers_of(text, ids.append))
    yield from sorted((*ids, *numbers), key=lambda fact: fact.start)


def count_facts(text: str, upper_limit: int) -> int:
    """Count the numbers and ids of a text, up to `upper_limit`."""
    ids: list[Fact] = []
    numbers = sum(1 for _ in islice(_numbers_of(text, ids.append), upper_limit))
    return min(len(ids) + numbers, upper_limit)


def _numbers_of(text: str, take: Callable[[Fact], None]) -> Iterator[Fact]:
    """Yield the numbers of a text after passing all its ids to `take`; every step is fast for
    texts of any length.
    """
    plain = _BULLET.sub(lambda match: " " * len(match[0]), text)
    remainder, position = list[str](), 0
    for match in _ID.finditer(plain):
        name = match[0]
        if _HAS_ID.search(name):
            start, end = match.span()
            take(Fact(name, start))
            remainder += (plain[position:start], "_" * (end - start))
            position = end
    remainder.append(plain[position:])
    for match in _NUMBER.finditer("".join(remainder).replace("−", "-").replace("–", "-")):
        yield _number(match, plain)


def _number(match: re.Match[str], full_text: str) -> Fact:
    start, either = match.start(), match[1] or ""
    text = full_text[start : match.end()].rstrip()
    if len(text) > _LONGEST:
        return Fact(text, start)
    try:
        value = Decimal(match[0][len(either) :].translate(_MARKS))
    except InvalidOperation:  # its exponent is too large
        return Fact(text, start)
    if not value.is_finite() or abs(value.adjusted()) > _LONGEST:
        return Fact(text, start)
    end = start + len(text)
    if text[0] not in _BEGIN_DIGITS:
        return Fact(text, start, value, text.endswith("%"), bool(either))
    if full_text.startswith(_CURRENCIES, max(0, start - 1)):
        start -= 1
    near = max(0, start - _BEFORE)
    if full_text.endswith(_DASHES, near, start) and _BEGINS.search(full_text, near, start):
        return Fact(full_text[start - 2 : end], start - 2, value.copy_negate(), text.endswith("%"))
    below = _below(full_text, near, start, end) or _in_brackets(full_text, near, start, end)
    called = (
        full_text.endswith(_NAMES, near, start)
        and _CALLED.search(full_text[near:start]) is not None
    )
    return Fact(text, end - len(text), value, text.endswith("%"), below, called)


def _below(text: str, near: int, start: int, end: int) -> bool:
    """Whether the words right before or after a number mean a distance below something."""
    if text.endswith(_SAYS_SIGN, near, start) and _BELOW.search(text[near:start]):
        return True
    return _OF_BELOW.match(text, end) is not None and not text[near:start].lower().endswith(_DENIED)


def _in_brackets(text: str, near: int, start: int, end: int) -> bool:
    """Whether a number is alone in brackets, where these may mean that it is negative."""
    return bool(
        _CLOSES.match(text, end)
        and _OPENS.search(text, near, end - len(text[start:end].lstrip("$€£¥")))
    )


class FactSource:
    """The facts of a text, for looking up facts of another text."""

    def __init__(self, text: str) -> None:
        self._text = text
        long = len(text) > MOST_READ
        self._read = max(text.rfind("\n", 0, MOST_READ), MOST_READ // 2) if long else len(text)

    @property
    def ids(self) -> Collection[str]:
        """The ids of the text, each once, in order."""
        return self._facts[0].keys()

    @once
    def _facts(self) -> tuple[dict[str, None], tuple[_Numbers, _Numbers, _Numbers]]:
        """The ids; the plain numbers, the percentages, and these as fractions; with both signs if
        the sign is unclear.

        The text is parsed once, in a quarter of a second per MB.
        """
        ids: dict[str, None] = {}
        plain, percent = set[Decimal](), set[Decimal]()
        head = self._text[: self._read]
        for number in _numbers_of(head, lambda fact: ids.setdefault(fact.text)):
            if number.value is None:
                ids[number.text] = None
            elif number.percent:
                percent.update(_meanings(number))
            else:
                plain.update(_meanings(number))
        return ids, (
            _Numbers(plain),
            _Numbers(percent),
            _Numbers({_hundredth(value) for value in percent}),
        )

    def has(self, fact: Fact) -> bool:
        """Whether the text has a fact: an id literally; a number also in another notation, rounded,
        or as a percentage.

        The sign must agree. A number without a sign matches a negative one only if the words beside
        it say so.
        """
        if fact.value is None:
            return fact.text in self.ids or self._holds(fact.text)
        values = (*_meanings(fact), fact.value.copy_negate()) if fact.called else _meanings(fact)
        plain, percent, parts = self._facts[1]
        if fact.percent:
            number_facts = any(
                plain.has(value) or percent.has(value) or plain.has(_hundredth(value))
                for value in values
            )
        else:
            number_facts = any(
                plain.has(value) or percent.has(value) or parts.has(value) for value in values
            )
        return number_facts or (
            self._read < len(self._text) and self._holds(fact.text, _IN_A_NUMBER, self._read)
        )

    def _holds(self, text: str, neighbours: re.Pattern[str] = _IN_A_WORD, start: int = 0) -> bool:
        """Whether the text has this literally and not as part of a longer word; faster than a
        regular expression.
        """
        position = self._text.find(text, start)
        while position >= 0:
            end = position + len(text)
            if not neighbours.fullmatch(
                f"{self._text[max(0, position - 2) : position]}\0{self._text[end : end + 2]}"
            ):
                return True
            position = self._text.find(text, position + 1)
        return False


class _Numbers:
    """A set of numbers with lookup of rounded ones."""

    def __init__(self, values: set[Decimal]) -> None:
        self._values = values

    @once
    def _in_order(self) -> list[Decimal]:
        return sorted(self._values)

    def has(self, value: Decimal) -> bool:
        """Whether the number is there, or one that rounds to it: half away from zero, or half to
        even.
        """
        if value in self._values:
            return True
        negative, digits, place = value.as_tuple()
        if len(digits) < _LEAST_DIGITS or not isinstance(place, int):
            return False
        half = Decimal((0, (5,), place - 1))
        least, upper_limit = _EXACT.subtract(value, half), _EXACT.add(value, half)
        order, even = self._in_order, digits[-1] % 2 == 0
        position, end = bisect_left(order, least), bisect_right(order, upper_limit)
        if position < end and order[position] == least and negative and not even:
            position += 1
        if position < end and order[end - 1] == upper_limit and not negative and not even:
            end -= 1
        return position < end


def _meanings(fact: Fact) -> tuple[Decimal, ...]:
    """Return the numbers that a fact may mean."""
    if fact.value is None:
        return ()
    if fact.either:
        return (fact.value, fact.value.copy_negate())
    return (fact.value,)


def _hundredth(value: Decimal) -> Decimal:
    return value.scaleb(-2, _EXACT)


def strike(text: str, wrong: Iterable[Fact], mark: str) -> str:
    """Replace these facts in a text by a mark."""
    for fact in sorted(wrong, key=lambda fact: fact.start, reverse=True):
        text = text[: fact.start] + mark + text[fact.end :]
    return text
