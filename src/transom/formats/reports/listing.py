"""What files are taken for: formats, evidence, identity, date, size, and what is not explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.errors import InputError
from transom.evidence.account import file_could_matter
from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.reports.reader import read_report
from transom.formats.reports.readings import (
    Completeness,
    FileReading,
    SectionReading,
    UnexplainedReason,
    UnexplainedShape,
)
from transom.formats.reports.report_format import Provenance

FileStatus = Literal["recognised", "ambiguous", "unknown", "no_report", "unreadable"]
"""`recognised`: it has a report of a known format; `ambiguous`: several formats claim the same
lines; `unknown`: no format fits; `no_report`: source code, an image or the like, by its name;
`unreadable`: see the message.
"""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ListedSection(_Part):
    """A report in a file.

    Attributes:
        format: name of its format.
        title: what the report is.
        tool: the program that printed it.
        seen: from where the format is known: tool, file or documentation.
        evidence: the line by which it was recognised.
        first_line, last_line: its lines, from 1.
        inside: the format of the log that holds it, or "".
        completeness: complete, cut, or no_end if the tool prints no end.
        identity: for each facet (version, design, stage, ...) what the report states.
        measurements: number of its facts.
    """

    format: str
    title: str
    tool: str
    seen: Provenance
    evidence: str
    first_line: int
    last_line: int
    inside: str
    completeness: Completeness
    identity: dict[str, list[str]]
    measurements: int


class ListedUnexplained(_Part):
    """Lines of one shape that no rule explains.

    Attributes:
        text: the first of them.
        reason: trouble, unknown, topic or not_a_number.
        words: the words of trouble or of the matter.
        lines: their numbers, the first fifty.
        count: how many there are.
    """

    text: str
    reason: UnexplainedReason
    words: list[str]
    lines: list[int]
    count: int


class ListedFile(_Part):
    """A file and what it is taken for.

    Attributes:
        path: as it was named, or below the folder that was named.
        message: why the file is ambiguous, unknown, no report or unreadable; or "".
        bytes: its size on disk.
        modified: the time of its last change, in UTC.
        sha256: digest of its bytes; "" if it was not read.
        lines: number of its lines.
        encoding: a remark if the encoding is unusual, or "".
        sections: its reports.
        unexplained: its unexplained lines, by shape.
    """

    path: str
    status: FileStatus
    message: str = ""
    bytes: int = 0
    modified: str = ""
    sha256: str = ""
    lines: int = 0
    encoding: str = ""
    sections: list[ListedSection] = []
    unexplained: list[ListedUnexplained] = []


class FileList(_Part):
    """The document of `transom files`."""

    schema_: Literal["transom.files/1"] = Field("transom.files/1", alias="schema")
    files: list[ListedFile]


def files_below(path: Path) -> Iterator[Path]:
    """Yield a file, or the files of a folder and its folders, by name; hidden ones are left out."""
    if not path.is_dir():
        yield path
        return
    for entry in sorted(path.iterdir()):
        # A link to a folder may lead back to where it stands.
        if entry.name.startswith(".") or (entry.is_dir() and entry.is_symlink()):
            continue
        yield from files_below(entry)


def list_file(path: Path, formats: Sequence[CompiledFormat]) -> ListedFile:
    """Return what a file is taken for."""
    try:
        status = path.stat()
    except OSError as error:
        return ListedFile(path=str(path), status="unreadable", message=_reason(error))
    changed = datetime.fromtimestamp(status.st_mtime, UTC)
    modified = changed.isoformat(timespec="seconds").replace("+00:00", "Z")
    size = status.st_size
    # Not opened: a folder of a project holds many of them, and reading all takes long.
    if not file_could_matter(str(path)):
        message = "its name is that of source code, an image or an output of a build"
        return ListedFile(
            path=str(path), status="no_report", message=message, bytes=size, modified=modified
        )
    try:
        reading = read_report(path, formats)
    except InputError as error:
        return ListedFile(
            path=str(path), status="unreadable", message=str(error), bytes=size, modified=modified
        )
    facts = reading.facts
    return ListedFile(
        path=str(path),
        status=_status(reading),
        message=_message(reading),
        bytes=size,
        modified=modified,
        sha256=facts.sha256 if facts else "",
        lines=facts.lines if facts else 0,
        encoding=(facts.note if facts else None) or "",
        sections=[_section(section) for section in reading.sections],
        unexplained=[_unexplained(shape) for shape in reading.unexplained],
    )


def _reason(error: OSError) -> str:
    return "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)


def _status(reading: FileReading) -> FileStatus:
    """Return the status of a file that was read."""
    # Before the sections: a file with one known and one doubtful report needs somebody to look.
    if reading.ambiguous:
        return "ambiguous"
    return "recognised" if reading.sections else "unknown"


def _message(reading: FileReading) -> str:
    """Return why a file is ambiguous or unknown."""
    for line, names in reading.ambiguous.items():
        return f"line {line} may begin {' or '.join(names)}"
    return "" if reading.sections else "no known report begins in any of its lines"


def _section(section: SectionReading) -> ListedSection:
    identity = dict[str, list[str]]()
    for fact in section.identity.facts:
        values = identity.setdefault(fact.facet, [])
        # A log states its design in many lines.
        if fact.text not in values:
            values.append(fact.text)
    return ListedSection(
        format=section.format,
        title=section.title,
        tool=section.tool,
        seen=section.seen,
        evidence=section.evidence,
        first_line=section.first_line,
        last_line=section.last_line,
        inside=section.inside,
        completeness=section.completeness,
        identity=identity,
        measurements=len(section.measurements),
    )


def _unexplained(shape: UnexplainedShape) -> ListedUnexplained:
    return ListedUnexplained(
        text=shape.text,
        reason=shape.reason,
        words=list(shape.words),
        lines=list(shape.lines),
        count=shape.count,
    )
