"""A collector that takes no JSON gets protobuf, which the protocol's own package reads."""

from __future__ import annotations

import base64
import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.llm.conformance.server import LocalServer, Seen, Wire
from tests.telemetry.test_otlp import finish, to
from tests.telemetry.test_spans import spans as ended_spans
from transom.telemetry import Telemetry
from transom.telemetry.destination import destination
from transom.telemetry.otlp_json import RESOURCE, SCOPE, attribute_pairs
from transom.telemetry.otlp_protobuf import encode_request

VALUES: dict[str, Any] = {
    "text": 'a "b" \0 漢 \n',
    "void": "",
    "yes": True,
    "no": False,
    "zero": 0,
    "below": -3,
    "big": 2**62,
    "least": -(2**63),
    "f": 0.25,
    "inf": float("-inf"),
    "none": [],
    "ints": [1, -2],
    "texts": ["a", ""],
}


def theirs(request: dict[str, Any], message: Any) -> Any:
    """The request as the protocol's own package reads it from JSON, in which its ids are base64."""
    request = copy.deepcopy(request)
    for resource in request.get("resourceSpans", []):
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in [key for key in span if key.endswith("Id")]:
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return json_format.ParseDict(request, message)


def test_spans_are_read_as_their_json_is(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as telemetry, telemetry.span("outer", "client", **VALUES) as out:
        out.event("first", k=1, text="漢")
        with telemetry.span("inner", nan=math.inf) as inner:
            inner.fail("it failed")
    spans = ended_spans(tmp_path / f"{telemetry.trace_id}.jsonl")
    assert len(spans) == 2
    request = {
        "resourceSpans": [
            {"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": spans}]},
        ]
    }
    ours = ExportTraceServiceRequest.FromString(encode_request(request))
    assert ours == theirs(request, ExportTraceServiceRequest())
    assert ours.resource_spans[0].scope_spans[0].spans[1].name == "outer"


def test_metrics_are_read_as_their_json_is() -> None:
    times = {"startTimeUnixNano": "1795941000000000000", "timeUnixNano": "1795941000000000001"}
    attributes, _ = attribute_pairs(VALUES)
    count = {"attributes": attributes, **times, "asDouble": 3.5}
    histogram = {
        **times,
        "count": "300",
        "sum": 12.5,
        "bucketCounts": ["0", "300", "0"],
        "explicitBounds": [0.5, 100],
    }
    data: dict[str, Any] = {"aggregationTemporality": 2}
    kinds = [
        {"name": "a", "unit": "1", "sum": {"dataPoints": [count], **data, "isMonotonic": True}},
        {"name": "b", "description": "漢", "histogram": {"dataPoints": [histogram], **data}},
    ]
    scopes = [{"scope": SCOPE, "metrics": kinds}]
    request = {"resourceMetrics": [{"resource": RESOURCE, "scopeMetrics": scopes}]}
    ours = ExportMetricsServiceRequest.FromString(encode_request(request))
    assert ours == theirs(request, ExportMetricsServiceRequest())


def test_a_field_that_is_not_known_is_no_silent_loss() -> None:
    with pytest.raises(KeyError, match="links"):
        encode_request({"resourceSpans": [{"scopeSpans": [{"spans": [{"links": []}]}]}]})


def names_of(body: bytes) -> list[str]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        span.name
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


@pytest.mark.parametrize("chosen", ["", "http/protobuf"])
def test_a_collector_that_refuses_json_gets_protobuf_from_then_on(
    chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[tuple[str, str, Any]] = []

    def answer(wire: Wire, seen: Seen) -> None:
        kind = seen.headers["content-type"]
        taken.append((seen.path, kind, seen.body))
        wire.answer(200 if kind == "application/x-protobuf" else 415, b"")

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", chosen)
    with LocalServer(answer) as server:
        collector = destination(server.url)
        assert collector and collector.protocol == chosen
        exporting = to(server.url) if not chosen else _exporter(collector)
        with Telemetry.open(tmp_path, exporter=exporting) as telemetry, telemetry.span("one"):
            pass
        finish(exporting)
    traces = [(kind, body) for path, kind, body in taken if path == "/v1/traces"]
    if not chosen:
        kind, body = traces.pop(0)
        assert kind == "application/json" and "one" in json.dumps(body)
    ((kind, body),) = traces
    assert kind == "application/x-protobuf" and names_of(body) == ["one"]
    metrics = [(kind, body) for path, kind, body in taken if path == "/v1/metrics"]
    for kind, body in metrics:
        assert kind == "application/x-protobuf"
        assert ExportMetricsServiceRequest.FromString(body).resource_metrics


def _exporter(collector: Any) -> Any:
    from transom.telemetry.otlp import Exporter

    return Exporter(collector)
