"""Export requests of OTLP in protobuf's binary form, for collectors that take no JSON.

Source: opentelemetry-proto 1.x, `trace.proto`, `metrics.proto`, `common.proto`; the encoding is
protobuf's. Only the fields that Transom writes are known here.
"""

# The package of protobuf would be a dependency of a few megabytes for these few messages.

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

# A field is its number, and either one of the kinds of `_encode_value` or the name of a message.
_Fields = Mapping[str, tuple[int, str]]
_TIMES: _Fields = {"startTimeUnixNano": (2, "fixed64"), "timeUnixNano": (3, "fixed64")}
_MESSAGES: Mapping[str, _Fields] = {
    "Request": {"resourceSpans": (1, "ResourceSpans"), "resourceMetrics": (1, "ResourceMetrics")},
    "ResourceSpans": {"resource": (1, "Resource"), "scopeSpans": (2, "ScopeSpans")},
    "ResourceMetrics": {"resource": (1, "Resource"), "scopeMetrics": (2, "ScopeMetrics")},
    "Resource": {"attributes": (1, "KeyValue")},
    "ScopeSpans": {"scope": (1, "Scope"), "spans": (2, "Span")},
    "ScopeMetrics": {"scope": (1, "Scope"), "metrics": (2, "Metric")},
    "Scope": {"name": (1, "string"), "version": (2, "string")},
    "Span": {
        "traceId": (1, "hex"),
        "spanId": (2, "hex"),
        "parentSpanId": (4, "hex"),
        "name": (5, "string"),
        "kind": (6, "integer"),
        "startTimeUnixNano": (7, "fixed64"),
        "endTimeUnixNano": (8, "fixed64"),
        "attributes": (9, "KeyValue"),
        "events": (11, "Event"),
        "status": (15, "Status"),
        "flags": (16, "fixed32"),
    },
    "Event": {
        "timeUnixNano": (1, "fixed64"),
        "name": (2, "string"),
        "attributes": (3, "KeyValue"),
    },
    "Status": {"message": (2, "string"), "code": (3, "integer")},
    "KeyValue": {"key": (1, "string"), "value": (2, "AnyValue")},
    "AnyValue": {
        "stringValue": (1, "string"),
        "boolValue": (2, "integer"),
        "intValue": (3, "integer"),
        "doubleValue": (4, "double"),
        "arrayValue": (5, "ArrayValue"),
    },
    "ArrayValue": {"values": (1, "AnyValue")},
    "Metric": {
        "name": (1, "string"),
        "description": (2, "string"),
        "unit": (3, "string"),
        "sum": (7, "Sum"),
        "histogram": (9, "Histogram"),
    },
    "Sum": {
        "dataPoints": (1, "NumberPoint"),
        "aggregationTemporality": (2, "integer"),
        "isMonotonic": (3, "integer"),
    },
    "Histogram": {"dataPoints": (1, "HistogramPoint"), "aggregationTemporality": (2, "integer")},
    "NumberPoint": {**_TIMES, "asDouble": (4, "double"), "attributes": (7, "KeyValue")},
    "HistogramPoint": {
        **_TIMES,
        "count": (4, "fixed64"),
        "sum": (5, "double"),
        "bucketCounts": (6, "fixed64"),
        "explicitBounds": (7, "double"),
        "attributes": (9, "KeyValue"),
    },
}
# Kinds of fixed length: protobuf's code of the length, and how `struct` writes a value.
_FIXED = {"fixed64": (1, "<Q", int), "double": (1, "<d", float), "fixed32": (5, "<I", int)}
_VARIABLE, _COUNTED = 0, 2  # protobuf's codes of a variable integer, and of bytes with a length


def encode_request(request: Mapping[str, Any]) -> bytes:
    """Return an export request in protobuf's binary form.

    Args:
        request: the request in OTLP's JSON, with spans or metrics.

    Raises:
        KeyError: it has a field that is not known here.
    """
    return _encode_message(request, "Request")


def _encode_message(message: Mapping[str, Any], name: str) -> bytes:
    fields = _MESSAGES[name]
    encoded = bytearray()
    for key, value in message.items():
        number, kind = fields[key]
        values = value if isinstance(value, list) else [value]
        for item in values:
            encoded += _encode_value(number, kind, item)
    return bytes(encoded)


def _encode_value(number: int, kind: str, value: Any) -> bytes:
    """Return a field with one value; JSON writes integers of 64 bits as texts."""
    if kind in _FIXED:
        code, form, convert = _FIXED[kind]
        return _tag(number, code) + struct.pack(form, convert(value))
    if kind == "integer":
        # A negative integer is written as its complement of 64 bits.
        return _tag(number, _VARIABLE) + _variable(int(value) & (1 << 64) - 1)
    if kind == "hex":
        content = bytes.fromhex(value)
    elif kind == "string":
        content = str(value).encode()
    else:
        content = _encode_message(value, kind)
    return _tag(number, _COUNTED) + _variable(len(content)) + content


def _tag(number: int, code: int) -> bytes:
    return _variable(number << 3 | code)


def _variable(value: int) -> bytes:
    """Return a non-negative integer, seven bits a byte, the lowest ones first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
