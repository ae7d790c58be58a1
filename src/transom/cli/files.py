"""`transom files`: what Transom takes each file for, and by what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.app import root
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.formats.reports import shipped_formats
from transom.formats.reports.listing import (
    FileList,
    ListedFile,
    ListedSection,
    files_below,
    list_file,
)

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders of files.")]
_SHOWN_UNEXPLAINED = 3
_LONGEST_TEXT = 80
_COMPLETENESS = {
    "complete": "complete",
    "cut": "its end is missing",
    "no_end": "this report has no end",
}
_PROVENANCE = {
    "tool": "",
    "file": "; the format is known from files of other people",
    "documentation": "; the format is known from documentation, not seen from the tool",
}


@command(root, "files", example="transom files reports/ sta.log")
async def files(session: Session, paths: Paths) -> int:
    """Show what each file is taken for: report formats, evidence, identity, date, size.

    Formats are recognised by content, wherever in a file they begin. A file that no format fits is
    unknown, and one that several formats claim is ambiguous.
    """
    formats = shipped_formats()
    listed = list[ListedFile]()
    for path in paths:
        # A folder stands for all files below it.
        for file in files_below(path):
            listed.append(list_file(file, formats))
    document = FileList(files=listed).model_dump(by_alias=True, mode="json")
    lines = list[str]()
    for entry in listed:
        lines += _lines_of(entry)
    code = session.show(document, *lines)
    # The other files are listed all the same.
    is_unreadable = any(entry.status == "unreadable" for entry in listed)
    return 2 if is_unreadable else code


def _lines_of(entry: ListedFile) -> list[str]:
    """Return the lines that show one file."""
    about = [f"{entry.bytes:,} bytes", entry.modified] if entry.modified else []
    if entry.encoding:
        about.append(entry.encoding)
    lines = [f"{entry.path}  {', '.join(about)}".rstrip()]
    if entry.message:
        lines.append(f"  {entry.status}: {entry.message}")
    for section in entry.sections:
        lines += _lines_of_section(section)
    if not entry.sections:
        # Nobody can say what a line of an unknown report means.
        return lines
    for shape in entry.unexplained[:_SHOWN_UNEXPLAINED]:
        text = shape.text[:_LONGEST_TEXT]
        times = f" ({shape.count} lines)" if shape.count > 1 else ""
        lines.append(f"  not explained: line {shape.lines[0]}{times}: {text}")
    hidden = len(entry.unexplained) - _SHOWN_UNEXPLAINED
    if hidden > 0:
        lines.append(f"  ... and {hidden} more kinds of unexplained lines; see --format json")
    return lines


def _lines_of_section(section: ListedSection) -> list[str]:
    """Return the lines that show one report of a file."""
    place = f"lines {section.first_line}-{section.last_line}"
    inside = f" inside {section.inside}" if section.inside else ""
    state = _COMPLETENESS[section.completeness] + _PROVENANCE[section.seen]
    lines = [
        f"  {section.format}{inside}: {section.title}; {place}; {state}",
        f"    by line {section.first_line}: {section.evidence[:_LONGEST_TEXT]}",
    ]
    # A report may state its tool, design or corner.
    stated = [f"{facet} {' / '.join(texts)}" for facet, texts in section.identity.items()]
    if stated:
        lines.append(f"    {', '.join(stated)}")
    return lines
