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
"""OTLP's code of a failed span."""


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


def pairs(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Attributes as OTLP's JSON has them."""
    return [
        {"key": key, "value": {"stringValue": value}}
        if type(value) is str  # as nearly all are; and then whole numbers
        else {"key": key, "value": {"intValue": str(value)}}
        if type(value) is int
        else {"key": key, "value": {"boolValue": value}}
        if type(value) is bool
        else {"key": key, "value": _wrapped(value)}
        for key, value in attributes.items()
    ]


def row_of(span: Mapping[str, Any]) -> SpanRow:
    """A span out of OTLP's JSON; ValueError, KeyError, TypeError or AttributeError for anything
    else.
    """
    if not span["spanId"]:
        raise ValueError("this span has no id")
    attributes = {pair["key"]: _plain(pair["value"]) for pair in span.get("attributes") or ()}
    is_open = attributes.pop(keys.OPEN, False)
    status = span.get("status") or {}
    return SpanRow(
        name=span["name"],
        span_id=span["spanId"],
        parent_id=span.get("parentSpanId") or None,
        start=int(span["startTimeUnixNano"]),
        end=None if is_open else int(span["endTimeUnixNano"]),
        attributes=attributes,
        status="open" if is_open else "error" if status.get("code") == ERROR else "ok",
        message=status.get("message") or "",
    )


def _wrapped(value: Value) -> dict[str, Any]:
    """A value in OTLP's JSON, in which integers of 64 bits are texts, and which has no NaN and
    no infinities.
    """
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
    return {"arrayValue": {"values": [_wrapped(item) for item in value]} if value else {}}


def _plain(wrapped: Mapping[str, Any]) -> Any:
    """A plain value out of OTLP's `{"<type>Value": ...}`; None where there is none."""
    for kind, value in wrapped.items():
        if kind == "intValue":
            return int(value)
        return [_plain(item) for item in value.get("values", [])] if kind == "arrayValue" else value
    return None
