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
    """Return a file's text, and whether it was cut.

    A long text keeps its ends and the lines around `line_numbers`.

    Where nobody has looked yet (None), a long one has no text.

    Raises:
        InputError: it cannot be read.
    """
    # Entries of a long report are many and alike, so every n-th is enough.
    some = (line_numbers or ())[:: max(1, -(-len(line_numbers or ()) // _PLACES))]
    near_lines: set[int] | None = None
    if line_numbers is not None:
        near_lines = set()
        for line in some:
            near_lines.update(range(line - _AROUND, line + _AROUND + 1))
    return _cut(Scope("line").open(path).pieces(), near_lines)


def _cut(pieces: Iterator[str], near_lines: set[int] | None) -> tuple[str, bool]:
    """Return both ends of a text and the lines between them that the excerpt shows.

    No more than a few pieces are in memory.
    """
    front, middle, back, before, long = "", "", "", 0, False
    # Only the last megabyte is kept, since any piece could be the tail.
    for piece in pieces:
        back += piece
        if not long and len(back) > LONGEST:
            if near_lines is None:
                return "", True
            long, edge = True, _last_edge(back, _HEAD)
            front, back, before = back[:edge], back[edge:], back.count("\n", 0, edge)
        # Whole lines only: half a line would be another text to atom A.
        edge = back.rfind("\n", 0, max(0, len(back) - LONGEST)) + 1 if long else 0
        middle += _lines(back[:edge], before, near_lines)
        back, before = back[edge:], before + back.count("\n", 0, edge)
    if not long:
        return back, False
    edge = _first_edge(back, max(0, len(back) - _TAIL))
    middle += _lines(back[:edge], before, near_lines)
    return front + middle[: middle.rfind("\n", 0, _MIDDLE) + 1] + back[edge:], True


def _lines(text: str, before: int, near_lines: set[int] | None) -> str:
    """Return the lines of a piece that the excerpt shows."""
    if not near_lines or near_lines.isdisjoint(range(before + 1, before + text.count("\n") + 2)):
        return ""
    lines = text.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines, before + 1) if number in near_lines)


def _last_edge(text: str, position: int) -> int:
    """Return the end of a line before a position, of a blank line if one is near.

    A cut at a blank line leaves blocks whole.
    """
    blank = text.rfind("\n\n", position // 2, position)
    if blank >= 0:
        return blank + 2
    return text.rfind("\n", 0, position) + 1


def _first_edge(text: str, position: int) -> int:
    """Return the beginning of a line behind a position, behind a blank line if one is near."""
    blank = text.find("\n\n", position, position + _TAIL // 2)
    if blank >= 0:
        return blank + 2
    return text.find("\n", position) + 1
