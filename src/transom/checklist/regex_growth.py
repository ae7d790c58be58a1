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

from transom.checklist.regex_parts import Branch, Part, Parts

Method: TypeAlias = Literal["search", "match", "fullmatch"]

_ALPHABET: Final = " \t0a_A-.,:/|=#*()[]{}<>\"'%+;@!?&~\\é\0\x1b\x01"
_MOST_KINDS_OF_CHARACTERS: Final = 6
_SHORT: Final = (8, 16, 24, 32, 64)
"""Lengths at which an expression whose time doubles with each character is noticed in time."""
_SHORT_SECONDS: Final = 0.0004
_LONG: Final = {256: 0.002, 1024: 0.002, 4096: 0.002, 16384: 0.01}
"""Length -> the seconds that make an expression suspicious: far more than a linear one takes."""
_LONGEST: Final = max(_LONG)
_MARGIN: Final = 3
_MAY_BE_STEEP: Final = 5.5
_TOO_STEEP: Final = 7.0
"""For four times the length a linear expression takes 4 times the time, a quadratic one 16."""
_ROUNDS: Final = 3  # the least time of some rounds counts: others use the processor, too


@dataclass(frozen=True)
class Growth:
    """A line for which an expression takes too long.

    Attributes:
        beginning, repeated, end: the line: `repeated` stands in it many times.
        length: number of characters that it took to see it.
        seconds: CPU time for that line.
    """

    beginning: str
    repeated: str
    end: str
    length: int
    seconds: float

    def __str__(self) -> str:
        begins = f" after {self.beginning!r}" if self.beginning else ""
        return (
            f"takes more than linear time, for example {self.seconds * 1000:.1f} ms for"
            f" {self.length} characters of {self.repeated!r}{begins}"
        )


def growth_of(pattern: re.Pattern[str], method: Method = "search") -> Growth | None:
    """Return a line for which an expression takes more than linear time, or None.

    Args:
        pattern: the expression.
        method: the method by which it is used.
    """
    call: Callable[[str], object] = getattr(pattern, method)
    for beginning, repeated, end in _Hostile(pattern).lines():

        def seconds(
            length: int, rounds: int, line: tuple[str, str, str] = (beginning, repeated, end)
        ) -> float:
            first, unit, last = line
            text = first + unit * max(1, length // len(unit)) + last
            return min(_cpu_time(call, text) for _ in range(rounds))

        length = _slow_length(seconds)
        if length is not None:
            return Growth(beginning, repeated, end, length, seconds(length, 1))
    return None


def _slow_length(seconds: Callable[[int, int], float]) -> int | None:
    """Return the length at which time proves to grow faster than length, or None."""
    for length in _SHORT:
        if seconds(length, 1) > _SHORT_SECONDS and seconds(length, _ROUNDS) > _SHORT_SECONDS:
            return length
    before = seconds(_SHORT[-1], 1)
    for length, limit in _LONG.items():
        first = seconds(length, 1)
        # A quadratic expression that took long for the longest line would take this much here.
        if first < _LONG[_LONGEST] * (length / _LONGEST) ** 2 / _MARGIN:
            return None
        if first > limit and first > _MAY_BE_STEEP * before:
            long = seconds(length, _ROUNDS)
            if long > limit and long > _TOO_STEEP * seconds(length // 4, _ROUNDS):
                return length
        before = first
    return None


def _cpu_time(call: Callable[[str], object], text: str) -> float:
    begin = time.thread_time()
    call(text)
    return time.thread_time() - begin


class _Hostile:
    """Lines that are hostile to an expression, made of its own parts."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._parts = Parts(pattern)
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

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield beginning, repeated text and end of each line, none twice."""
        lines: dict[tuple[str, str, str], None] = {}
        for beginning, repeated in self._repeats(self._parts.branches, ""):
            for head in dict.fromkeys((beginning, "")):
                for end in ("", self._misfit):
                    lines[head, repeated, end] = None
            if beginning:
                # An expression that is found at many places may go on from each.
                lines["", beginning, self._misfit] = None
                lines["", f"{beginning} ", self._misfit] = None
                lines["", beginning + repeated, self._misfit] = None
        return iter(lines)

    def _repeats(self, branches: tuple[Branch, ...], beginning: str) -> Iterator[tuple[str, str]]:
        """Yield what leads up to each part that may be repeated, and texts for that part."""
        for branch in branches:
            before = beginning
            for part in branch:
                if part.many:
                    for repeated in self._samples(part):
                        yield before, repeated
                yield from self._repeats(part.branches, before)
                before += self._shortest(part)

    def _samples(self, part: Part) -> Iterator[str]:
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

    def _shortest(self, part: Part) -> str:
        """Return the shortest text that fits a part, as far as that is plain."""
        return self._once(part, is_short=True) * part.low

    def _once(self, part: Part, *, is_short: bool = False) -> str:
        if part.kind == "character":
            fitting = self._fitting[part.source]
            return fitting[0] if fitting else ""
        if part.kind == "group":
            branch = part.branches[0]
            return self._shortest_of(branch) if is_short else "".join(map(self._once, branch))
        return ""
