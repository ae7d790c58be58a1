"""Traces read back: for `transom trace list` and `transom trace show`."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from transom.errors import InputError
from transom.telemetry.rows import SpanRow, row_of

_BAR = 24
_NO_SPAN = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class TraceRow:
    """One trace in a list: its id, its file, the name of its first span, when it began (UTC), and counts of spans."""

    trace_id: str
    path: Path
    name: str
    started: datetime
    spans: int
    errors: int
    open: int


@dataclass(frozen=True)
class Odd:
    """What was passed over in a folder of traces.

    Attributes:
        path: the file.
        lines: how many of its lines hold something that is no span; 0 where it cannot be read at all.
        why: then; "" otherwise.
    """

    path: Path
    lines: int
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"{self.path}: passed over: {self.why}"
        lines = "1 line holds" if self.lines == 1 else f"{self.lines} lines hold"
        return f"{self.path}: {lines} something that is no span, which is passed over"


def read_trace(path: Path, odd: list[Odd] | None = None) -> list[SpanRow]:
    """All spans of a trace file, by start.

    What cannot be read (a line cut short by a full disk, a span of a shape or a time that none has) is passed over: it
    must not hide the others.

    Args:
        path: the file.
        odd: is told what was passed over.

    Raises:
        InputError: there is no such file, or no span in it.
    """
    rows, lines = _read(path)
    if odd is not None and lines:
        odd.append(Odd(path, lines))
    if not rows:
        raise InputError("there is no span in this file", where=str(path), hint="give a file of OTLP JSON lines")
    return rows


def read_traces(folder: Path, odd: list[Odd] | None = None) -> Iterator[tuple[Path, list[SpanRow]]]:
    """The files of a folder that hold spans, and these, see `read_trace`. No folder, no traces.

    Args:
        folder: where traces lie.
        odd: is told what was passed over, also of whole files.
    """
    for path in sorted(folder.glob("*.jsonl")):
        why = ""
        try:
            rows, lines = _read(path)
        except InputError as error:
            rows, lines, why = [], 0, error.what
        if odd is not None and (lines or why):
            odd.append(Odd(path, lines, why))
        if rows:
            yield path, rows


def list_traces(folder: Path, odd: list[Odd] | None = None) -> list[TraceRow]:
    """The traces of a folder, the newest first; see `read_traces`."""
    found = [_summary(path, rows) for path, rows in read_traces(folder, odd)]
    return sorted(found, key=lambda trace: (trace.started, trace.trace_id), reverse=True)


def waterfall(rows: Sequence[SpanRow]) -> list[str]:
    """Lines of text, one a span: when it began after the first, how long it took (ms), a bar, the tree, errors.

    A span whose parent is not in `rows` stands at the top.
    """
    if not rows:
        return []
    begin = min(row.start for row in rows)
    last = max(max(row.start, row.end or 0) for row in rows)
    lines = [f"{'at ms':>9} {'took ms':>9}  {'':{_BAR}}  span"]
    for row, depth in _tree(rows):
        took = "open" if row.end is None else f"{(row.end - row.start) / 1e6:.1f}"
        bar = _bar(row, begin, max(last - begin, 1))
        mark = f"  ERROR {_one_line(row.message)}".rstrip() if row.status == "error" else ""
        lines.append(f"{(row.start - begin) / 1e6:9.1f} {took:>9}  {bar}  {'  ' * depth}{_one_line(row.name)}{mark}")
    return lines


def failures(rows: Sequence[SpanRow]) -> list[str]:
    """Lines of text: each error where it began, and each span that never ended and has none open beneath it.

    An error that goes on through the spans around it is told once.
    """
    parents = _parents(rows)
    above = {parents[row.span_id] for row in rows if row.status == "error"}
    around = {parents[row.span_id] for row in rows if row.status == "open"}
    lines = [
        f"failed: {_one_line(row.name)}: {_one_line(row.message) or 'no word of why'}"
        for row in rows
        if row.status == "error" and row.span_id not in above
    ]
    return lines + [
        f"never ended: {_one_line(row.name)}" for row in rows if row.status == "open" and row.span_id not in around
    ]


def _tree(rows: Sequence[SpanRow]) -> Iterator[tuple[SpanRow, int]]:
    """Depth first, siblings by start; iterative, since a trace of a long loop may be deep."""
    parents = _parents(rows)
    children: dict[str | None, list[SpanRow]] = {}
    for row in sorted(rows, key=lambda row: (row.start, row.span_id), reverse=True):
        children.setdefault(parents[row.span_id], []).append(row)
    stack = [(row, 0) for row in children.get(None, [])]
    while stack:
        row, depth = stack.pop()
        yield row, depth
        stack += [(child, depth + 1) for child in children.get(row.span_id, [])]


def _parents(rows: Sequence[SpanRow]) -> dict[str, str | None]:
    """The span around each that is in `rows`; a circle, which only another writer can leave, begins at its earliest."""
    known = {row.span_id: row for row in rows}
    parents = {name: row.parent_id if row.parent_id in known else None for name, row in known.items()}
    done: set[str] = set()
    for name in known:
        way: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in done and at not in way:
            way[at] = None
            at = parents[at]
        if at in way:
            circle = [*way][[*way].index(at) :]
            parents[min(circle, key=lambda one: (known[one].start, one))] = None
        done.update(way)  # in place: `|=` with keys copies the set each time
    return parents


def _bar(row: SpanRow, begin: int, total: int) -> str:
    left = min(_BAR - 1, _BAR * (row.start - begin) // total)
    right = _BAR if row.end is None else max(left + 1, -(-_BAR * (row.end - begin) // total))
    return (" " * left + ("·" if row.end is None else "█") * (right - left)).ljust(_BAR)


def _one_line(text: str) -> str:
    """Names and messages may hold what a tool or a model wrote: no line breaks, no terminal codes."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _summary(path: Path, rows: Sequence[SpanRow]) -> TraceRow:
    return TraceRow(
        trace_id=path.stem,
        path=path,
        name=rows[0].name,
        started=datetime.fromtimestamp(rows[0].start / 1e9, UTC),
        spans=len(rows),
        errors=sum(row.status == "error" for row in rows),
        open=sum(row.status == "open" for row in rows),
    )


def _read(path: Path) -> tuple[list[SpanRow], int]:
    """The spans of a file by their start, and how many lines hold something else.

    Raises:
        InputError: it cannot be read.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(errno.EINVAL, "it is no file")  # a pipe would have us wait for ever
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"the trace cannot be read ({error.strerror})", where=str(path), hint="see `transom trace list`"
        ) from error
    rows: dict[str, SpanRow] = {}
    odd = 0
    for line in text.split("\n"):
        spans, whole = _of_line(line)
        odd += not whole
        for row in spans:
            if row.status != "open" or row.span_id not in rows:  # a kill between two writes leaves both
                rows[row.span_id] = row
    return sorted(rows.values(), key=lambda row: (row.start, row.span_id)), odd


def _of_line(line: str) -> tuple[list[SpanRow], bool]:
    """The spans of an export request, and whether that is all that is in it."""
    found: list[SpanRow] = []
    if not line.strip():
        return found, True
    try:
        request = json.loads(line)
        spans = [span for one in request["resourceSpans"] for scope in one["scopeSpans"] for span in scope["spans"]]
    except _NO_SPAN:
        return found, False
    whole = True
    for span in spans:
        try:
            found.append(row_of(span))
        except _NO_SPAN:
            whole = False
    return found, whole
