"""`transom trace`: what happened when, from the trace files of the workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import command, group
from transom.cli.history import all_runs, history
from transom.cli.output import print_json, print_text, style, table
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.telemetry import SpanRow, TraceRow

trace_app = group("trace", "Traces: what happened when, and how long it took.")


@command(trace_app, "list", example="transom trace list")
async def list_all(session: Session) -> int:
    """List the traces of the workspace, the newest first."""
    from transom.telemetry import list_traces

    traces = list_traces(session.workspace_root / "traces")
    runs = {trace: run for run, trace in (await _traces_of_runs(session)).items()}
    if session.format == "json":
        print_json({"schema": "transom.traces/1", "traces": [_summary(one, runs.get(one.trace_id)) for one in traces]})
    elif traces:
        cells = [
            (one.trace_id, runs.get(one.trace_id, ""), _time(one), str(one.spans), str(one.errors)) for one in traces
        ]
        header, *lines = table([("TRACE", "RUN", "STARTED", "SPANS", "ERRORS"), *cells])
        print_text(style(header, "bold"), *lines)
    else:
        print_text(f"no traces in {session.workspace_root / 'traces'}")
    return 0


@command(trace_app, "show", example="transom trace show 20261121-0930")
async def show(
    session: Session,
    trace: Annotated[str, typer.Argument(metavar="TRACE|RUN", help="An id of either, or the beginning of one.")],
) -> int:
    """Show one trace as a waterfall."""
    from transom.telemetry import read_trace, waterfall

    path = await _find(session, trace)
    spans = read_trace(path)
    if session.format == "json":
        document = {"schema": "transom.trace/1", "trace_id": path.stem, "spans": [_document(one) for one in spans]}
        print_json(document)
    else:
        print_text(style(f"trace {path.stem}", "bold"), *waterfall(spans))
    return 0


def _summary(trace: TraceRow, run_id: str | None) -> dict[str, Any]:
    return {
        "trace_id": trace.trace_id,
        "run_id": run_id,
        "started_at": trace.started.isoformat(),
        "spans": trace.spans,
        "errors": trace.errors,
        "open": trace.open,
    }


def _time(trace: TraceRow) -> str:
    return f"{trace.started:%Y-%m-%d %H:%M:%S}Z"


def _document(span: SpanRow) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(span)


async def _traces_of_runs(session: Session) -> dict[str, str]:
    """Run id -> trace id, the newest first."""
    from transom.runs import trace_id

    async with history(session) as store:
        return {row.id: trace_id(row.id) for row in all_runs(store)} if store else {}


async def _find(session: Session, text: str) -> Path:
    folder = session.workspace_root / "traces"
    files = {path.stem for path in folder.glob("*.jsonl") if "." not in path.stem}
    named = {trace: trace for trace in files}
    named |= {run: trace for run, trace in (await _traces_of_runs(session)).items() if trace in files}
    exact = {named[text]} if text in named else set()
    matching = exact or {trace for name, trace in named.items() if text and name.startswith(text)}
    if len(matching) == 1:
        return folder / f"{matching.pop()}.jsonl"
    if matching:
        raise InputError(f"{len(matching)} traces begin with {text!r}", where=str(folder), hint="give more of it")
    from transom.cli.nearest import nearest

    hint = f"near: {nearest(text, sorted(named))}" if named else "no run has left one here yet"
    raise InputError(f"no trace {text!r}", where=str(folder), hint=hint)
