"""Self-contained HTML reports: the verdict first, evidence with its lines, no scripts and no
external links.

The contents are a `Page`; the layout is `templates/page.html`. All texts are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transom.errors import InputError
from transom.formats.report_page import Page, PageEntry, VerdictPart
from transom.formats.text_files import TextFile

SHOWN = 500
"""Entries of one section on a page, at most."""

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_WIDEST = 400  # characters of a line of evidence, at most


@dataclass(frozen=True)
class SourceLine:
    """A line of a source; `marked` lines are the evidence, the others its context."""

    number: int
    text: str
    marked: bool = False


def html_report(page: Page, folders: Sequence[Path] = ()) -> bytes:
    """Return the page as one HTML document in UTF-8.

    Args:
        folders: folders to search for the files of entries; evidence is shown in its context if the
            file still has it.
    """
    # Only reports need it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    # Everything is escaped, whatever the template's name: all texts on a page are untrusted.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )

    def find(name: str) -> Path | None:
        return next((folder / name for folder in folders if (folder / name).is_file()), None)

    template = environment.get_template("page.html")
    lines_of = evidence_lines(page.parts, find)
    text = template.render(page=page, shown=SHOWN, lines_of=lines_of)
    return text.encode("utf-8", "backslashreplace")


def evidence_lines(
    parts: Sequence[VerdictPart], find: Callable[[str], Path | None]
) -> Callable[[PageEntry], tuple[SourceLine, ...]]:
    """Return a function that returns the lines of an entry of the parts, with their neighbours.

    Args:
        parts: the parts of a page.
        find: returns the path of a file that an entry names; None for one that is not read.
    """
    context = _context(parts, find)
    return lambda entry: _evidence(entry, context)


def _context(
    parts: Sequence[VerdictPart], find: Callable[[str], Path | None]
) -> dict[tuple[str, int], tuple[SourceLine, ...]]:
    """Return (file, line) -> the line with its neighbours; each file is read once."""
    numbers_of_file: dict[str, set[int]] = {}
    for section in (section for part in parts for section in part.sections):
        for entry in section.entries[:SHOWN]:
            if entry.file and entry.line and entry.content:
                numbers_of_file.setdefault(entry.file, set()).add(entry.line)
    context: dict[tuple[str, int], tuple[SourceLine, ...]] = {}
    for name, numbers in numbers_of_file.items():
        if path := find(name):
            context |= {
                (name, number): lines for number, lines in context_lines(path, numbers).items()
            }
    return context


def _evidence(
    entry: PageEntry, context: Mapping[tuple[str, int], tuple[SourceLine, ...]]
) -> tuple[SourceLine, ...]:
    """Return the lines of an entry: from the file, or, if it is gone or has changed, the text as
    it was read.
    """
    first = entry.content.strip().partition("\n")[0]
    if not first or not entry.line:
        return ()
    lines = context.get((entry.file or "", entry.line), ())
    is_current = any(line.marked and first in line.text for line in lines)
    return lines if is_current else (SourceLine(entry.line, entry.content, marked=True),)


def context_lines(
    path: Path, numbers: Collection[int], around: int = 2
) -> dict[int, tuple[SourceLine, ...]]:
    """Return lines of a file with their neighbours, read in one pass; {} if it cannot be read any
    more.

    Args:
        path: a text file, compressed or not.
        numbers: 1-based numbers of the lines of evidence.
        around: number of context lines before and after each.
    """
    wanted_numbers = {
        near
        for evidence_line in numbers
        for near in range(evidence_line - around, evidence_line + around + 1)
        if near > 0
    }
    if not wanted_numbers:
        return {}
    max_wanted = max(wanted_numbers)
    texts: dict[int, str] = {}
    try:
        # One character more than is shown tells whether a line is cut.
        for number, text in enumerate(TextFile(path).lines(_WIDEST + 1), 1):
            if number in wanted_numbers:
                texts[number] = text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"
            if number >= max_wanted:
                break
    except InputError:
        return {}
    lines: dict[int, tuple[SourceLine, ...]] = {}
    for number in numbers:
        if number in texts:
            near = range(number - around, number + around + 1)
            lines[number] = tuple(
                SourceLine(other, texts[other], other == number) for other in near if other in texts
            )
    return lines
