"""What `trace list` and `trace show` answer: `transom.traces/1`, `transom.trace/1`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.telemetry.read import TraceRow
from transom.telemetry.rows import SpanRow


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TraceSummary(_Shape):
    """One trace; `run_id` is None for one that no run of this workspace left."""

    trace_id: str
    run_id: str | None
    started_at: str
    spans: int
    errors: int
    open: int

    @staticmethod
    def of(trace: TraceRow, run_id: str | None) -> TraceSummary:
        return TraceSummary(
            trace_id=trace.trace_id,
            run_id=run_id,
            started_at=trace.started.isoformat(),
            spans=trace.spans,
            errors=trace.errors,
            open=trace.open,
        )


class TraceList(_Shape):
    """All traces of a workspace, the newest first."""

    schema_: Literal["transom.traces/1"] = Field(default="transom.traces/1", alias="schema")
    traces: tuple[TraceSummary, ...]


class SpanDocument(_Shape):
    """One span; times are nanoseconds since 1970, `end` is None for one that never ended."""

    name: str
    span_id: str
    parent_id: str | None
    start: int
    end: int | None
    attributes: dict[str, Any]
    status: Literal["ok", "error", "open"]
    message: str


class TraceDocument(_Shape):
    """One trace: its spans by their start."""

    schema_: Literal["transom.trace/1"] = Field(default="transom.trace/1", alias="schema")
    trace_id: str
    spans: tuple[SpanDocument, ...]

    @staticmethod
    def of(trace_id: str, spans: list[SpanRow]) -> TraceDocument:
        return TraceDocument(trace_id=trace_id, spans=tuple(SpanDocument(**asdict(span)) for span in spans))
