"""The files of a trace, written as OTLP JSON by ourselves: a span costs a few dozen calls, the SDK's several hundred.

What is written is what the SDK's exporter writes for the same span; a test holds the two side by side. Nothing of an
application around us takes part: no global provider, no exporter, no environment variable, no parent of its own.
"""

from __future__ import annotations

import json
import logging
import math
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

_log = logging.getLogger(__name__)

Scalar: TypeAlias = str | bool | int | float
Value: TypeAlias = Scalar | Sequence[Scalar]

_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_ERROR = 2
_LOCAL_PARENT = 256  # of OTLP's span flags: whether the parent is remote is known, and it is not
_RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "transom"}}]}
_ENCODER = json.JSONEncoder(separators=(",", ":"))


@dataclass(slots=True)
class SpanRecord:
    """A span under way. `parent_id` is "" for a root; times are nanoseconds since 1970."""

    span_id: str
    parent_id: str
    name: str
    kind: str
    start: int
    attributes: dict[str, Value]
    events: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Something that happened now."""
        told: dict[str, Any] = {"timeUnixNano": str(time.time_ns()), "name": name}
        if attributes:
            told["attributes"] = _pairs(attributes)
        self.events.append(told)

    def fail(self, message: str) -> None:
        """Mark it as failed."""
        self.status = {"message": message, "code": _ERROR}


class TraceFile:
    """A trace being written: `<trace_id>.jsonl`, and the spans under way beside it (see `transom.telemetry.spans`).

    Args:
        folder: made if missing.
        trace_id: 32 hex digits.

    Raises:
        OSError: the files cannot be made.
    """

    def __init__(self, folder: Path, trace_id: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.trace_id = trace_id
        self._open_path = folder / f"{trace_id}.{secrets.token_hex(4)}.open.jsonl"
        self._ended = _Lines(folder / f"{trace_id}.jsonl")
        self._started = _Lines(self._open_path)

    def start(self, name: str, kind: str, parent: SpanRecord | None, attributes: dict[str, Value]) -> SpanRecord:
        """Start a span under `parent`, or a root of this trace."""
        parent_id = parent.span_id if parent else ""
        span = SpanRecord(os.urandom(8).hex(), parent_id, name, kind, time.time_ns(), attributes)
        self._started.write(
            {"spanId": span.span_id, "parentSpanId": parent_id, "name": name, "startTimeUnixNano": str(span.start)}
        )
        return span

    def end(self, span: SpanRecord) -> None:
        """Write a span that has ended, as one complete export request."""
        scope = {"scope": {"name": "transom"}, "spans": [self._otlp(span)]}
        self._ended.write({"resourceSpans": [{"resource": _RESOURCE, "scopeSpans": [scope]}]})

    def _otlp(self, span: SpanRecord) -> dict[str, Any]:
        told: dict[str, Any] = {"traceId": self.trace_id, "spanId": span.span_id}
        if span.parent_id:
            told["parentSpanId"] = span.parent_id
        told |= {
            "flags": _LOCAL_PARENT,
            "name": span.name,
            "kind": _KINDS[span.kind],
            "startTimeUnixNano": str(span.start),
            "endTimeUnixNano": str(time.time_ns()),
        }
        if span.attributes:
            told["attributes"] = _pairs(span.attributes)
        if span.events:
            told["events"] = span.events
        told["status"] = span.status
        return told

    def close(self) -> None:
        """Close the files; what has started by now has ended, or will not."""
        self._ended.close()
        if self._started.close():
            self._open_path.unlink(missing_ok=True)


def _pairs(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    """A value in OTLP's JSON, which has no 64-bit integers, no NaN and no infinities."""
    match value:
        case str():
            return {"stringValue": value}
        case bool():
            return {"boolValue": value}
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
    """JSON lines appended to a file. A trace never stops the work that it watches: a full disk is said once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")  # a line that a full disk cut short must not swallow the next one
        self._failed = False

    def write(self, value: object) -> None:
        if self._fd < 0:
            return
        try:
            os.write(self._fd, _ENCODER.encode(value).encode() + b"\n")
        except OSError as error:
            if not self._failed:
                self._failed = True
                _log.warning("%s: the trace has gaps from here on (%s)", self._path, error.strerror)

    def close(self) -> bool:
        """Whether it was still open."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
        return fd >= 0
