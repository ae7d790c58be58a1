"""Running atom A: how a text is handed to it, what is asked of a sandbox, and what is believed
of its answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, cast, get_args

from pydantic import FailFast, TypeAdapter, ValidationError

from transom.checklist.atoms import Entry, Source, Unit
from transom.errors import AtomFailed
from transom.evidence.numbers import PrintedNumber
from transom.evidence.units import factor_to_base, quantity_of
from transom.formats.reports import (
    FactInterest,
    FileReading,
    read_report_pieces,
    shipped_formats,
)
from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.text_files import MAX_TEXT_BYTES, STREAMED_BYTES, TextFile
from transom.sandbox import Level

MAX_ENTRIES = 100_000
MAX_RECORD_CHARS = 16 << 20

# An error for each of a million wrong entries would fill the memory.
_ENTRIES = TypeAdapter(Annotated[list[Entry], FailFast()])
_SOURCES = TypeAdapter(tuple[Source, ...])


class AtomWorker(Protocol):
    """A process that has loaded the atoms `with_pieces`."""

    async def call(self, name: str, args: Mapping[str, object]) -> object: ...

    async def constants(self, names: Iterable[str]) -> dict[str, object]: ...


class AtomRunner(Protocol):
    """Makes workers; `transom.sandbox.Sandbox` is one."""

    @property
    def level(self) -> Level: ...

    def worker(self, code: str) -> AbstractAsyncContextManager[AtomWorker]: ...


@dataclass(frozen=True)
class Scope:
    """Portion that atom A is given at a time; a record begins at each line in which
    `record_start` is found.

    Attributes:
        formats: the report formats by which the scope `report` reads; the shipped ones if empty.
        sought: texts that the scope `report` looks for in each line.
        sought_of_reading: only in lines that may tell of a file that was read.
        harmless: texts of such lines of which a person said that they read no file.
        interest: the measurements that the scope `report` hands over; all of them if None.
    """

    unit: Unit = "file"
    record_start: str | None = None
    formats: tuple[CompiledFormat, ...] = ()
    sought: tuple[str, ...] = ()
    sought_of_reading: bool = False
    harmless: frozenset[str] = frozenset()
    interest: FactInterest | None = None

    def open(self, path: Path) -> TextFile:
        """Open the file with limits: a text handed over at once must fit into memory."""
        if self.unit == "file":
            return TextFile(path, limit=MAX_TEXT_BYTES)
        return TextFile(path, limit=STREAMED_BYTES, longest_line=MAX_RECORD_CHARS)


@dataclass(frozen=True)
class Seen:
    """Answer of atom A for a text or a piece of it: unchecked, and the last line that it may
    speak of.
    """

    entries: list[object]
    lines: int


async def declared(worker: AtomWorker) -> tuple[Scope, tuple[Source, ...]]:
    """Return the portion that the atoms want at a time, and their kinds of files.

    Raises:
        AtomFailed: `SCOPE` is none of the three, a record has no `RECORD_START`, or `SOURCES` has
            not its shape.
    """
    constants = await worker.constants(["SCOPE", "RECORD_START", "SOURCES"])
    unit, start = constants.get("SCOPE", "file"), constants.get("RECORD_START")
    # What the atoms declare is data of untrusted code, and checked like an answer.
    wrong = ""
    if unit not in get_args(Unit):
        wrong = f"SCOPE is {unit!r}, not 'file', 'line' or 'record'"
    elif unit == "record" and not (isinstance(start, str) and start):
        wrong = "SCOPE is 'record', but RECORD_START is no regular expression"
    try:
        sources = _SOURCES.validate_python(constants.get("SOURCES", ()))
    except ValidationError as error:
        wrong = wrong or f"SOURCES has not its shape: {_first(error)}"
    if wrong:
        raise AtomFailed(wrong, kind="schema", place="atoms.py")
    return Scope(cast("Unit", unit), cast("str", start) if unit == "record" else None), sources


async def extract(
    worker: AtomWorker,
    scope: Scope,
    text: TextFile,
    source_file: str,
    readings: dict[str, FileReading] | None = None,
) -> list[Entry]:
    """Return the entries that atom A sees in a file.

    Args:
        readings: takes what the report formats read of the file, for atoms of the scope `report`.

    Raises:
        AtomFailed: it crashed, took too long, sees too much, or its entries have not their shape or
            point outside of the file.
        InputError: the file cannot be read.
    """
    entries: list[Entry] = []

    def take(extracted: Seen) -> None:
        entries.extend(_checked(extracted, source_file))
        if len(entries) > MAX_ENTRIES:
            raise AtomFailed(
                f"it sees more than {MAX_ENTRIES} things in one file",
                kind="output",
                place="atoms.py",
            )

    reading = await hand_over(worker, scope, text.pieces(), source_file, take)
    if reading is not None and readings is not None:
        readings[source_file] = reading
    return entries


async def hand_over(
    worker: AtomWorker,
    scope: Scope,
    pieces: Iterator[str],
    source_file: str,
    take: Callable[[Seen], None],
) -> FileReading | None:
    """Give a text to atom A as the scope wants it, and each answer to `take`.

    Returns:
        What the report formats read of it, for atoms of the scope `report`.

    Raises:
        AtomFailed: it crashed, took too long, or answered something else than a list.
        InputError: as `pieces` does.
    """
    reading: FileReading | None = None
    if scope.unit in ("file", "report"):
        if scope.unit == "report":
            reading = await asyncio.to_thread(
                read_report_pieces,
                pieces,
                source_file,
                scope.formats or shipped_formats(),
                scope.sought,
                of_reading=scope.sought_of_reading,
                interest=scope.interest,
            )
            if scope.harmless:
                # Without these lines the log is judged as one that never had them.
                reading.sought[:] = [
                    fact for fact in reading.sought if fact.text not in scope.harmless
                ]
            text, lines = measured_lines(reading), reading.lines
        else:
            text = await asyncio.to_thread("".join, pieces)
            lines = text.count("\n") + 1
        answer = await worker.call("extract_context", {"text": text, "source_file": source_file})
        if not isinstance(answer, list):
            message = f"extract_context returned {type(answer).__name__}, not a list"
            raise AtomFailed(message, kind="schema", place="atoms.py")
        take(Seen(answer, lines))
        return reading
    line_count = 0
    async with _ahead(pieces) as following:
        piece: str | None = await following() or ""
        while piece is not None:
            coming = await following()
            extracted = await _see(
                worker, scope, piece, source_file, line_count, last=coming is None
            )
            piece, line_count = coming, extracted.lines
            take(extracted)
    return None


def measured_lines(reading: FileReading) -> str:
    """Return the measurements of a report for atoms of the scope `report`, one JSON object a line.

    A number is given in the base unit of its quantity (s, W, m2, ratio); `problem` says why there
    is none.
    """
    lines = list[str]()
    groups = [(section.format, section.measurements) for section in reading.sections]
    for report_format, measurements in [*groups, ("", reading.sought)]:
        for measurement in measurements:
            printed = measurement.number
            row: dict[str, object] = {
                "name": measurement.name,
                "format": report_format,
                "line": measurement.line,
                "scope": dict(measurement.scope),
                "value": measurement.value,
                "text": measurement.text,
                "number": None,
                "quantity": "",
                "problem": None,
                "content": measurement.content,
            }
            # Base units, so that a checker compares 1.2 ns and 1200 ps alike.
            if isinstance(printed, PrintedNumber):
                factor = factor_to_base(printed.unit)
                row["quantity"] = quantity_of(printed.unit) or ""
                row["number"] = float(printed.value * factor) if factor else float(printed.value)
            elif printed is not None:
                row["problem"] = printed.reason
            lines.append(json.dumps(row, ensure_ascii=False))
    return "\n".join(lines)


async def _see(
    worker: AtomWorker, scope: Scope, piece: str, source_file: str, line_count: int, *, last: bool
) -> Seen:
    """Give one piece to `transom_piece`."""
    answer = await worker.call(
        "transom_piece",
        {
            "text": piece,
            "source_file": source_file,
            "record_start": scope.record_start,
            "at": line_count,
            "last": last,
            "most": MAX_RECORD_CHARS,
        },
    )
    match answer:
        case {"entries": list() as entries, "problems": []}:
            return Seen(
                entries,
                line_count + piece.count("\n") + (0 if piece.endswith("\n") or not piece else 1),
            )
        case {"problems": [str() as problem]}:
            raise AtomFailed(problem, kind="schema", place="atoms.py")
    raise AtomFailed("the answer has not its shape", kind="schema", place="atoms.py")


@asynccontextmanager
async def _ahead(pieces: Iterator[str]) -> AsyncIterator[Callable[[], Awaitable[str | None]]]:
    """Read the next piece in a thread while the ones before are being looked at."""

    def read() -> asyncio.Task[str | None]:
        return asyncio.create_task(asyncio.to_thread(next, pieces, None))

    coming = read()

    async def following() -> str | None:
        nonlocal coming
        piece = await coming
        if piece is not None:
            coming = read()
        return piece

    try:
        yield following
    finally:
        await asyncio.wait([coming])
        coming.exception()  # of a piece that nobody wants any more


def _checked(extracted: Seen, source_file: str) -> list[Entry]:
    try:
        entries = _ENTRIES.validate_python(extracted.entries, strict=True)
    except ValidationError as error:
        raise AtomFailed(
            f"an entry has not its shape: {_first(error)}", kind="schema", place="atoms.py"
        ) from error
    for entry in entries:
        # An entry of another file would be judged, and waived, as that one's.
        if entry.source_file != source_file:
            raise AtomFailed(
                f"an entry names another source_file ({entry.source_file!r})", kind="schema"
            )
        # A report that points to a line which is not there cannot be verified by a person.
        if entry.line_number is not None and entry.line_number > extracted.lines:
            raise AtomFailed(
                f"an entry points to line {entry.line_number} of {extracted.lines}", kind="schema"
            )
    return entries


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
