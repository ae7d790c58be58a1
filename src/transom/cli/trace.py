"""`transom trace`: what happened when, from the trace files of the workspace."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from transom.cli.command import command
from transom.cli.history import RunRow, all_runs, history, pick
from transom.cli.output import age, plain, say, style, table
from transom.cli.session import Session
from transom.cli.tree import group
from transom.llm.prices import Prices
from transom.runs import trace_id
from transom.telemetry import failures, list_traces, read_trace, waterfall
from transom.telemetry.documents import TraceDocument, TraceList
from transom.telemetry.read import read_traces
from transom.telemetry.stats import Stats, statistics

trace_app = group("trace")


@command(trace_app, "list", example="transom trace list")
async def list_all(session: Session) -> int:
    """List the traces of the workspace, the newest first."""
    odd: list[str] = []
    traces = list_traces(session.workspace_root / "traces", odd)
    _tell(odd)
    runs = {trace_id(row.id): row.id for row in await _runs(session)}
    cells = [
        (one.trace_id, runs.get(one.trace_id, ""), one.started_at[:19], one.spans, one.errors, one.open)
        for one in traces
    ]
    lines = table(cells, head=("TRACE", "RUN", "STARTED", "SPANS", "ERRORS", "OPEN")) if cells else [_none(session)]
    rows = tuple(one.model_copy(update={"run_id": runs.get(one.trace_id)}) for one in traces)
    return session.report(TraceList(traces=rows), *lines)


@command(trace_app, "show", example="transom trace show 20261121-0930")
async def show(
    session: Session,
    trace: Annotated[str, typer.Argument(metavar="TRACE|RUN", help="An id or its beginning, or a run's name.")],
) -> int:
    """Show one trace: what failed, and a waterfall of all."""
    path = await _find(session, trace)
    odd: list[str] = []
    spans = read_trace(path, odd)
    _tell(odd)
    failed = [style(line, "red") for line in failures(spans)]
    lines = [style(f"trace {path.stem}", "bold"), *failed, *waterfall(spans)]
    return session.report(TraceDocument(trace_id=path.stem, spans=tuple(spans)), *lines)


@command(trace_app, "stats", example="transom trace stats --since 7d --by tool")
async def stats(
    session: Session,
    since: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only what began less than this ago: 30m, 12h, 7d, 2w.")
    ] = None,
    by: Annotated[Literal["provider", "tool", "role"], typer.Option(help="What a row is of.")] = "provider",
) -> int:
    """Add up the workspace's traces: calls, time, errors, tokens, cost."""
    oldest = time.time_ns() - int(age(since, "--since").total_seconds()) * 10**9 if since else 0
    odd: list[str] = []
    traces = (spans for _, spans in read_traces(session.workspace_root / "traces", odd))
    price = Prices.load(session.settings.paths.prices).of_tokens
    found = statistics(traces, by=by, price=price, since=since, oldest=oldest)
    _tell(odd)
    return session.report(found, *(_stats_lines(found) if found.traces else [_none(session, since)]))


_HEADS = ("CALLS", "MEAN S", "P95 S", "ERRORS", "RETRIES", "TOKENS IN", "CACHED", "OUT", "USD")


def _stats_lines(found: Stats) -> list[str]:
    cells = [
        (
            *(row.name, row.calls, f"{row.seconds.mean:.3f}", f"{row.seconds.p95:.3f}", plain(row.errors), row.retries),
            *(row.input_tokens, row.cached_tokens, row.output_tokens),
            "?" if row.cost_usd is None else f"{row.cost_usd:.4f}{'+?' if row.unpriced else ''}",
        )
        for row in found.rows
    ]
    beside = found.model_dump(include={"traces", "sub_conversations", "compression", "memory"})
    figures = [(name.replace("_", " "), plain(value)) for name, value in beside.items()]
    return [*table(cells, head=(found.by.upper(), *_HEADS)), *table(figures)]


def _tell(odd: Iterable[str]) -> None:
    """What was passed over, on stderr."""
    for one in odd:
        say(f"transom: {one}")


def _none(session: Session, since: str | None = None) -> str:
    lately = f" of the last {since}" if since else ""
    return f"no traces{lately} in {session.workspace_root / 'traces'}"


async def _runs(session: Session) -> list[RunRow]:
    async with history(session) as store:
        return all_runs(store) if store else []


async def _find(session: Session, text: str) -> Path:
    folder = session.workspace_root / "traces"
    files = {path.stem for path in folder.glob("*.jsonl")}
    rows = [row for row in await _runs(session) if trace_id(row.id) in files]
    named = {trace: trace for trace in sorted(files)} | {row.id: trace_id(row.id) for row in rows}
    called = [trace_id(row.id) for row in rows if row.name == text]
    return folder / f"{pick('trace', text, named, called, str(folder))}.jsonl"
