"""Self-contained HTML reports: the verdict first, evidence with its lines, no scripts and no external links.

A product gives the contents (`Page`); `templates/page.html` gives the layout. All texts are escaped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from transom.errors import InputError
from transom.formats.text_files import ReadAgain, TextFile

Tone = Literal["good", "bad", "warn", "plain"]

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_WIDEST = 400  # characters of a line of evidence, at most


@dataclass(frozen=True)
class Line:
    """A line of a source; `marked` lines are the evidence, the others its context."""

    number: int
    text: str
    marked: bool = False


@dataclass(frozen=True)
class Entry:
    """One judged thing.

    Attributes:
        title: its name.
        tone: its colour.
        place: `file:line`.
        note: the reason of the judgement.
        facts: names and values.
        lines: the evidence in its context.
    """

    title: str
    tone: Tone = "plain"
    place: str = ""
    note: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Table:
    """A head and rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A heading with text, entries and a table, all optional. A closed section opens at a click."""

    title: str
    text: str = ""
    entries: tuple[Entry, ...] = ()
    table: Table | None = None
    closed: bool = False


@dataclass(frozen=True)
class Part:
    """One verdict and its grounds."""

    title: str
    verdict: str
    tone: Tone
    lead: str = ""
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Page:
    """A report; several parts get a table of links to them."""

    title: str
    parts: tuple[Part, ...]
    footer: str = ""


def html_report(page: Page) -> bytes:
    """Return the page as one HTML document in UTF-8."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  only reports need it

    # Everything is escaped, whatever the template's name: all texts on a page are untrusted.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html").render(page=page).encode("utf-8", "backslashreplace")


def context_lines(path: Path, numbers: Collection[int], around: int = 2) -> dict[int, tuple[Line, ...]]:
    """Return lines of a file with their neighbours, read in one pass; {} if it cannot be read any more.

    Args:
        path: a text file, compressed or not.
        numbers: 1-based numbers of the lines of evidence.
        around: number of context lines before and after each.
    """
    wanted = {near for one in numbers for near in range(one - around, one + around + 1) if near > 0}
    if not wanted:
        return {}
    file, last = TextFile(path), max(wanted)
    for _ in range(3):  # a wrong encoding is corrected in the next pass
        try:
            texts = {at: text for at, text in _numbered(file, last) if at in wanted}
        except ReadAgain:
            continue
        except InputError:
            return {}
        found = {one: [at for at in range(one - around, one + around + 1) if at in texts] for one in numbers}
        return {
            one: tuple(Line(at, texts[at], at == one) for at in near) for one, near in found.items() if one in texts
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
