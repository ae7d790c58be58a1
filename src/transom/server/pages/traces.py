"""*Trace*: what happened when, errors first, then a waterfall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.errors import InputError
from transom.formats.charts import span_place
from transom.runs import trace_id
from transom.server.rendering import page
from transom.server.site import Site
from transom.telemetry import SpanRow, failures, read_trace, span_tree

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

MOST_SPANS = 500
"""Spans of one page; a longer trace says how many are left out."""


@dataclass(frozen=True)
class SpanBar:
    """A span in the waterfall.

    Attributes:
        span: the span.
        depth: how many spans are around it.
        after: seconds from the begin of the trace to its own.
        seconds: how long it took; None if it never ended.
        x, width: where its bar stands.
    """

    span: SpanRow
    depth: int
    after: float
    seconds: float | None
    x: float
    width: float


def spans_of(site: Site, run_id: str) -> list[SpanRow]:
    """Return the spans of a run; empty if it has no trace any more."""
    run = site.runs.summary(run_id)
    path = site.runs.workspace.traces / f"{trace_id(run.id)}.jsonl"
    try:
        return read_trace(path)
    # Old traces may have been removed.
    except InputError:
        return []


def bars_of(spans: list[SpanRow]) -> list[SpanBar]:
    """Return the waterfall of some spans."""
    if not spans:
        return []
    begin = min(span.start for span in spans)
    last = max(max(span.start, span.end or 0) for span in spans)
    bars: list[SpanBar] = []
    for span, depth in span_tree(spans):
        # A span that never ended reaches to the right end.
        end = last if span.end is None else span.end
        seconds = None if span.end is None else (span.end - span.start) / 1e9
        after = (span.start - begin) / 1e9
        place = span_place(span.start, end, begin, last)
        bars.append(SpanBar(span, depth, after, seconds, *place))
    return bars


@router.get("/runs/{run_id}/trace")
def show_trace(request: Request, run_id: str) -> Response:
    """Show the trace of a run."""
    site: Site = request.app.state.site
    spans = spans_of(site, run_id)
    bars = bars_of(spans)
    run = site.runs.summary(run_id)
    values = {
        "run": run,
        "title": site.title(run),
        "problems": failures(spans),
        "bars": bars[:MOST_SPANS],
        "total": len(bars),
    }
    return page(request, "trace.html", values)


@api.get("/runs/{run_id}/trace")
def get_trace(request: Request, run_id: str) -> dict[str, Any]:
    """Get the spans of a run."""
    spans = spans_of(request.app.state.site, run_id)
    rows = [span.__dict__ for span in spans]
    return {"schema": "transom.trace/1", "run_id": run_id, "spans": rows}
