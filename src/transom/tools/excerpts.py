"""Bounded pieces of a text file, read line by line and never as a whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transom.formats.text_files import STREAMED_BYTES, TextFile
from transom.tools.files import LONGEST_LINE

_MORE = 10  # matches beside those that are returned, of which the lines are told


@dataclass(frozen=True)
class Slice:
    """Lines of a file.

    Attributes:
        lines: without their ends.
        last: number of the last of them, or of the file's last line where the file ends before the
            first.
        whole: whether these are all lines that were asked for, in full.
        more: whether the file goes on after them.
        encoding: of what was read.
    """

    lines: tuple[str, ...]
    last: int
    whole: bool
    more: bool
    encoding: str

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True)
class Match:
    """A line that holds a keyword as asked for, its number, and with it its neighbours, as many
    as fit.
    """

    keyword: str
    line_number: int
    content: str


@dataclass
class Count:
    """How many lines hold a keyword, and the numbers of the first of them."""

    lines: int = 0
    first: list[int] = field(default_factory=list)


@dataclass
class _Hit:
    """A match whose following lines are still being read."""

    keyword: str
    line_number: int
    line: str
    before: tuple[str, ...]
    after: list[str] = field(default_factory=list)

    def match(self, characters: int) -> Match:
        """The nearest lines on both sides, as long as they fit; the line itself always stands in
        it.
        """
        lines = deque([self.line])
        left = characters - len(self.line)
        sides = [(list(self.before), lines.appendleft), (self.after[::-1], lines.append)]
        while any(side for side, _ in sides):
            for side, add in sides:
                if side and len(side[-1]) < left:
                    left -= len(side[-1]) + 1
                    add(side.pop())
                else:
                    side.clear()
        return Match(self.keyword, self.line_number, "\n".join(lines))


def cut_out(path: Path, first: int, last: int, *, most_bytes: int, line_characters: int) -> Slice:
    """The lines `first` to `last`, counted from 1 and included, as far as the bytes suffice."""
    file = TextFile(path, limit=STREAMED_BYTES)
    numbered = enumerate(file.lines(LONGEST_LINE), 1)
    lines: list[str] = []
    number, whole = 0, True
    for number, line in numbered:
        if number < first:
            continue
        shown = line[:line_characters]
        most_bytes -= len(shown.encode()) + 1
        if most_bytes < 0:
            return Slice(tuple(lines), number - 1, False, True, file.encoding)
        whole = whole and len(shown) == len(line)
        lines.append(shown)
        if number >= last:
            break
    return Slice(tuple(lines), number, whole, next(numbered, None) is not None, file.encoding)


def search(
    path: Path, keywords: Sequence[str], *, context: int, most: int, characters: int
) -> tuple[list[Match], dict[str, Count]]:
    """The first matches of each keyword, keyword by keyword, and how many there are of each.

    Args:
        path, keywords: the file, and texts, whatever their case.
        context: lines before and after a match.
        most: matches a keyword that are returned.
        characters: the length of a match's content.

    Raises:
        InputError: the file cannot be read.
    """
    wanted = [(keyword, keyword.lower()) for keyword in dict.fromkeys(keywords)]
    hits: dict[str, list[_Hit]] = {keyword: [] for keyword, _ in wanted}
    recent: deque[str] = deque(maxlen=context)
    open_hits: list[_Hit] = []
    counts = {keyword: Count() for keyword, _ in wanted}
    lines = TextFile(path, limit=STREAMED_BYTES).lines(LONGEST_LINE)
    for number, line in enumerate(lines, 1):
        lowered = line.lower()
        short = line[:characters]
        if open_hits:
            for hit in open_hits:
                hit.after.append(short)
            open_hits = [hit for hit in open_hits if len(hit.after) < context]
        for keyword, low in wanted:
            at = lowered.find(low)
            if at < 0:
                continue
            count = counts[keyword]
            count.lines += 1
            count.first += [number] if len(count.first) < most + _MORE else []
            if len(hits[keyword]) < most:
                begin = max(0, at - characters // 2) if len(line) > characters else 0
                hit = _Hit(keyword, number, line[begin:][:characters], tuple(recent))
                hits[keyword].append(hit)
                open_hits += [hit] if context else []
        recent.append(short)
    return [hit.match(characters) for found in hits.values() for hit in found], counts
