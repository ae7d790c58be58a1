"""The file of a trace, written as OTLP JSON by ourselves: a span costs a few dozen calls, the SDK's several hundred."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from transom.canonical import compact_bytes
from transom.telemetry import keys

if TYPE_CHECKING:
    from transom.telemetry.otlp import Exporter

_log = logging.getLogger(__name__)

Scalar: TypeAlias = str | bool | int | float
Value: TypeAlias = Scalar | Sequence[Scalar]

PLACE = 1024
"""Bytes of the place in which a span stands while it is open; in the end the place is free for the next one."""

_LONGEST_NAME = 90  # of a span that is open: six bytes a character at worst, and it must fit its place
_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_ERROR = 2
_LOCAL_PARENT = 256  # of OTLP's span flags: whether the parent is remote is known, and it is not
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "transom"}}]}
SCOPE = {"name": "transom"}
_OPEN: dict[str, Any] = {"attributes": [{"key": keys.OPEN, "value": {"boolValue": True}}]}
_SPANS = {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": [0]}]}]}
_BEFORE, _AFTER = compact_bytes(_SPANS).rsplit(b"0", 1)  # of a span, in an export request of its own
_FREE = b'{"resourceSpans":[]}'.ljust(PLACE - 1) + b"\n"


@dataclass(slots=True)
class SpanRecord:
    """A span under way. `parent_id` is "" for a root; times are nanoseconds since 1970; `place` is where it stands.

    Its attributes are as they were given until it ends.
    """

    span_id: str
    parent_id: str
    name: str
    kind: str
    start: int
    attributes: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    place: int | None = None

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Something that happened now."""
        told: dict[str, Any] = {"timeUnixNano": str(time.time_ns()), "name": name}
        if attributes:
            told["attributes"] = pairs(attributes)
        self.events.append(told)

    def fail(self, message: str) -> None:
        """Mark it as failed."""
        self.status = {"message": message, "code": _ERROR}


class TraceFile:
    """A trace being written: `<trace_id>.jsonl` (see `transom.telemetry.spans`).

    Args:
        folder: made if missing.
        trace_id: 32 hex digits.
        exporter: is given each span that has ended.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, folder: Path, trace_id: str, exporter: Exporter | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.trace_id = trace_id
        self._lines = _Lines(folder / f"{trace_id}.jsonl")
        self._exporter = exporter

    def start(self, name: str, kind: str, parent: SpanRecord | None, attributes: dict[str, Any]) -> SpanRecord:
        """Start a span under `parent`, or a root of this trace."""
        parent_id = parent.span_id if parent else ""
        span = SpanRecord(os.urandom(8).hex(), parent_id, name, kind, time.time_ns(), attributes)
        told = self._told(span, name[:_LONGEST_NAME], span.start, _OPEN)
        span.place = self._lines.put((_BEFORE + compact_bytes(told) + _AFTER).ljust(PLACE - 1) + b"\n")
        return span

    def end(self, span: SpanRecord) -> None:
        """Write a span that has ended, as one complete export request."""
        more = {"attributes": pairs(span.attributes), "events": span.events}
        told = self._told(span, span.name, time.time_ns(), {name: one for name, one in more.items() if one})
        self._lines.add(_BEFORE + compact_bytes(told) + _AFTER + b"\n")
        self._lines.free(span.place)  # last: a kill in between leaves it twice, which `read_trace` sorts out
        if self._exporter:
            self._exporter.put(told)

    def _told(self, span: SpanRecord, name: str, end: int, more: dict[str, Any]) -> dict[str, Any]:
        """A span as OTLP's JSON has it, in which integers of 64 bits are texts."""
        return {
            "traceId": self.trace_id,
            "spanId": span.span_id,
            **({"parentSpanId": span.parent_id} if span.parent_id else {}),
            "flags": _LOCAL_PARENT,
            "name": name,
            "kind": _KINDS[span.kind],
            "startTimeUnixNano": str(span.start),
            "endTimeUnixNano": str(end),
            **more,
            "status": span.status,
        }

    def close(self) -> None:
        """Close the file. Spans that are open stay in it as such."""
        self._lines.close()


def pairs(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Attributes as OTLP's JSON has them."""
    return [
        {"key": key, "value": {"stringValue": value}}
        if type(value) is str  # as nearly all are; and then whole numbers
        else {"key": key, "value": {"intValue": str(value)}}
        if type(value) is int
        else {"key": key, "value": _value(value)}
        for key, value in attributes.items()
    ]


def _value(value: Value) -> dict[str, Any]:
    """A value in OTLP's JSON, which has no NaN and no infinities either."""
    match value:
        case bool():
            return {"boolValue": value}
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case float() if math.isnan(value):
            return {"doubleValue": "NaN"}
        case float() if math.isinf(value):
            return {"doubleValue": "Infinity" if value > 0 else "-Infinity"}
        case float():
            return {"doubleValue": value}
    return {"arrayValue": {"values": [_value(item) for item in value]} if value else {}}


class _Lines:
    """A file of lines: appended for good, or put into places that can be used again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = False
        self._places: list[int] = []  # that are free
        # Two descriptors, since Linux appends what is written at a place through one that is open for appending.
        self._end = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._middle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        size = os.fstat(self._end).st_size
        if size and os.pread(self._end, 1, size - 1) != b"\n":
            os.write(self._end, b"\n")  # a line that a full disk cut short must not swallow the next one

    def add(self, line: bytes) -> None:
        """Append a line."""
        if self._end >= 0:
            try:
                os.write(self._end, line)
            except OSError as error:
                self._told(error)

    def put(self, line: bytes) -> int | None:
        """Write a line of `PLACE` bytes into a free place, or else into a new one; where that is."""
        if self._end < 0:
            return None
        try:
            place = self._places.pop()
        except IndexError:
            return self._new_place(line)
        try:
            os.pwrite(self._middle, line, place)
        except OSError as error:
            self._told(error)
        return place

    def free(self, place: int | None) -> None:
        """Leave an empty line in a place, and use it again."""
        if place is not None and self._end >= 0:
            try:
                os.pwrite(self._middle, _FREE, place)
            except OSError as error:
                self._told(error)
            self._places.append(place)

    def _new_place(self, line: bytes) -> int | None:
        """At the end, by a descriptor of its own: only its offset says where that was when others append, too."""
        try:
            own = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                whole = os.write(own, line) == PLACE
                return os.lseek(own, 0, os.SEEK_CUR) - PLACE if whole else None
            finally:
                os.close(own)
        except OSError as error:
            self._told(error)
            return None

    def _told(self, error: OSError) -> None:
        """A trace never stops the work that it watches: a full disk is said once."""
        if not self._failed:
            self._failed = True
            _log.warning("%s: the trace has gaps from here on (%s)", self._path, error.strerror)

    def close(self) -> None:
        """Close it; may be called twice."""
        end, self._end = self._end, -1
        if end >= 0:
            os.close(end)
            os.close(self._middle)
