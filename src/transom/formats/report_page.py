"""The contents of a report for people (`Page`), and its form as text; `html_report` has its form
as HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Tone: TypeAlias = Literal["pass", "fail", "error", "warn", "dim"]
Style: TypeAlias = Callable[[Tone, str], str]
"""Returns a text in the style of its tone."""

SHOWN = 20
"""Entries of one section in a text, at most."""

_FEW = 5  # good entries that are listed even beside bad ones

_WIDTH = 300


@dataclass(frozen=True)
class PageEntry:
    """One judged thing.

    Attributes:
        title: its name.
        file, line: its place, as far as known.
        note: the reason of the judgement; omitted in a text if the tone is `pass`.
        facts: names and values.
        content: the line of evidence as read.
    """

    title: str
    tone: Tone = "dim"
    file: str | None = None
    line: int | None = None
    note: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    content: str = ""

    @property
    def place(self) -> str:
        return place(self.file, self.line)


@dataclass(frozen=True)
class Section:
    """A heading with entries and lines. A closed section opens at a click; one without a title
    comes first.
    """

    title: str
    entries: tuple[PageEntry, ...] = ()
    text: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True)
class VerdictPart:
    """One verdict and its grounds.

    Attributes:
        lead: the sentence or the counts beside the verdict.
        question: what was asked.
        reason: why there is no answer, in one line; only on a page.
        made: how the verdict was made.
    """

    title: str
    verdict: str
    tone: Tone
    lead: str = ""
    sections: tuple[Section, ...] = ()
    made: tuple[str, ...] = ()
    question: str = ""
    reason: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table above the parts of a page.

    Attributes:
        heads: the heads of its columns.
        rows: its rows; each cell is a text with its tone, or without one if it is None.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[tuple[str, Tone | None], ...], ...]


@dataclass(frozen=True)
class Page:
    """A report; several parts get a table of links to them, below their `totals`.

    Attributes:
        trend: how the parts changed since an earlier report.
        table: a table of all parts, such as blocks and items.
    """

    title: str
    parts: tuple[VerdictPart, ...]
    footer: str = ""
    totals: str = ""
    trend: str = ""
    table: PageTable | None = None


def place(file: str | None, line: int | None) -> str:
    """Return `FILE:LINE`, as far as known."""
    return f"{file or ''}" if line is None else f"{file or ''}:{line}"


# A terminal passes a function of this shape that colours the text.
def plain(tone: Tone, text: str) -> str:  # noqa: ARG001
    """Return the text without colour, for pipes and files."""
    return text


def text_of(part: VerdictPart, style: Style = plain, *, folded: bool = False) -> str:
    """Return a part as text with a final newline: the verdict first, each section below a blank
    line.

    Args:
        part: the part.
        style: colours a text.
        folded: whether closed sections of many good entries are counted only.
    """
    return "\n".join(_lines(part, style, folded)) + "\n"


def _lines(part: VerdictPart, style: Style, folded: bool) -> Iterator[str]:
    yield "  ".join(filter(None, (style(part.tone, part.verdict), part.title, part.lead)))
    if part.question:
        yield f"  {short(part.question)}"
    for section in part.sections:
        count = len(section.entries)
        is_good = all(entry.tone == "pass" for entry in section.entries)
        if folded and section.closed and is_good and count > _FEW:
            yield f"\n{section.title} ({count}): listed with -v"
            continue
        if section.title:
            yield f"\n{section.title}" + (f" ({count})" if count else "")
        for entry in section.entries[:SHOWN]:
            yield from _entry(entry, style)
        if count > SHOWN:
            yield f"  … and {count - SHOWN} more (--format json lists all)"
        yield from (f"  {short(line)}" for line in section.text)
    yield from ("", *(style("dim", line) for line in part.made)) if part.made else ()


def _entry(entry: PageEntry, style: Style) -> Iterator[str]:
    prefix = "error: " if entry.tone == "error" else ""
    place = f"{short(entry.place)}: " if entry.place else ""
    line = f"  {prefix}{place}{short(entry.title)}"
    yield (
        line if entry.tone == "fail" else style("dim" if entry.tone == "pass" else entry.tone, line)
    )
    if entry.note and entry.tone != "pass":
        yield f"      {short(entry.note)}"
    yield from (style("dim", f"      {name} {short(value)}") for name, value in entry.facts)


def short(text: str) -> str:
    """Return a text on one line without escape sequences, which logs may have and a terminal
    must not get.
    """
    flat = "".join(
        character if character.isprintable() else "·" for character in " ".join(text.split())
    )
    return flat if len(flat) <= _WIDTH else f"{flat[: _WIDTH - 1]}…"
