"""Long files as the gates try a checker on them: the beginning, the end, and the lines around
what atom A sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from transom.checklist.judging.runner import Scope

LONGEST = 1 << 20
_HEAD, _MIDDLE, _TAIL = LONGEST // 2, LONGEST // 4, LONGEST // 4
_AROUND = 20  # lines before and behind a line that is kept for what atom A sees there
_PLACES = 100


def excerpt(path: Path, line_numbers: Sequence[int] | None = None) -> tuple[str, bool]:
    """A file's text, and whether it was cut: a long one keeps its ends and the lines around those
    in `line_numbers`.

    Where nobody has looked yet (None), a long one has no text.

    Raises:
        InputError: it cannot be read.
    """
    some = (line_numbers or ())[:: max(1, -(-len(line_numbers or ()) // _PLACES))]
    near_lines = frozenset(
        number for line in some for number in range(line - _AROUND, line + _AROUND + 1)
    )
    return _cut(Scope("line").open(path).pieces(), None if line_numbers is None else near_lines)


def _cut(pieces: Iterator[str], near_lines: frozenset[int] | None) -> tuple[str, bool]:
    """Text of both ends and of the wanted lines between them; no more than a few pieces are in
    memory.
    """
    front, middle, back, before, long = "", "", "", 0, False
    for piece in pieces:
        back += piece
        if not long and len(back) > LONGEST:
            if near_lines is None:
                return "", True
            long, edge = True, _last_edge(back, _HEAD)
            front, back, before = back[:edge], back[edge:], back.count("\n", 0, edge)
        edge = back.rfind("\n", 0, max(0, len(back) - LONGEST)) + 1 if long else 0
        middle += _lines(back[:edge], before, near_lines)
        back, before = back[edge:], before + back.count("\n", 0, edge)
    if not long:
        return back, False
    edge = _first_edge(back, max(0, len(back) - _TAIL))
    middle += _lines(back[:edge], before, near_lines)
    return front + middle[: middle.rfind("\n", 0, _MIDDLE) + 1] + back[edge:], True


def _lines(text: str, before: int, near_lines: frozenset[int] | None) -> str:
    """The wanted lines of a piece."""
    if not near_lines or near_lines.isdisjoint(range(before + 1, before + text.count("\n") + 2)):
        return ""
    lines = text.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines, before + 1) if number in near_lines)


def _last_edge(text: str, position: int) -> int:
    """The end of a line before a place; of a blank one, if one is near, so that no block is cut."""
    blank = text.rfind("\n\n", position // 2, position)
    return blank + 2 if blank >= 0 else text.rfind("\n", 0, position) + 1


def _first_edge(text: str, position: int) -> int:
    """The beginning of a line behind a place; behind a blank one, if one is near."""
    blank = text.find("\n\n", position, position + _TAIL // 2)
    return blank + 2 if blank >= 0 else text.find("\n", position) + 1
