"""A span out of OTLP's JSON, held to the types that whoever counts and shows it relies on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from transom.telemetry import keys

_ERROR = 2  # OTLP's code of a failed span
_LARGEST = 2**63  # of what is counted; as a time it is the year 2262, which a date can have
_LEVELS = 20  # of lists in an attribute
_TEXTS = (
    keys.OPERATION,
    keys.PROVIDER,
    keys.REQUEST_MODEL,
    keys.ROLE,
    keys.TOOL_NAME,
    keys.CONVERSATION_ID,
    keys.PARENT_CONVERSATION,
    keys.ERROR_TYPE,
)
_NUMBERS = (
    keys.INPUT_TOKENS,
    keys.OUTPUT_TOKENS,
    keys.CACHE_READ_TOKENS,
    keys.CACHE_CREATION_TOKENS,
    keys.ATTEMPT,
    keys.TOKENS_BEFORE,
    keys.TOKENS_AFTER,
    keys.COMPRESSION_RATIO,
)


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


def row_of(span: Any) -> SpanRow:
    """A span out of OTLP's JSON.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, OverflowError: it is none, or has a time or a value that none
            can have.
    """
    if not span["spanId"]:
        raise ValueError("this span has no id")
    status = _given(span, "status", {})
    attributes = _attributes(_given(span, "attributes", []), _LEVELS)
    is_open = attributes.pop(keys.OPEN, False) is True
    _check(attributes)
    return SpanRow(
        name=_text(span["name"]),
        span_id=_text(span["spanId"]),
        parent_id=_text(span.get("parentSpanId") or "") or None,
        start=_time(span["startTimeUnixNano"]),
        end=None if is_open else _time(span["endTimeUnixNano"]),
        attributes=attributes,
        status="open" if is_open else "error" if status.get("code") == _ERROR else "ok",
        message=_text(_given(status, "message", "")),
    )


def _given(told: Mapping[str, Any], name: str, instead: Any) -> Any:
    """A field; what is null is not there, as JSON of protocol buffers has it."""
    found = told.get(name)
    return instead if found is None else found


def _attributes(pairs: Iterable[Mapping[str, Any]], levels: int) -> dict[str, Any]:
    return {_text(pair["key"]): _value(_given(pair, "value", {}), levels) for pair in pairs}


def _check(attributes: Mapping[str, Any]) -> None:
    for key in _TEXTS:
        if key in attributes:
            _text(attributes[key])
    for key in _NUMBERS:
        value = attributes.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
            raise ValueError(f"{key} is no number that can be counted")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("this is no text")
    return value


def _time(value: Any) -> int:
    """Nanoseconds since 1970; OTLP writes them as text."""
    found = int(value)
    if not 0 <= found < _LARGEST:
        raise ValueError("this is no time")
    return found


def _value(wrapped: Mapping[str, Any], levels: int) -> Any:
    """A plain value out of OTLP's `{"<type>Value": ...}`."""
    if not levels:
        raise ValueError("it is nested too deeply")
    for kind, value in wrapped.items():
        if kind == "intValue":  # JSON has no 64-bit integers, so OTLP writes text
            return int(value)
        if kind == "arrayValue":
            return [_value(item, levels - 1) for item in _given(value, "values", [])]
        if kind == "kvlistValue":
            return _attributes(_given(value, "values", []), levels - 1)
        if isinstance(value, dict | list):
            raise TypeError(f"{kind} is no type of a value")
        return value
    return None
