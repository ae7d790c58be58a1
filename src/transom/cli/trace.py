"""`transom trace`: what happened when, from the trace files of the workspace."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transom.cli.command import command, group
from transom.cli.history import RunRow, all_runs, history
from transom.cli.nearest import near
from transom.cli.output import counted, print_json, print_text, say, style, table
from transom.cli.session import Session
from transom.errors import InputError, StoreError

if TYPE_CHECKING:
    from transom.telemetry import TraceRow
    from transom.telemetry.read import Odd
    from transom.telemetry.stats import Stats

trace_app = group("trace", "Traces: what happened when, and how long it took.")


@command(trace_app, "list", example="transom trace list")
async def list_all(session: Session) -> int:
    """List the traces of the workspace, the newest first."""
    from transom.telemetry import list_traces

    odd: list[Odd] = []
    traces = list_traces(session.workspace_root / "traces", odd)
    _tell(odd)
    runs = {trace: run for run, trace in (await _traces_of_runs(session)).items()}
    if session.format == "json":
        from transom.telemetry.documents import TraceList, TraceSummary

        print_json(TraceList(traces=tuple(TraceSummary.of(one, runs.get(one.trace_id)) for one in traces)))
    elif traces:
        cells = [
            (one.trace_id, runs.get(one.trace_id, ""), _time(one), str(one.spans), str(one.errors), str(one.open))
            for one in traces
        ]
        header, *lines = table([("TRACE", "RUN", "STARTED", "SPANS", "ERRORS", "OPEN"), *cells])
        print_text(style(header, "bold"), *lines)
    else:
        print_text(_none(session))
    return 0


@command(trace_app, "show", example="transom trace show 20261121-0930")
async def show(
    session: Session,
    trace: Annotated[str, typer.Argument(metavar="TRACE|RUN", help="An id or its beginning, or a run's name.")],
) -> int:
    """Show one trace: what failed, and a waterfall of all."""
    from transom.telemetry import failures, read_trace, waterfall
    from transom.telemetry.documents import TraceDocument

    path = await _find(session, trace)
    odd: list[Odd] = []
    spans = read_trace(path, odd)
    _tell(odd)
    if session.format == "json":
        print_json(TraceDocument(trace_id=path.stem, spans=tuple(spans)))
    else:
        failed = [style(line, "red") for line in failures(spans)]
        print_text(style(f"trace {path.stem}", "bold"), *failed, *waterfall(spans))
    return 0


@command(trace_app, "stats", example="transom trace stats --since 7d --by tool")
async def stats(
    session: Session,
    since: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only what began less than this ago: 30m, 12h, 7d, 2w.")
    ] = None,
    by: Annotated[Literal["provider", "tool", "role"], typer.Option(help="What a row is of.")] = "provider",
) -> int:
    """Add up the workspace's traces: calls, time, errors, tokens, cost."""
    from transom.cli.cleaning import age
    from transom.runs.prices import Prices, price_by
    from transom.telemetry.read import read_traces
    from transom.telemetry.stats import statistics

    oldest = time.time_ns() - int(age(since, "--since").total_seconds()) * 10**9 if since else 0
    odd: list[Odd] = []
    traces = (spans for _, spans in read_traces(session.workspace_root / "traces", odd))
    price = price_by(Prices.load(session.settings.paths.prices))
    found = statistics(traces, by=by, price=price, since=since, oldest=oldest)
    _tell(odd)
    if session.format == "json":
        print_json(found)
    elif not found.traces:
        print_text(_none(session, since))
    else:
        _print_stats(found)
    return 0


_HEADS = ("CALLS", "MEAN S", "P95 S", "ERRORS", "RETRIES", "TOKENS IN", "CACHED", "OUT", "USD")


def _print_stats(found: Stats) -> None:
    cells = [
        (
            row.name,
            str(row.calls),
            f"{row.seconds.mean:.3f}",
            f"{row.seconds.p95:.3f}",
            f"{sum(row.errors.values())} ({row.error_rate:.0%})",
            f"{row.retries} ({row.retry_rate:.0%})",
            str(row.input_tokens),
            str(row.cached_tokens),
            str(row.output_tokens),
            "?" if row.cost_usd is None else f"{row.cost_usd:.4f}{'+?' if row.unpriced else ''}",
        )
        for row in found.rows
    ]
    header, *lines = table([(found.by.upper(), *_HEADS), *cells])
    print_text(style(header, "bold"), *lines)
    for row in found.rows:
        print_text(*(f"{row.name}: {number} times {kind}" for kind, number in row.errors.items()))
    folds = found.compression
    ratio = f", {folds.ratio:.0%} of their tokens left" if folds.ratio is not None else ""
    print_text(
        f"{counted(found.traces, 'trace')}, {counted(found.sub_conversations, 'sub-conversation')}, "
        f"{counted(folds.count, 'window')} folded{ratio}"
    )
    if recalled := found.memory.queries:
        seconds, hits = found.memory.seconds, found.memory.hit_rate
        took = f"{seconds.mean:.3f} s, 95 of a hundred within {seconds.p95:.3f} s"
        print_text(f"memory was asked {counted(recalled, 'time')}: {took}; {hits:.0%} found something")


def _tell(odd: Iterable[Odd]) -> None:
    """What was passed over, on stderr."""
    for one in odd:
        say(f"transom: {one}")


def _none(session: Session, since: str | None = None) -> str:
    lately = f" of the last {since}" if since else ""
    return f"no traces{lately} in {session.workspace_root / 'traces'}"


def _time(trace: TraceRow) -> str:
    return f"{trace.started:%Y-%m-%d %H:%M:%S}Z"


async def _runs(session: Session) -> list[RunRow]:
    """All runs, the newest first; none where the database cannot be read: traces are files of their own."""
    try:
        async with history(session) as store:
            return all_runs(store) if store else []
    except StoreError as error:
        say(f"transom: {error}")
        say("transom: so that no trace is told by its run here")
        return []


async def _traces_of_runs(session: Session) -> dict[str, str]:
    """Run id -> trace id, the newest first."""
    from transom.runs import trace_id

    return {row.id: trace_id(row.id) for row in await _runs(session)}


async def _find(session: Session, text: str) -> Path:
    from transom.runs import trace_id

    folder = session.workspace_root / "traces"
    files = {path.stem for path in folder.glob("*.jsonl")}
    named = {trace: trace for trace in files}
    rows = await _runs(session)
    traces = {row.id: trace_id(row.id) for row in rows if trace_id(row.id) in files}
    named |= traces
    called = {traces[row.id] for row in rows if row.name == text and row.id in traces}
    exact = {named[text]} if text in named else called
    matching = exact or {trace for name, trace in named.items() if text and name.startswith(text)}
    if len(matching) == 1:
        return folder / f"{matching.pop()}.jsonl"
    if matching:
        how = "are called" if called else "begin with"
        raise InputError(f"{len(matching)} traces {how} {text!r}", where=str(folder), hint="give more of it")
    meant = near(text, sorted(named))
    there = "see: transom trace list" if named else "no run has left one here yet"
    hint = f"near: {', '.join(meant)}" if meant else there
    raise InputError(f"no trace {text!r}", where=str(folder), hint=hint)
