"""Traces read back: for `transom trace list` and `transom trace show`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.telemetry import keys

_ERROR = 2  # OTLP's code of a failed span
_BAR = 24


@dataclass(frozen=True)
class SpanRow:
    """One span.

    Attributes:
        name: what was done.
        span_id: 16 hex digits.
        parent_id: of the span around it, None for a root.
        start: nanoseconds since 1970.
        end: the same; None for a span that never ended, since its process was killed or still runs.
        attributes: as set; empty for a span that never ended.
        status: how it went.
        message: of the error; "" where there was none.
    """

    name: str
    span_id: str
    parent_id: str | None
    start: int
    end: int | None
    attributes: dict[str, Any] = field(default_factory=dict)
    status: Literal["ok", "error", "open"] = "ok"
    message: str = ""


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


def read_trace(path: Path) -> list[SpanRow]:
    """All spans of a trace file, by start.

    Lines that cannot be read (cut short by a full disk) are passed over: they must not hide the others.

    Raises:
        InputError: there is no such file, or no span in it.
    """
    rows: dict[str, SpanRow] = {}
    for row in _rows(path):
        if row.status != "open" or row.span_id not in rows:  # a kill between two writes leaves both
            rows[row.span_id] = row
    if not rows:
        raise InputError("there is no span in this file", where=str(path), hint="give a file of OTLP JSON lines")
    return sorted(rows.values(), key=lambda row: (row.start, row.span_id))


def list_traces(folder: Path) -> list[TraceRow]:
    """The traces of a folder, the newest first; files that hold no span are passed over. No folder, no traces."""
    found = []
    for path in folder.glob("*.jsonl"):
        with suppress(InputError):
            found.append(_summary(path, read_trace(path)))
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
    above = {row.parent_id for row in rows if row.status == "error"}
    around = {row.parent_id for row in rows if row.status == "open"}
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
    known = {row.span_id for row in rows}
    children: dict[str | None, list[SpanRow]] = {}
    for row in sorted(rows, key=lambda row: (row.start, row.span_id), reverse=True):
        parent = row.parent_id if row.parent_id in known else None
        children.setdefault(parent, []).append(row)
    stack = [(row, 0) for row in children.get(None, [])]
    while stack:
        row, depth = stack.pop()
        yield row, depth
        stack += [(child, depth + 1) for child in children.get(row.span_id, [])]


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


def _rows(path: Path) -> Iterator[SpanRow]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"the trace cannot be read ({error.strerror})", where=str(path), hint="see `transom trace list`"
        ) from error
    for line in text.split("\n"):
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # what is not of the expected shape
            request = json.loads(line)
            scopes = [scope for resource in request["resourceSpans"] for scope in resource["scopeSpans"]]
            yield from [row_of(span) for scope in scopes for span in scope["spans"]]


def row_of(span: Any) -> SpanRow:
    """A span out of OTLP's JSON."""
    status = span.get("status", {})
    attributes = {pair["key"]: _value(pair.get("value", {})) for pair in span.get("attributes", [])}
    is_open = attributes.pop(keys.OPEN, False) is True
    return SpanRow(
        name=span["name"],
        span_id=span["spanId"],
        parent_id=span.get("parentSpanId") or None,
        start=int(span["startTimeUnixNano"]),
        end=None if is_open else int(span["endTimeUnixNano"]),
        attributes=attributes,
        status="open" if is_open else "error" if status.get("code") == _ERROR else "ok",
        message=status.get("message", ""),
    )


def _value(wrapped: Mapping[str, Any]) -> Any:
    """A plain value out of OTLP's `{"<type>Value": ...}`."""
    for kind, value in wrapped.items():
        if kind == "intValue":  # JSON has no 64-bit integers, so OTLP writes text
            return int(value)
        if kind == "arrayValue":
            return [_value(item) for item in value.get("values", [])]
        return value
    return None
