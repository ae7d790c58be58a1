"""Whether the time of a regular expression grows faster than the line that it is tried on.

A report may hold a line of a million blanks. An expression such as `a.*b.*$` or `(.*?)\\s*$` tries
each of them with each other one, and takes minutes for such a line. The expression itself tells
which lines are hostile to it: what it repeats, many times, behind what it begins with, and then a
character that fits nowhere. It is tried on such lines of growing length, and its CPU time is taken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, TypeAlias

from transom.evidence.regex_parts import Branch, PartReader, RegexPart

Method: TypeAlias = Literal["search", "match", "fullmatch"]

_ALPHABET: Final = " \t0a_A-.,:/|=#*()[]{}<>\"'%+;@!?&~\\é\0\x1b\x01"
_MOST_KINDS_OF_CHARACTERS: Final = 6
_SHORT: Final = (8, 16, 24, 32, 64)
"""Lengths at which an expression whose time doubles with each character is noticed in time."""
_SHORT_SECONDS: Final = 0.0004
"""More than most expressions take. One of many alternatives takes it, too, and half for half."""
_LONG: Final = {256: 0.002, 1024: 0.002, 4096: 0.002, 16384: 0.01}
"""Length -> the seconds that make an expression suspicious: far more than a linear one takes."""
_LONGEST_RUN: Final = 4096
"""A run of one character shows everything at this length, a repeated word at four times of it."""
_MARGIN: Final = 3
_MAY_BE_STEEP: Final = 5.5
_TOO_STEEP: Final = 7.0
"""For four times the length a linear expression takes 4 times the time, a quadratic one 16."""
_ROUNDS: Final = 7  # the least time of some rounds counts: others use the processor, too
_REPEATS: Final = 2


@dataclass(frozen=True)
class RepeatedLine:
    """A line in which `repeated` stands many times."""

    beginning: str
    repeated: str
    end: str

    def text(self, length: int) -> str:
        """Return the line with about as many repeated characters."""
        return self.beginning + self.repeated * max(1, length // len(self.repeated)) + self.end


@dataclass(frozen=True)
class Growth:
    """A line for which an expression takes too long.

    Attributes:
        length: number of characters at which it shows.
        seconds: CPU time for that line.
    """

    line: RepeatedLine
    length: int
    seconds: float

    def __str__(self) -> str:
        begins = f" after {self.line.beginning!r}" if self.line.beginning else ""
        return (
            f"takes more than linear time, for example {self.seconds * 1000:.1f} ms for"
            f" {self.length} characters of {self.line.repeated!r}{begins}"
        )


def growth_of(pattern: re.Pattern[str], method: Method = "search") -> Growth | None:
    """Return a line for which an expression takes more than linear time, or None.

    Args:
        pattern: the expression.
        method: the method by which it is used.
    """
    call: Callable[[str], object] = getattr(pattern, method)
    for line in _Hostile(pattern).lines():
        length = _slow_length(call, line)
        if length is not None:
            return Growth(line, length, _seconds(call, line, length))
    return None


def _slow_length(call: Callable[[str], object], line: RepeatedLine) -> int | None:
    """Return the length at which time proves to grow faster than length, or None."""
    for length in _SHORT:
        is_slow = _seconds(call, line, length) > _SHORT_SECONDS
        if is_slow and _is_too_steep(call, line, (length // 2, length), _SHORT_SECONDS):
            return length
    longest = _LONGEST_RUN if len(line.repeated) == 1 else max(_LONG)
    before = _seconds(call, line, _SHORT[-1])
    for length, limit in _LONG.items():
        first = _seconds(call, line, length)
        # A quadratic expression that took long for the longest line would take this much here.
        if length > longest or first < _LONG[longest] * (length / longest) ** 2 / _MARGIN:
            return None
        is_slow = first > limit and first > _MAY_BE_STEEP * before
        if is_slow and _is_too_steep(call, line, (length // 4, length), limit):
            return length
        before = first
    return None


def _is_too_steep(
    call: Callable[[str], object], line: RepeatedLine, lengths: tuple[int, int], limit: float
) -> bool:
    """Return whether the longer of two lines takes too long, and takes it again each time.

    The two are timed in turn, so that a processor that others slow down slows both.
    """
    for _ in range(_REPEATS):
        shorter = longer = float("inf")
        for _ in range(_ROUNDS):
            shorter = min(shorter, _seconds(call, line, lengths[0]))
            longer = min(longer, _seconds(call, line, lengths[1]))
        if longer <= max(limit, _TOO_STEEP * shorter):
            return False
    return True


def _seconds(call: Callable[[str], object], line: RepeatedLine, length: int) -> float:
    """Return the CPU time of a call for a line."""
    text = line.text(length)
    begin = time.thread_time()
    call(text)
    return time.thread_time() - begin


class _Hostile:
    """Lines that are hostile to an expression, made of its own parts."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._parts = PartReader(pattern)
        letters = dict.fromkeys(letter for letter in pattern.pattern if letter.isalnum())
        # A line holds no line end, but some expressions are for texts of several lines.
        is_for_texts = pattern.flags & re.MULTILINE or "\\n" in pattern.pattern
        alphabet = dict.fromkeys(chain(_ALPHABET, "\n" if is_for_texts else "", letters))
        sources = dict.fromkeys(part.source for part in self._parts.characters())
        self._fitting: dict[str, list[str]] = {}
        for source in sources:
            character = re.compile(source, self._parts.flags)
            self._fitting[source] = [sign for sign in alphabet if character.fullmatch(sign)]
        # Characters that fit the same parts are alike: one of them is tried.
        self._kind_of = {
            sign: frozenset(source for source in sources if sign in self._fitting[source])
            for sign in alphabet
        }
        self._misfit = min(alphabet, key=lambda sign: (len(self._kind_of[sign]), sign != "\x01"))

    def lines(self) -> list[RepeatedLine]:
        """Return the lines, none twice."""
        lines: dict[RepeatedLine, None] = {}
        for beginning, repeated in self._repeats(self._parts.branches, ""):
            for head in (beginning, ""):
                for end in ("", self._misfit):
                    lines[RepeatedLine(head, repeated, end)] = None
            if beginning:
                # An expression that is found at many places may go on from each.
                for unit in (beginning, f"{beginning} ", beginning + repeated):
                    lines[RepeatedLine("", unit, self._misfit)] = None
        return list(lines)

    def _repeats(self, branches: tuple[Branch, ...], beginning: str) -> Iterator[tuple[str, str]]:
        """Yield what leads up to each part that may be repeated, and texts for that part."""
        for branch in branches:
            before = beginning
            for part in branch:
                if part.is_repeated:
                    for repeated in self._samples(part):
                        yield before, repeated
                yield from self._repeats(part.branches, before)
                before += self._shortest(part)

    def _samples(self, part: RegexPart) -> Iterator[str]:
        if part.kind == "character":
            kinds: dict[frozenset[str], str] = {}
            for sign in self._fitting[part.source]:
                kinds.setdefault(self._kind_of[sign], sign)
            # What fits many classes is the most hostile: each of them may take it.
            by_use = sorted(kinds, key=self._number_of_classes, reverse=True)
            by_use = by_use[:_MOST_KINDS_OF_CHARACTERS]
            yield from (kinds[kind] for kind in by_use)
            return
        for branch in part.branches:
            for sample in (self._shortest_of(branch), "".join(map(self._once, branch))):
                if sample:
                    yield sample

    def _number_of_classes(self, sources: frozenset[str]) -> int:
        return sum(len(self._fitting[source]) > 1 for source in sources)

    def _shortest_of(self, branch: Branch) -> str:
        return "".join(map(self._shortest, branch))

    def _shortest(self, part: RegexPart) -> str:
        """Return the shortest text that fits a part, as far as that is plain."""
        return self._once(part, is_short=True) * part.low

    def _once(self, part: RegexPart, *, is_short: bool = False) -> str:
        if part.kind == "character":
            fitting = self._fitting[part.source]
            return fitting[0] if fitting else ""
        if part.kind == "group":
            branch = part.branches[0]
            return self._shortest_of(branch) if is_short else "".join(map(self._once, branch))
        return ""
