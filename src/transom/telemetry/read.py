"""Reading of trace files, for `transom trace list` and `transom trace show`, and the documents
of these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.errors import InputError
from transom.telemetry.otlp_json import SpanRow, row_of

_BAR = 24


class Shape(BaseModel):
    """Base of documents: no other fields, and none that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class TraceRow(Shape):
    """One trace in a list: when it began (ISO 8601, UTC), and counts of spans.

    `run_id` is None for one that no run of this workspace left.
    """

    trace_id: str
    run_id: str | None = None
    started_at: str
    spans: int
    errors: int
    open: int


class TraceList(Shape):
    """All traces of a workspace, the newest first."""

    schema_: Literal["transom.traces/1"] = Field(default="transom.traces/1", alias="schema")
    traces: tuple[TraceRow, ...]


class TraceDocument(Shape):
    """One trace: its spans by their start."""

    schema_: Literal["transom.trace/1"] = Field(default="transom.trace/1", alias="schema")
    trace_id: str
    spans: tuple[SpanRow, ...]


def read_trace(path: Path, odd: Callable[[str], object] | None = None) -> list[SpanRow]:
    """All spans of a trace file, by start.

    A line that cannot be read, such as one cut short by a full disk, is passed over: it must not
    hide the others.

    Args:
        path: the file.
        odd: is told of skipped input, in a line.

    Raises:
        InputError: there is no such file, or no span in it.
    """
    rows = _read(path, odd)
    if not rows:
        raise InputError(
            "there is no span in this file", where=str(path), hint="give a file of OTLP JSON lines"
        )
    return rows


def read_traces(
    folder: Path, odd: Callable[[str], object] | None = None
) -> Iterator[tuple[Path, list[SpanRow]]]:
    """The files of a folder that hold spans, and these; see `read_trace`, also for `odd`. No
    folder, no traces.
    """
    for path in sorted(folder.glob("*.jsonl")):
        try:
            rows = _read(path, odd)
        except InputError as error:
            rows = []
            if odd is not None:
                odd(f"{path}: passed over: {error.what}")
        if rows:
            yield path, rows


def list_traces(folder: Path, odd: Callable[[str], object] | None = None) -> list[TraceRow]:
    """The traces of a folder, the newest first; see `read_traces`."""
    found = [
        TraceRow(
            trace_id=path.stem,
            started_at=datetime.fromtimestamp(rows[0].start / 1e9, UTC).isoformat(),
            spans=len(rows),
            errors=sum(row.status == "error" for row in rows),
            open=sum(row.status == "open" for row in rows),
        )
        for path, rows in read_traces(folder, odd)
    ]
    return sorted(found, key=lambda trace: (trace.started_at, trace.trace_id), reverse=True)


def waterfall(rows: Sequence[SpanRow]) -> list[str]:
    """Lines of text, one a span: when it began after the first, how long it took (ms), a bar, the
    tree, errors.

    A span whose parent is not in `rows` stands at the top.
    """
    if not rows:
        return []
    begin = min(row.start for row in rows)
    last = max(max(row.start, row.end or 0) for row in rows)
    lines = [f"{'at ms':>9} {'took ms':>9}  {'':{_BAR}}  span"]
    for row, depth in span_tree(rows):
        took = "open" if row.end is None else f"{(row.end - row.start) / 1e6:.1f}"
        bar = _bar(row, begin, max(last - begin, 1))
        mark = f"  ERROR {_one_line(row.message)}".rstrip() if row.status == "error" else ""
        lines.append(
            f"{(row.start - begin) / 1e6:9.1f} {took:>9}  {bar} "
            f" {'  ' * depth}{_one_line(row.name)}{mark}"
        )
    return lines


def failures(rows: Sequence[SpanRow]) -> list[str]:
    """Lines of text: each error where it began, and each span that never ended and has none open
    beneath it.

    An error that goes on through the spans around it is shown once.
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
        f"never ended: {_one_line(row.name)}"
        for row in rows
        if row.status == "open" and row.span_id not in around
    ]


def span_tree(rows: Sequence[SpanRow]) -> Iterator[tuple[SpanRow, int]]:
    """Yield spans with their depth, depth first, siblings by start."""
    # Iterative, since a trace of a long loop may be deep.
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
    """The span around each that is in `rows`."""
    known = {row.span_id for row in rows}
    return {row.span_id: row.parent_id if row.parent_id in known else None for row in rows}


def _bar(row: SpanRow, begin: int, total: int) -> str:
    left = min(_BAR - 1, _BAR * (row.start - begin) // total)
    right = _BAR if row.end is None else max(left + 1, -(-_BAR * (row.end - begin) // total))
    return (" " * left + ("·" if row.end is None else "█") * (right - left)).ljust(_BAR)


def _one_line(text: str) -> str:
    """Names and messages may hold what a tool or a model wrote: no line breaks, no terminal
    codes.
    """
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _read(path: Path, odd: Callable[[str], object] | None) -> list[SpanRow]:
    """The spans of a file by their start; InputError where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"the trace cannot be read ({error.strerror})",
            where=str(path),
            hint="see `transom trace list`",
        ) from error
    rows: dict[str, SpanRow] = {}
    cut = 0
    for line in filter(str.strip, text.split("\n")):
        try:
            scopes = [
                scope for one in json.loads(line)["resourceSpans"] for scope in one["scopeSpans"]
            ]
            found = [row_of(span) for scope in scopes for span in scope["spans"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            cut += 1
            continue
        for row in found:
            # a kill between two writes leaves both
            if row.status != "open" or row.span_id not in rows:
                rows[row.span_id] = row
    if cut and odd is not None:
        lines = "1 line holds" if cut == 1 else f"{cut} lines hold"
        odd(f"{path}: {lines} something that is no span, which is passed over")
    return sorted(rows.values(), key=lambda row: (row.start, row.span_id))
