"""What we write of a span is what the SDK's own exporter writes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import SpanKind, StatusCode

from transom.telemetry import Telemetry

VALUES: dict[str, Any] = {
    "text": 'a "b" \0 漢 \n',
    "yes": True,
    "n": -3,
    "big": 2**62,
    "f": 0.25,
    "nan": float("nan"),
    "inf": float("inf"),
    "below": float("-inf"),
    "none": [],
    "ints": [1, 2],
    "floats": [1.0, float("inf")],
    "flags": [True, False],
    "texts": ["a", ""],
}


class Keep(SpanProcessor):
    def __init__(self) -> None:
        self.lines: list[Any] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.lines.append(json.loads(json.dumps(encode_spans([span]).to_dict())))


def theirs() -> list[Any]:
    provider = TracerProvider(
        resource=Resource({"service.name": "transom"}), shutdown_on_exit=False
    )
    keep = Keep()
    provider.add_span_processor(keep)
    tracer = provider.get_tracer("transom")
    with tracer.start_as_current_span("outer", kind=SpanKind.CLIENT, attributes=VALUES) as outer:
        outer.add_event("first", {"k": 1})
        outer.add_event("second")
        with tracer.start_as_current_span("inner"):
            pass
        outer.set_attribute("n", 4)
        outer.set_attribute("error.type", "it failed")
        outer.set_status(StatusCode.ERROR, "it failed")
    return keep.lines


def ours(folder: Path) -> list[Any]:
    with Telemetry.open(folder) as telemetry, telemetry.span("outer", "client", **VALUES) as outer:
        outer.event("first", k=1)
        outer.event("second")
        with telemetry.span("inner"):
            pass
        outer.set("n", 4)
        outer.fail("it failed")
    lines = [
        json.loads(line)
        for line in (folder / f"{telemetry.trace_id}.jsonl").read_text().splitlines()
    ]
    return [line for line in lines if line["resourceSpans"]]


def alike(line: Any) -> str:
    """A line without what may differ: ids and times, whose shapes stay, and the order of
    attributes.
    """
    (span,) = line["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for where in (span, *span.get("events", [])):
        for key in [key for key in where if key.endswith(("Id", "UnixNano"))]:
            where[key] = [type(where[key]).__name__, len(where[key])]
        where.get("attributes", []).sort(key=lambda pair: pair["key"])
    return json.dumps(line)


def test_a_span_is_written_as_the_sdk_writes_it(tmp_path: Path) -> None:
    inner, outer = ours(tmp_path)
    (span,) = inner["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert span["parentSpanId"] == outer["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"]
    assert [alike(line) for line in (inner, outer)] == [alike(line) for line in theirs()]
