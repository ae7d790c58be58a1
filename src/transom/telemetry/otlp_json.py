"""Spans in OTLP's JSON, and as rows for statistics and display."""

from __future__ import annotations

import json
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
_NUMBERS = frozenset({bool, int, float})
_OTLP_TYPES = _NUMBERS | {str}


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


def attribute_pairs(attributes: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Return attributes as OTLP's JSON writes them: a list of keys and wrapped values.

    None is left out. A value for which OpenTelemetry has no type becomes text; see `otlp_value`.

    Returns:
        The list, and all texts among the values in one, for a search.
    """
    pairs: list[dict[str, Any]] = []
    texts = ""
    # This runs for every attribute of every span: `append`, `str` and `_wrap` would be calls.
    for key, value in attributes.items():
        kind = type(value)
        if kind is str:
            texts += f"{value}\0"
            wrapped: dict[str, Any] = {"stringValue": value}
        elif kind is int:
            wrapped = {"intValue": f"{value}"}
        elif kind is bool:
            wrapped = {"boolValue": value}
        elif value is None:
            continue
        else:
            typed_value = otlp_value(value)
            for text in typed_value if type(typed_value) is list else (typed_value,):
                if type(text) is str:
                    texts += f"{text}\0"
            wrapped = _wrap(typed_value)
        pairs += [{"key": key, "value": wrapped}]
    return pairs, texts


def otlp_value(value: Any) -> Value:
    """Return a value of a type that OpenTelemetry has; a text if there is none for it."""
    if type(value) in _OTLP_TYPES:
        typed_value: Value = value
        return typed_value
    if isinstance(value, list | tuple):
        # OpenTelemetry has no lists with values of several types.
        kinds = {type(item) for item in value}
        if len(kinds) == 1 and kinds <= _NUMBERS:
            return [*value]
        return [str(item) for item in value]
    if isinstance(value, dict):
        return json.dumps(value, default=str, skipkeys=True)
    return str(value)


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
    if isinstance(value, str):
        return {"stringValue": value}
    # A bool is an int, too, so it comes first.
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        if math.isnan(value):
            return {"doubleValue": "NaN"}
        if math.isinf(value):
            return {"doubleValue": "Infinity" if value > 0 else "-Infinity"}
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
