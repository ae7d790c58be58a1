"""Reading of trace files, for `transom trace list` and `transom trace show`, and the documents
that these print.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.errors import InputError
from transom.telemetry.otlp_json import SpanRow, row_of

_BAR_WIDTH = 24  # characters


class TelemetryDocument(BaseModel):
    """Base of documents, whose fields are fixed and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class TraceRow(TelemetryDocument):
    """One trace in a list.

    Attributes:
        trace_id: 32 hex digits.
        run_id: the run of this workspace that left the trace; None if no run did.
        started_at: ISO 8601, UTC.
        spans, errors, open: number of all spans, of failed ones, and of those that never ended.
    """

    trace_id: str
    run_id: str | None = None
    started_at: str
    spans: int
    errors: int
    open: int


class TraceList(TelemetryDocument):
    """All traces of a workspace, the newest first."""

    schema_: Literal["transom.traces/1"] = Field(default="transom.traces/1", alias="schema")
    traces: tuple[TraceRow, ...]


class TraceDocument(TelemetryDocument):
    """One trace: its spans, ordered by their start."""

    schema_: Literal["transom.trace/1"] = Field(default="transom.trace/1", alias="schema")
    trace_id: str
    spans: tuple[SpanRow, ...]


def read_trace(path: Path, warn: Callable[[str], object] | None = None) -> list[SpanRow]:
    """Return all spans of a trace file, ordered by their start.

    A line that cannot be read is skipped: a line that a full disk cut short must not hide the
    others.

    Args:
        path: the file.
        warn: receives a line of text about skipped input.

    Raises:
        InputError: the file cannot be read, or contains no span.
    """
    rows = _read_spans(path, warn)
    if not rows:
        raise InputError(
            "the file contains no span", place=str(path), hint="pass a file of OTLP JSON lines"
        )
    return rows


def read_traces(
    folder: Path, warn: Callable[[str], object] | None = None
) -> Iterator[tuple[Path, list[SpanRow]]]:
    """Yield each file of a folder that contains spans, and its spans.

    A missing folder contains no traces. See `read_trace` for the spans and for `warn`.
    """
    for path in sorted(folder.glob("*.jsonl")):
        try:
            rows = _read_spans(path, warn)
        except InputError as error:
            rows = []
            if warn is not None:
                warn(f"{path}: skipped: {error.problem}")
        if rows:
            yield path, rows


def list_traces(folder: Path, warn: Callable[[str], object] | None = None) -> list[TraceRow]:
    """Return the traces of a folder, the newest first; see `read_traces`."""
    traces = []
    for path, spans in read_traces(folder, warn):
        statuses = Counter(span.status for span in spans)
        trace = TraceRow(
            trace_id=path.stem,
            started_at=datetime.fromtimestamp(spans[0].start / 1e9, UTC).isoformat(),
            spans=len(spans),
            errors=statuses["error"],
            open=statuses["open"],
        )
        traces.append(trace)
    return sorted(traces, key=lambda trace: (trace.started_at, trace.trace_id), reverse=True)


def waterfall(rows: Sequence[SpanRow]) -> list[str]:
    """Return a line of text for each span: its start after the first one and its duration (both in
    milliseconds), a bar, its depth in the tree, and its error.

    A span whose parent is not in `rows` is at the top level.
    """
    if not rows:
        return []
    begin = min(row.start for row in rows)
    last = max(max(row.start, row.end or 0) for row in rows)
    # A trace may have no duration at all.
    total = max(last - begin, 1)
    lines = [f"{'at ms':>9} {'took ms':>9}  {'':{_BAR_WIDTH}}  span"]
    for row, depth in span_tree(rows):
        took = "open" if row.end is None else f"{(row.end - row.start) / 1e6:.1f}"
        columns = f"{(row.start - begin) / 1e6:9.1f} {took:>9}  {_bar(row, begin, total)}"
        line = f"{columns}  {'  ' * depth}{_one_line(row.name)}"
        if row.status == "error":
            line += f"  ERROR {_one_line(row.message)}".rstrip()
        lines.append(line)
    return lines


def failures(rows: Sequence[SpanRow]) -> list[str]:
    """Return a line of text for each error, and then for each span that never ended.

    An error passes through the spans around it, so a span has no line if one of its direct children
    failed, too. The same holds for spans that never ended.
    """
    failed = []
    for row in _innermost(rows, "error"):
        failed.append(
            f"failed: {_one_line(row.name)}: {_one_line(row.message) or 'no error message'}"
        )
    unfinished = [f"never ended: {_one_line(row.name)}" for row in _innermost(rows, "open")]
    return failed + unfinished


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


def _innermost(rows: Sequence[SpanRow], status: str) -> list[SpanRow]:
    """Return the spans with a status that have no child with the same status."""
    parents = _parents(rows)
    with_status = [row for row in rows if row.status == status]
    outer = {parents[row.span_id] for row in with_status}
    return [row for row in with_status if row.span_id not in outer]


def _parents(rows: Sequence[SpanRow]) -> dict[str, str | None]:
    """Return the id of each span's parent, or None if the parent is not in `rows`."""
    ids = {row.span_id for row in rows}
    return {row.span_id: row.parent_id if row.parent_id in ids else None for row in rows}


def _bar(row: SpanRow, begin: int, total: int) -> str:
    """Return the bar of a span, at least one character long; dots mean that it never ended."""
    first = min(_BAR_WIDTH - 1, _BAR_WIDTH * (row.start - begin) // total)
    if row.end is None:
        return (" " * first).ljust(_BAR_WIDTH, "·")
    last = max(first + 1, -(-_BAR_WIDTH * (row.end - begin) // total))
    return (" " * first + "█" * (last - first)).ljust(_BAR_WIDTH)


def _one_line(text: str) -> str:
    """Return a text without line breaks and terminal codes, which a tool or a model may write."""
    printable = [character if character.isprintable() else " " for character in text]
    return " ".join("".join(printable).split())


def _read_spans(path: Path, warn: Callable[[str], object] | None) -> list[SpanRow]:
    """Return the spans of a file, ordered by their start.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"the trace cannot be read ({error.strerror})",
            place=str(path),
            hint="see `transom trace list`",
        ) from error
    rows: dict[str, SpanRow] = {}
    skipped = 0
    # Other line separators of Unicode may be in the text of an attribute.
    for line in filter(str.strip, text.split("\n")):
        try:
            spans = _spans_of_line(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            skipped += 1
            continue
        for row in spans:
            # After a kill between two writes, a span is there twice, once as open.
            if row.status != "open" or row.span_id not in rows:
                rows[row.span_id] = row
    if skipped and warn is not None:
        lines = "1 line that is" if skipped == 1 else f"{skipped} lines that are"
        warn(f"{path}: skipped {lines} not a span")
    return sorted(rows.values(), key=lambda row: (row.start, row.span_id))


def _spans_of_line(line: str) -> list[SpanRow]:
    """Return the spans of a line, which is an export request of OTLP.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is something else.
    """
    spans: list[SpanRow] = []
    for resource in json.loads(line)["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            spans += map(row_of, scope["spans"])
    return spans
