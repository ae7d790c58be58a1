"""`transom window` and `transom trace`: what each model call saw, what was left out and why;
what happened when.
"""

from __future__ import annotations

import difflib
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transom.cli.app import group
from transom.cli.command import RunArgument, command
from transom.cli.history import found_run, history, pick
from transom.cli.output import age, plain, say, style, table
from transom.cli.session import Session
from transom.context.changes import changes, lines_of_changes
from transom.errors import InputError
from transom.llm.prices import Prices
from transom.runs import trace_id
from transom.runs.history import all_runs
from transom.runs.summarising import RunRow
from transom.runs.windows import JournaledCall, journaled_calls
from transom.telemetry import failures, list_traces, read_trace, waterfall
from transom.telemetry.read import TraceDocument, TraceList, read_traces
from transom.telemetry.stats import Stats, statistics

window_app = group("window")
CallNumber = Annotated[
    int | None, typer.Option(metavar="N", help="Show this call with its full text.")
]
Diff = Annotated[
    str | None,
    typer.Option(metavar="M|RUN", help="Show changes since call M, or since a call of that run."),
]


@command(window_app, "show", example="transom window show 20261121-0930 --call 3")
async def show_window(
    session: Session, run: RunArgument, call: CallNumber = None, diff: Diff = None
) -> int:
    """Show what each model call of a run saw, what was left out, and why."""
    calls, savings, run_id = await _calls(session, run)
    chosen = [_numbered(calls, call, "--call", run_id)] if call is not None else calls
    document = {
        "schema": "transom.window/1",
        "run_id": run_id,
        "calls": [one.to_json() for one in chosen],
    }
    if diff is not None:
        last = _numbered(calls, call or len(calls), "--diff", run_id)
        told, lines = _changes(await _first(session, diff, calls, last, run_id), last)
        return session.report(document | {"diff": told}, *lines)
    lines = [line for one in chosen for line in [*_call_lines(one), ""]]
    if call is not None:
        return session.report(document, *lines, *chosen[0].text.split("\n"))
    more = f"one call in full: transom window show {run_id} --call N"
    return session.report(
        document, *lines, *savings, more if calls else "no model was asked in this run"
    )


async def _calls(session: Session, run: str) -> tuple[list[JournaledCall], list[str], str]:
    async with found_run(session, run) as (store, found):
        calls, saved = journaled_calls(store, found.records)
    told = {by: one for by, one in saved.items() if one.reported_read or one.cost != 1 or one.below}
    return (
        calls,
        [f"cache of {by}: {line}" for by, one in told.items() for line in one.text().splitlines()],
        found.row.id,
    )


def _numbered(calls: list[JournaledCall], number: int, option: str, run_id: str) -> JournaledCall:
    if not 1 <= number <= len(calls):
        hint = f"it has calls 1 to {len(calls)}" if calls else "no model was asked in it"
        raise InputError(f"run {run_id} has no call {number}", where=option, hint=hint)
    return calls[number - 1]


async def _first(
    session: Session, diff: str, calls: list[JournaledCall], last: JournaledCall, run_id: str
) -> JournaledCall:
    """The call that another one is compared with: one of the same run, or of another run's the
    first of that role.
    """
    if diff.isdecimal():
        return _numbered(calls, int(diff), "--diff", run_id)
    others, _, run_id = await _calls(session, diff)
    role = last.reply["role"]
    found = [one for one in others if one.reply["role"] == role]
    if not found:
        raise InputError(
            f"run {run_id} has no call of {role}",
            where="--diff",
            hint="choose another with --call N",
        )
    return found[0]


def _call_lines(call: JournaledCall) -> list[str]:
    one, window, usage = call.to_json(), call.request.window, call.to_json()["usage"]
    head = f"call {call.number}  {one['stage']}  {one['role']}  answered by {one['by']}"
    if any(usage.values()):  # rules spend no tokens, and some servers report none
        head += (
            f"  {usage['input_tokens']} tokens in ({usage['cached_tokens']} cached),"
            f" {usage['output_tokens']} out"
        )
    if one["status"] != "whole":
        head += f", {one['status']}"
    media = {}
    for block in window.blocks:
        if block.media is not None:
            media[block.name] = block.media.text
    rows = []
    for block in one["blocks"]:
        columns = [value for name, value in block.items() if name not in ("media", "tokens")]
        rows.append((*columns, f"{block['tokens']} tokens"))
    turns = zip(one["turns"], map(call.tokens, window.turns), strict=True)
    told = {f"turn {n}": f"{_turn(turn)}, {size} tokens" for n, (turn, size) in enumerate(turns, 1)}
    beside = {
        "tools": {tool.name: f"{call.tokens(tool)} tokens" for tool in call.request.tools},
        "images and files": media,
        **told,
        "left out": one["dropped"],
        "used": {share["name"]: f"{share['used']} of {share['limit']}" for share in one["shares"]},
        "cache": {key: value for key, value in one["cache"].items() if key != "prefix" and value},
    }
    lines = [f"  {name}: {plain(value)}" for name, value in beside.items() if value]
    return [style(head, "bold"), *table(rows, indent="  "), *lines]


def _turn(turn: dict[str, Any]) -> str:
    """What one turn was, and which tools it names; its text stands in the call in full."""
    tools = [
        one["name"] for one in (*turn.get("parts", ()), *turn.get("results", ())) if "name" in one
    ]
    return f"{turn['kind'].replace('_', ' ')} {', '.join(tools)}".rstrip()


def _changes(first: JournaledCall, last: JournaledCall) -> tuple[dict[str, Any], list[str]]:
    """Where two windows part, as JSON and for people."""
    changed = changes(first.request, last.request)
    names = (f"call {first.number}", f"call {last.number}")
    lines = list(
        difflib.unified_diff(first.text.splitlines(), last.text.splitlines(), *names, lineterm="")
    )
    document = {"from": first.number, "to": last.number, "changes": changed, "lines": lines}
    return document, [*lines_of_changes(changed), *lines]


trace_app = group("trace")
Trace = Annotated[
    str,
    typer.Argument(
        metavar="TRACE|RUN", help="Trace: its id, the beginning of the id, or a run's name."
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="AGE", help="Only traces that began within: 30m, 12h, 7d, 2w.")
]
By = Annotated[Literal["provider", "tool", "role"], typer.Option(help="Group rows by this.")]


@command(trace_app, "list", example="transom trace list")
async def list_all(session: Session) -> int:
    """List the traces of the workspace, the newest first."""
    found = list_traces(session.workspace_root / "traces", _tell)
    runs = {trace_id(row.id): row.id for row in await _runs(session)}
    rows = tuple(one.model_copy(update={"run_id": runs.get(one.trace_id)}) for one in found)
    cells = [
        (r.trace_id, r.run_id or "-", f"{r.started_at[:19]}Z", r.spans, r.errors, r.open)
        for r in rows
    ]
    lines = table(cells, head=("TRACE", "RUN", "STARTED", "SPANS", "ERRORS", "OPEN")) or [
        _no_traces(session)
    ]
    return session.report(TraceList(traces=rows), *lines)


@command(trace_app, "show", example="transom trace show 20261121-0930")
async def show_trace(session: Session, trace: Trace) -> int:
    """Show one trace: its failures, and a waterfall of its spans."""
    path = await _trace_file(session, trace)
    spans = read_trace(path, _tell)
    failed = [style(line, "red") for line in failures(spans)]
    lines = [style(f"trace {path.stem}", "bold"), *failed, *waterfall(spans)]
    return session.report(TraceDocument(trace_id=path.stem, spans=tuple(spans)), *lines)


@command(trace_app, "stats", example="transom trace stats --since 7d --by tool")
async def stats(session: Session, since: Since = None, by: By = "provider") -> int:
    """Sum up the workspace's traces: calls, time, errors, tokens, cost."""
    oldest = time.time_ns() - int(age(since, "--since").total_seconds()) * 10**9 if since else 0
    traces = (spans for _, spans in read_traces(session.workspace_root / "traces", _tell))
    price = Prices.load(session.settings.paths.prices).of_tokens
    found = statistics(traces, by=by, price=price, since=since, oldest=oldest)
    return session.report(
        found, *(_stats_of(found) if found.traces else [_no_traces(session, since)])
    )


def _stats_of(found: Stats) -> list[str]:
    cells = [
        (
            *(
                row.name,
                row.calls,
                f"{row.seconds.mean:.3f}",
                f"{row.seconds.p95:.3f}",
                plain(row.errors),
                row.retries,
            ),
            *(row.input_tokens, row.cached_tokens, row.output_tokens),
            "?" if row.cost_usd is None else f"{row.cost_usd:.4f}{'+?' if row.unpriced else ''}",
        )
        for row in found.rows
    ]
    beside = found.model_dump(include={"traces", "sub_conversations", "compression", "memory"})
    figures = [(name.replace("_", " "), plain(value)) for name, value in beside.items()]
    head = (
        found.by.upper(),
        "CALLS",
        "MEAN S",
        "P95 S",
        "ERRORS",
        "RETRIES",
        "TOKENS IN",
        "CACHED",
        "OUT",
        "USD",
    )
    return [*table(cells, head=head), *table(figures)]


def _tell(odd: str) -> None:
    """What was passed over, on stderr."""
    say(f"transom: {odd}")


def _no_traces(session: Session, since: str | None = None) -> str:
    lately = f" of the last {since}" if since else ""
    return f"no traces{lately} in {session.workspace_root / 'traces'}"


async def _runs(session: Session) -> list[RunRow]:
    async with history(session) as store:
        return all_runs(store)


async def _trace_file(session: Session, text: str) -> Path:
    folder = session.workspace_root / "traces"
    files = {path.stem for path in folder.glob("*.jsonl")}
    rows = [row for row in await _runs(session) if trace_id(row.id) in files]
    named = {trace: trace for trace in sorted(files)} | {row.id: trace_id(row.id) for row in rows}
    called = [trace_id(row.id) for row in rows if row.name == text]
    return folder / f"{pick('trace', text, named, called, str(folder))}.jsonl"
