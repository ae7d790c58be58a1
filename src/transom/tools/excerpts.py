"""Bounded pieces of a text file, read line by line and never as a whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transom.formats.text_files import STREAMED_BYTES, TextFile
from transom.tools.files import LONGEST_LINE

# Matches beyond the returned ones whose line numbers are reported.
_MORE = 10


@dataclass(frozen=True)
class Slice:
    """Lines of a file.

    Attributes:
        lines: without their ends.
        last: number of the last line, or of the file's last line if the file is shorter.
        is_complete: whether these are all requested lines, uncut.
        goes_on: whether the file has lines after them.
        encoding: of the file.
    """

    lines: tuple[str, ...]
    last: int
    is_complete: bool
    goes_on: bool
    encoding: str

    @property
    def text(self) -> str:
        return "".join([f"{line}\n" for line in self.lines])


@dataclass(frozen=True)
class KeywordMatch:
    """A line that holds a keyword, with its number and as many neighbours as fit."""

    keyword: str
    line_number: int
    content: str


@dataclass
class KeywordCount:
    """The number of lines that hold a keyword, and the numbers of the first of them."""

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

    def match(self, characters: int) -> KeywordMatch:
        """Return the line with its nearest neighbours on both sides, as many as fit."""
        lines = deque([self.line])
        # In turn from both sides, nearest first. A side ends with its first line that is too long,
        # so that no gap arises.
        remaining = characters - len(self.line)
        sides = [(list(self.before), lines.appendleft), (self.after[::-1], lines.append)]
        while any(side for side, _ in sides):
            for side, add in sides:
                if side and len(side[-1]) < remaining:
                    remaining -= len(side[-1]) + 1
                    add(side.pop())
                else:
                    side.clear()
        return KeywordMatch(self.keyword, self.line_number, "\n".join(lines))


def cut_out(path: Path, first: int, last: int, *, most_bytes: int, line_characters: int) -> Slice:
    """Return the lines `first` to `last`, counted from 1, as far as the bytes suffice."""
    file = TextFile(path, limit=STREAMED_BYTES)
    numbered = enumerate(file.lines(LONGEST_LINE), 1)
    lines: list[str] = []
    number, is_complete = 0, True
    for number, line in numbered:
        if number < first:
            continue
        cut_line = line[:line_characters]
        most_bytes -= len(cut_line.encode()) + 1
        if most_bytes < 0:
            return Slice(tuple(lines), number - 1, False, True, file.encoding)
        is_complete = is_complete and len(cut_line) == len(line)
        lines.append(cut_line)
        if number >= last:
            break
    # One line more is read, to know whether there is any.
    goes_on = next(numbered, None) is not None
    return Slice(tuple(lines), number, is_complete, goes_on, file.encoding)


def search(
    path: Path, keywords: Sequence[str], *, context: int, max_matches: int, characters: int
) -> tuple[list[KeywordMatch], dict[str, KeywordCount]]:
    """Return the first matches of each keyword, keyword by keyword, and the count of each.

    Args:
        path: the file.
        keywords: plain texts, whose case is ignored.
        context: lines before and after a match.
        max_matches: matches that are returned for a keyword.
        characters: limit on the length of a match's content.

    Raises:
        InputError: the file cannot be read.
    """
    hits: dict[str, list[_Hit]] = {keyword: [] for keyword in keywords}
    counts = {keyword: KeywordCount() for keyword in hits}
    recent: deque[str] = deque(maxlen=context)
    # Hits whose following lines are still to come.
    open_hits: list[_Hit] = []
    lines = TextFile(path, limit=STREAMED_BYTES).lines(LONGEST_LINE)
    for number, line in enumerate(lines, 1):
        lowered = line.lower()
        short = line[:characters]
        if open_hits:
            for hit in open_hits:
                hit.after.append(short)
            open_hits = [hit for hit in open_hits if len(hit.after) < context]
        for keyword, keyword_hits in hits.items():
            position = lowered.find(keyword.lower())
            if position < 0:
                continue
            count = counts[keyword]
            count.lines += 1
            if len(count.first) < max_matches + _MORE:
                count.first.append(number)
            if len(keyword_hits) < max_matches:
                # Of a long line the part around the keyword.
                start = max(0, position - characters // 2) if len(line) > characters else 0
                hit = _Hit(keyword, number, line[start:][:characters], tuple(recent))
                keyword_hits.append(hit)
                if context:
                    open_hits.append(hit)
        recent.append(short)
    matches = []
    for keyword_hits in hits.values():
        matches += [hit.match(characters) for hit in keyword_hits]
    return matches, counts
