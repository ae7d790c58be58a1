"""Lines that a person marks in the input files of an item, and what they teach.

`check teach` collects marks such as `good sta.log:118`; here they become lines of the files, a
lesson (`teach`), and a report format in the person's own folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from transom.checklist.item import Item
from transom.checklist.line_patterns import Mark
from transom.checklist.taught_format import format_text
from transom.checklist.teach import (
    Lesson,
    Marked,
    clear_end,
    fitting,
    learn,
    limited_line,
)
from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.runs import write_file
from transom.runs.artifact import set_aside

Marks: TypeAlias = Sequence[tuple[str, str]]
"""What a line is (`good`, `bad`, `beside`, `end`), and `FILE:LINE`. `end` with `none` says that no
line ends a whole log.
"""

MARK_NAMES: Final[tuple[Mark, ...]] = get_args(Mark)
END: Final = "end"
NO_END: Final = "none"
LIMIT: Final = "limit"
_LIMIT: Final = re.compile(
    r"(?P<place>(?:[^:<>=]*+:)*?\d++)(?::(?P<number>[-+]?\d[\d.]*+%?))?\s*+(?P<limit>[<>]=?.*)"
)

NumberedLine: TypeAlias = tuple[int, str]


@dataclass(frozen=True)
class Taught:
    """What the marks teach so far.

    Attributes:
        lesson: the patterns.
        open_ended: the files in which no line shows that they are complete, unless the person said
            that there is no such line.
    """

    lesson: Lesson
    open_ended: tuple[str, ...]


@dataclass(frozen=True)
class FileMatches:
    """What a lesson matches in one file.

    Attributes:
        lines: for each mark, and for "unread", the lines that it fits. An unread line must be read
            and fits no pattern.
        end: the lines that show that the file is complete.
        count: the number of lines that are not blank.
    """

    lines: Mapping[Mark | Literal["unread"], Sequence[NumberedLine]]
    end: Sequence[NumberedLine]
    count: int

    def is_wide(self, mark: str) -> bool:
        """Return whether a mark that counts fits suspiciously many lines."""
        if mark not in ("good", "bad") or self.count <= 20:
            return False
        return len(self.lines[cast("Mark", mark)]) * 2 > self.count


class MarkedLogs:
    """The input files of an item, and the lines of them that a person names.

    Args:
        paths: the files.
        folder: where relative paths of other files start.
    """

    def __init__(self, paths: Sequence[Path], folder: Path) -> None:
        name_counts = Counter(path.name for path in paths)
        self.files: dict[str, Path] = {}
        for path in paths:
            self.files[path.name if name_counts[path.name] == 1 else str(path)] = path
        self.texts = {name: _lines_of(path) for name, path in self.files.items()}
        self._folder = folder

    def line(self, place: str) -> Marked:
        """Return the line that `FILE:LINE` names.

        FILE is the name of an input file, or the path of any other file; without it, the first
        input file is meant. Words that name no place are a line as such a log would hold it.

        Raises:
            InputError: there is no such line.
        """
        name, _, number = place.rpartition(":")
        name = name or next(iter(self.files))
        path = self.files.get(name) or self._folder / name
        is_place = number.isdecimal() and path.is_file()
        if not is_place and len(place.split()) > 1:
            # Today's log may hold no bad line; a person knows how the tool would print it.
            return Marked("beside", place, place)
        if not is_place:
            hint = "write FILE:LINE, with an input file's name or a path from here"
            raise InputError("names no line", place=place, hint=hint)
        lines = _lines_of(path)
        if not 1 <= int(number) <= len(lines):
            raise InputError(f"there are {len(lines)} lines", place=place, hint="count from 1")
        # A path and a name may mean the same file, and marks of one line must meet.
        for input_name, file in self.files.items():
            if file == path.resolve():
                name = input_name
                break
        return Marked("beside", lines[int(number) - 1], name, int(number))

    def limited_line(self, mark: str) -> Marked:
        """Return the line of a limit, such as `cov.log:12 >= 98` or `cov.log:12:61.2 < 80`.

        Raises:
            InputError: there is no such line or number, or the limit cannot be read.
        """
        match = _LIMIT.fullmatch(mark.strip())
        if match is None:
            hint = "write FILE:LINE >= 98; the signs are >=, >, <= and <"
            raise InputError(f"{mark!r} is no limit", place=mark, hint=hint)
        line = self.line(match["place"])
        limit = f"{match['number'] or ''} {match['limit']}"
        limited = limited_line(line.text, match["place"], limit)
        return replace(limited, file=line.file, line=line.line)

    def _last_line(self, name: str) -> int:
        """Return the number of the last line of a file that is not blank."""
        texts = self.texts.get(name, [])
        return max((number for number, text in enumerate(texts, 1) if text.strip()), default=0)

    def learn(self, marks: Marks) -> Taught:
        """Return what the marked lines teach.

        Raises:
            InputError: a mark names no line, marks contradict each other, or other lines look like
                the end of a file.
        """
        ends: list[Marked] = []
        # A line that is marked again is what it was called last.
        marked: dict[tuple[str, int], Marked] = {}
        for mark, place in marks:
            if place == NO_END:
                continue
            if mark == LIMIT:
                limited = self.limited_line(place)
                marked[limited.file, limited.line] = limited
                continue
            line = self.line(place)
            if mark == END:
                ends.append(line)
            else:
                marked[line.file, line.line] = replace(line, mark=cast("Mark", mark))
        lines = list(marked.values())
        # Learned once to see which files are open, then again with the ends found for them.
        lesson = learn(lines, ends)
        # A last line that plainly ends a log need not be marked.
        for name in self._open_ended(lesson):
            number = clear_end(self.texts[name])
            if number:
                ends.append(Marked("beside", self.texts[name][number - 1], name, number))
        lesson = learn(lines, ends)
        is_last = {end.line == self._last_line(end.file) for end in ends} == {True}
        # A row may be the end as well; then only its presence is asked for.
        rows = [line.text for line in lesson.marked if line.mark in ("good", "bad")]
        is_own_line = not fitting(lesson.complete, rows)
        lesson = replace(lesson, is_end_last=is_last and is_own_line)
        if (END, NO_END) in marks:
            return Taught(lesson, ())
        return Taught(lesson, tuple(self._open_ended(lesson)))

    def matches(self, lesson: Lesson) -> dict[str, FileMatches]:
        """Return what a lesson matches in each file."""
        matches = {}
        for name, texts in self.texts.items():
            lines: dict[Mark | Literal["unread"], list[NumberedLine]] = {}
            for kind in (*MARK_NAMES, "unread"):
                lines[cast("Mark", kind)] = []
            end = []
            count = 0
            for number, text in enumerate(texts, 1):
                # The end may be a row as well, so both are counted.
                if fitting(lesson.complete, [text]):
                    end.append((number, text))
                if text.strip():
                    count += 1
                    kind_of_line = lesson.read(text)
                    if kind_of_line is not None:
                        lines[kind_of_line].append((number, text))
            matches[name] = FileMatches(lines, end, count)
        return matches

    def _open_ended(self, lesson: Lesson) -> list[str]:
        """Return the files in which no line shows that they are complete.

        Raises:
            InputError: several lines of a file look like its end.
        """
        end_counts = {name: fitting(lesson.complete, lines) for name, lines in self.texts.items()}
        for end in lesson.ends:
            if end_counts.get(end.file, 0) > 1:
                hint = "name a line that stands there once"
                place = f"{end.file}:{end.line}"
                raise InputError("other lines are like this end", place=place, hint=hint)
        return [name for name, count in end_counts.items() if not count]


def format_path(item: Item) -> str:
    """Return the path of the report format that is taught for an item, from the item's folder."""
    name = re.sub(r"[^a-z0-9]+", "_", item.item_id.lower()).strip("_")
    return f"formats/taught.{name}.yaml"


def write_format(item: Item, lesson: Lesson) -> Path:
    """Write a lesson as a report format beside the item; an earlier one is set aside."""
    target = item.path.parent / format_path(item)
    # Earlier marks may have been right, so nothing is overwritten.
    if target.exists():
        set_aside(target)
    target.parent.mkdir(exist_ok=True)
    write_file(target, format_text(target.stem, item.description, lesson).encode())
    return target


def _lines_of(path: Path) -> list[str]:
    return [line.rstrip("\r") for line in TextFile(path).whole().removesuffix("\n").split("\n")]
