"""Spans in OTLP's JSON, and as rows for statistics and display."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from transom.telemetry import keys

Scalar: TypeAlias = str | bool | int | float
Value: TypeAlias = Scalar | Sequence[Scalar]

RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "transom"}}]}
SCOPE = {"name": "transom"}
ERROR = 2
"""The status code of a failed span in OTLP."""


@dataclass(frozen=True)
class SpanRow:
    """One span.

    Attributes:
        name: the step, e.g. `stage parser`.
        span_id: 16 hex digits.
        parent_id: id of the span around it; None for a root.
        start: nanoseconds since 1970.
        end: nanoseconds since 1970; None for a span that never ended, since its process was killed
            or still runs.
        attributes: names and values; empty for a span that never ended.
        status: `ok`, `error`, or `open` if it never ended.
        message: the error; "" if there was none.
    """

    name: str
    span_id: str
    parent_id: str | None
    start: int
    end: int | None
    attributes: dict[str, Any] = field(default_factory=dict)
    status: Literal["ok", "error", "open"] = "ok"
    message: str = ""


def attribute_pairs(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return attributes as OTLP's JSON writes them: a list of keys and wrapped values."""
    pairs: list[dict[str, Any]] = []
    # This runs for every attribute of every span: `append`, `str` and `_wrap` would be calls.
    for key, value in attributes.items():
        kind = type(value)
        if kind is str:
            wrapped: dict[str, Any] = {"stringValue": value}
        elif kind is int:
            wrapped = {"intValue": f"{value}"}
        else:
            wrapped = _wrap(value)
        pairs += [{"key": key, "value": wrapped}]
    return pairs


def row_of(span: Mapping[str, Any]) -> SpanRow:
    """Return a span of OTLP's JSON as a row.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is not a span.
    """
    if not span["spanId"]:
        raise ValueError("this span has no id")
    attributes = {pair["key"]: _unwrap(pair["value"]) for pair in span.get("attributes") or ()}
    # Only the line of an open span has this attribute: see `trace_file`.
    is_open = attributes.pop(keys.OPEN, False)
    # Writers of OTLP leave fields out or write null if they have the default value.
    otlp_status = span.get("status") or {}
    status: Literal["ok", "error", "open"] = "ok"
    if is_open:
        status = "open"
    elif otlp_status.get("code") == ERROR:
        status = "error"
    return SpanRow(
        name=span["name"],
        span_id=span["spanId"],
        parent_id=span.get("parentSpanId") or None,
        start=int(span["startTimeUnixNano"]),
        end=None if is_open else int(span["endTimeUnixNano"]),
        attributes=attributes,
        status=status,
        message=otlp_status.get("message") or "",
    )


def _wrap(value: Value) -> dict[str, Any]:
    """Return a value as OTLP's JSON writes it: integers of 64 bits, NaN and infinities as texts."""
    match value:
        # A bool is an int, too, so its case comes first.

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
    if not value:
        return {"arrayValue": {}}
    return {"arrayValue": {"values": [_wrap(item) for item in value]}}


def _unwrap(wrapped: Mapping[str, Any]) -> Any:
    """Return the value of OTLP's `{"<type>Value": ...}`, or None if it is empty."""
    for kind, value in wrapped.items():
        if kind == "intValue":
            return int(value)
        if kind == "arrayValue":
            return [_unwrap(item) for item in value.get("values", [])]
        return value
    return None
