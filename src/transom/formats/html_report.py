"""One-file HTML reports: the verdict first, evidence in its lines, no script and no address of anything outside.

What stands on the page is a `Page`; how it looks is `templates/page.html`. All texts are escaped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transom.errors import InputError
from transom.formats.report_page import Entry, Page
from transom.formats.text_files import ReadAgain, TextFile

SHOWN = 500
"""Entries of one section on a page."""

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_WIDEST = 400  # characters of a line of evidence


@dataclass(frozen=True)
class Line:
    """A line of a source; `marked` is the evidence, the others are its neighbours."""

    number: int
    text: str
    marked: bool = False


def html_report(page: Page, folders: Sequence[Path] = ()) -> bytes:
    """The page as one HTML document in UTF-8.

    Args:
        folders: where the files of entries may lie; evidence stands between its neighbours where the file still has it.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  only reports need it

    # Files are escaped whatever their name: nothing on a page is ours to trust.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    context = _context(page, folders)
    template = environment.get_template("page.html")
    text = template.render(page=page, shown=SHOWN, lines_of=lambda entry: _evidence(entry, context))
    return text.encode("utf-8", "backslashreplace")


def _context(page: Page, folders: Sequence[Path]) -> dict[tuple[str, int], tuple[Line, ...]]:
    """(file, line) -> the line between its neighbours; each file is read once."""
    wanted: dict[str, set[int]] = {}
    for section in (section for part in page.parts for section in part.sections):
        for one in section.entries[:SHOWN]:
            if one.file and one.line and one.content:
                wanted.setdefault(one.file, set()).add(one.line)
    found: dict[tuple[str, int], tuple[Line, ...]] = {}
    for name, numbers in wanted.items():
        path = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if path:
            found |= {(name, number): lines for number, lines in context_lines(path, numbers).items()}
    return found


def _evidence(entry: Entry, context: Mapping[tuple[str, int], tuple[Line, ...]]) -> tuple[Line, ...]:
    """The lines that an entry shows: those of the file, or, where it is gone or another one by now, what was read."""
    first = entry.content.strip().partition("\n")[0]
    if not first or not entry.line:
        return ()
    lines = context.get((entry.file or "", entry.line), ())
    there = any(line.marked and first in line.text for line in lines)
    return lines if there else (Line(entry.line, entry.content, marked=True),)


def context_lines(path: Path, numbers: Collection[int], around: int = 2) -> dict[int, tuple[Line, ...]]:
    """Lines of a file with their neighbours, in one pass; nothing where it cannot be read any more.

    Args:
        path: a text file, compressed or not.
        numbers: 1-based lines of evidence.
        around: how many lines before and behind each.
    """
    wanted = {near for one in numbers for near in range(one - around, one + around + 1) if near > 0}
    if not wanted:
        return {}
    file, last = TextFile(path), max(wanted)
    for _ in range(3):  # an encoding that proves wrong is known at the next pass
        try:
            there = {at: text for at, text in _numbered(file, last) if at in wanted}
        except ReadAgain:
            continue
        except InputError:
            return {}
        found = {one: [at for at in range(one - around, one + around + 1) if at in there] for one in numbers}
        return {
            one: tuple(Line(at, there[at], at == one) for at in near) for one, near in found.items() if one in there
        }
    return {}


def _numbered(file: TextFile, last: int) -> Iterator[tuple[int, str]]:
    at = 0
    for piece in file.pieces():
        for text in piece.removesuffix("\n").split("\n"):
            at += 1
            yield at, text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"
            if at >= last:
                return
