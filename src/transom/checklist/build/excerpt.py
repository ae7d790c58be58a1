"""Long files as the gates try a checker on them: the beginning, the end, and the lines around what atom A sees."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from transom.checklist.run.runner import Scope
from transom.formats.text_files import ReadAgain

LONGEST = 1 << 20
_HEAD, _MIDDLE, _TAIL = LONGEST // 2, LONGEST // 4, LONGEST // 4
_AROUND = 20  # lines before and behind a line that is kept for what atom A sees there
_PLACES = 100


def excerpt(path: Path, seen: Sequence[int] = ()) -> tuple[str, bool]:
    """A file's text, cut where it has more than `LONGEST` characters, and whether it is cut.

    Args:
        seen: lines of the whole file that are to be there with their neighbours, as far as there is room.

    Raises:
        InputError: it cannot be read.
    """
    some = seen[:: max(1, -(-len(seen) // _PLACES))]
    wanted = frozenset(number for line in some for number in range(line - _AROUND, line + _AROUND + 1))
    while True:
        try:
            return _cut(Scope("line").open(path).pieces(), wanted)
        except ReadAgain:
            continue


def is_long(path: Path) -> bool:
    """Whether a file is shown in excerpts.

    Raises:
        InputError: as for `excerpt`.
    """
    while True:
        try:
            sizes = itertools.accumulate(map(len, Scope("line").open(path).pieces()))
            return any(size > LONGEST for size in sizes)
        except ReadAgain:
            continue


def _cut(pieces: Iterator[str], wanted: frozenset[int]) -> tuple[str, bool]:
    """What is between the beginning and the end passes by; no more than a few pieces are in memory."""
    front, middle, back, before, long = "", "", "", 0, False
    for piece in pieces:
        back += piece
        if not long and len(back) > LONGEST:
            long, edge = True, _last_edge(back, _HEAD)
            front, back, before = back[:edge], back[edge:], back.count("\n", 0, edge)
        edge = back.rfind("\n", 0, max(0, len(back) - LONGEST)) + 1 if long else 0
        middle += _lines(back[:edge], before, wanted)
        back, before = back[edge:], before + back.count("\n", 0, edge)
    if not long:
        return back, False
    edge = _first_edge(back, max(0, len(back) - _TAIL))
    middle += _lines(back[:edge], before, wanted)
    return front + middle[: middle.rfind("\n", 0, _MIDDLE) + 1] + back[edge:], True


def _lines(text: str, before: int, wanted: frozenset[int]) -> str:
    """The wanted lines of a piece."""
    if wanted.isdisjoint(range(before + 1, before + text.count("\n") + 2)):
        return ""
    lines = text.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines, before + 1) if number in wanted)


def _last_edge(text: str, at: int) -> int:
    """The end of a line before a place; of a blank one, if one is near, so that no block is cut."""
    blank = text.rfind("\n\n", at // 2, at)
    return blank + 2 if blank >= 0 else text.rfind("\n", 0, at) + 1


def _first_edge(text: str, at: int) -> int:
    """The beginning of a line behind a place; behind a blank one, if one is near."""
    blank = text.find("\n\n", at, at + _TAIL // 2)
    return blank + 2 if blank >= 0 else text.find("\n", at) + 1
