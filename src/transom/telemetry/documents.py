"""Documents of `trace list` and `trace show`: `transom.traces/1`, `transom.trace/1`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.telemetry.otlp_json import SpanRow


class Shape(BaseModel):
    """Base of documents: no other fields, and none that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TraceRow(Shape):
    """One trace in a list: when it began (ISO 8601, UTC), and counts of spans.

    `run_id` is None for one that no run of this workspace left.
    """

    trace_id: str
    run_id: str | None = None
    started_at: str
    spans: int
    errors: int
    open: int


class TraceList(Shape):
    """All traces of a workspace, the newest first."""

    schema_: Literal["transom.traces/1"] = Field(default="transom.traces/1", alias="schema")
    traces: tuple[TraceRow, ...]


class TraceDocument(Shape):
    """One trace: its spans by their start."""

    schema_: Literal["transom.trace/1"] = Field(default="transom.trace/1", alias="schema")
    trace_id: str
    spans: tuple[SpanRow, ...]
