"""What `trace list` and `trace show` answer: `transom.traces/1`, `transom.trace/1`."""

from __future__ import annotations

from typing import Literal

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


class TraceDocument(_Shape):
    """One trace: its spans by their start."""

    schema_: Literal["transom.trace/1"] = Field(default="transom.trace/1", alias="schema")
    trace_id: str
    spans: tuple[SpanRow, ...]
