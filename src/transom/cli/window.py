"""`transom window` and `transom trace`: the window of each model call, and the course of a run."""

from __future__ import annotations

import difflib
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transom.cli.app import group
from transom.cli.command import RunArgument, command
from transom.cli.command_session import Session
from transom.cli.output import age, plain, say, style, table
from transom.cli.run_lookup import found_run, history, pick
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

_BLOCK_COLUMNS = ("BLOCK", "TIER", "TRUST", "EGRESS", "SHARE", "SIZE")

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
    chosen = calls if call is None else [_numbered(calls, call, "--call", run_id)]
    document = {
        "schema": "transom.window/1",
        "run_id": run_id,
        "calls": [chosen_call.to_json() for chosen_call in chosen],
    }
    if diff is not None:
        last = _numbered(calls, call or len(calls), "--diff", run_id)
        first = await _first(session, diff, calls, last, run_id)
        difference, lines = _changes(first, last)
        return session.show(document | {"diff": difference}, *lines)
    lines = []
    for chosen_call in chosen:
        lines += [*_call_lines(chosen_call), ""]
    if call is not None:
        return session.show(document, *lines, *chosen[0].text.split("\n"))
    hint = "no model was asked in this run, so it has no windows"
    if calls:
        hint = f"one call in full: transom window show {run_id} --call N"
    return session.show(document, *lines, *savings, hint)


async def _calls(session: Session, run: str) -> tuple[list[JournaledCall], list[str], str]:
    """Return the calls of a run, lines about vendors' caches, and the run's id."""
    async with found_run(session, run) as (store, run_view):
        calls, savings = journaled_calls(store, run_view.records)
    lines: list[str] = []
    for provider, saving in savings.items():
        # A cache that saved nothing, and could not, is not worth a line.
        if saving.reported_read or saving.cost != 1 or saving.below:
            lines += [f"cache of {provider}: {line}" for line in saving.text().splitlines()]
    return calls, lines, run_view.row.id


def _numbered(calls: list[JournaledCall], number: int, option: str, run_id: str) -> JournaledCall:
    if not 1 <= number <= len(calls):
        hint = f"it has calls 1 to {len(calls)}" if calls else "no model was asked in it"
        raise InputError(f"run {run_id} has no call {number}", place=option, hint=hint)
    return calls[number - 1]


async def _first(
    session: Session, diff: str, calls: list[JournaledCall], last: JournaledCall, run_id: str
) -> JournaledCall:
    """Return the call that another one is compared with.

    It is one of the same run, or the first call of the same role in another run.
    """
    # A number is a call, and any other text a run.
    if diff.isdecimal():
        return _numbered(calls, int(diff), "--diff", run_id)
    other_calls, _, run_id = await _calls(session, diff)
    role = last.reply["role"]
    for call in other_calls:
        if call.reply["role"] == role:
            return call
    raise InputError(
        f"run {run_id} has no call of {role}", place="--diff", hint="choose another with --call N"
    )


def _call_lines(call: JournaledCall) -> list[str]:
    """Return the lines that show a call: its tokens, its blocks and turns, and its shares."""
    document = call.to_json()
    window, usage = call.request.window, document["usage"]
    head = f"call {call.number}  {document['stage']}  {document['role']}"
    head += f"  answered by {document['by']}"
    # Rules spend no tokens, and some servers report none.
    if any(usage.values()):
        head += (
            f"  {usage['input_tokens']} tokens in ({usage['cached_tokens']} cached),"
            f" {usage['output_tokens']} out"
        )
    if document["status"] != "whole":
        head += f", {document['status']}"
    rows: list[tuple[Any, ...]] = []
    for block in document["blocks"]:
        columns = [value for name, value in block.items() if name not in ("media", "tokens")]
        rows.append((*columns, f"{block['tokens']} tokens"))
    media: dict[str, str] = {}
    for window_block in window.blocks:
        if window_block.media is not None:
            media[window_block.name] = window_block.media.text
    turns = zip(document["turns"], map(call.tokens, window.turns), strict=True)
    figures: dict[str, Any] = {
        "tools": {tool.name: f"{call.tokens(tool)} tokens" for tool in call.request.tools},
        "images and files": media,
    }
    for number, (turn, size) in enumerate(turns, 1):
        figures[f"turn {number}"] = f"{_turn(turn)}, {size} tokens"
    figures["left out"] = document["dropped"]
    figures["used"] = {share["name"]: _room_used(share) for share in document["shares"]}
    cache = dict(document["cache"])
    # The prefix is a digest, which says nothing to a person.
    cache.pop("prefix", None)
    figures["cache"] = {key: value for key, value in cache.items() if value}
    lines = [f"  {name}: {plain(value)}" for name, value in figures.items() if value]
    return [style(head, "bold"), *table(rows, head=_BLOCK_COLUMNS, indent="  "), *lines]


def _room_used(share: dict[str, Any]) -> str:
    """Return the tokens of a share; more than its limit are room that other shares left free."""
    used, limit = share["used"], share["limit"]
    if used > limit:
        return f"{used} (share {limit}, borrowed from free room)"
    return f"{used} of {limit}"


def _turn(turn: dict[str, Any]) -> str:
    """Return the kind of a turn, and the tools it names; its text stands in the call in full."""
    names: list[str] = []
    for part in (*turn.get("parts", ()), *turn.get("results", ())):
        if "name" in part:
            names.append(part["name"])
    return f"{turn['kind'].replace('_', ' ')} {', '.join(names)}".rstrip()


def _changes(first: JournaledCall, last: JournaledCall) -> tuple[dict[str, Any], list[str]]:
    """Return the differences between two windows, as JSON and for people."""
    changed = changes(first.request, last.request)
    names = (f"call {first.number}", f"call {last.number}")
    old, new = first.text.splitlines(), last.text.splitlines()
    lines = list(difflib.unified_diff(old, new, *names, lineterm=""))
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
    str | None,
    typer.Option(metavar="AGE", help="Include only traces of this period: 30m, 12h, 7d, 2w."),
]
GroupOption = Annotated[
    Literal["provider", "tool", "role"], typer.Option("--by", help="Group of each row.")
]


@command(trace_app, "list", example="transom trace list")
async def list_all(session: Session) -> int:
    """List the traces of the workspace, the newest first."""
    run_ids = {trace_id(row.id): row.id for row in await _runs(session)}
    rows = []
    cells = []
    for trace in list_traces(session.workspace_root / "traces", _warn):
        row = trace.model_copy(update={"run_id": run_ids.get(trace.trace_id)})
        rows.append(row)
        started = f"{row.started_at[:19]}Z"
        cells.append((row.trace_id, row.run_id or "-", started, row.spans, row.errors, row.open))
    lines = table(cells, head=("TRACE", "RUN", "STARTED", "SPANS", "ERRORS", "OPEN"))
    return session.show(TraceList(traces=tuple(rows)), *lines or [_no_traces(session)])


@command(trace_app, "show", example="transom trace show 20261121-0930")
async def show_trace(session: Session, trace: Trace) -> int:
    """Show one trace: its failures, and a waterfall of its spans."""
    path = await _trace_file(session, trace)
    spans = read_trace(path, _warn)
    failed = [style(line, "red") for line in failures(spans)]
    lines = [style(f"trace {path.stem}", "bold"), *failed, *waterfall(spans)]
    return session.show(TraceDocument(trace_id=path.stem, spans=tuple(spans)), *lines)


@command(trace_app, "stats", example="transom trace stats --since 7d --by tool")
async def stats(session: Session, since: Since = None, group_by: GroupOption = "provider") -> int:
    """Sum up the workspace's traces: calls, time, errors, tokens, cost."""
    oldest = 0
    if since:
        oldest = time.time_ns() - int(age(since, "--since").total_seconds()) * 10**9
    # Read one after the other: a workspace may hold thousands.
    traces = (spans for _, spans in read_traces(session.workspace_root / "traces", _warn))
    price = Prices.load(session.settings.paths.prices).of_tokens
    figures = statistics(traces, by=group_by, price=price, since=since, oldest=oldest)
    if not figures.traces:
        return session.show(figures, _no_traces(session, since))
    return session.show(figures, *_stats_lines(figures))


def _stats_lines(figures: Stats) -> list[str]:
    """Return the statistics as a table with a row for each group, and the sums below it."""
    cells = []
    for row in figures.rows:
        cost = "?"
        if row.cost_usd is not None:
            # The price of some calls of the row may be unknown.
            mark = "+?" if row.unpriced else ""
            cost = f"{row.cost_usd:.4f}{mark}"
        mean = f"{row.seconds.mean:.3f}"
        p95 = f"{row.seconds.p95:.3f}"
        errors = plain(row.errors)
        tokens = (row.input_tokens, row.cached_tokens, row.output_tokens)
        cells.append((row.name, row.calls, mean, p95, errors, row.retries, *tokens, cost))
    head = (
        figures.by.upper(),
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
    sums = figures.model_dump(include={"traces", "sub_conversations", "compression", "memory"})
    rows = [(name.replace("_", " "), plain(value)) for name, value in sums.items()]
    return [*table(cells, head=head), *table(rows)]


def _warn(problem: str) -> None:
    """Print which trace or line was skipped, on stderr."""
    say(f"transom: {problem}")


def _no_traces(session: Session, since: str | None = None) -> str:
    period = f" of the last {since}" if since else ""
    return f"no traces{period} in {session.workspace_root / 'traces'}"


async def _runs(session: Session) -> list[RunRow]:
    async with history(session) as store:
        return all_runs(store)


async def _trace_file(session: Session, text: str) -> Path:
    """Return the file of the trace that a person means by its id, or by its run."""
    folder = session.workspace_root / "traces"
    files = {path.stem for path in folder.glob("*.jsonl")}
    ids = {trace: trace for trace in sorted(files)}
    with_name: list[str] = []
    for row in await _runs(session):
        trace = trace_id(row.id)
        # Its trace may have been removed, or the run was never traced.
        if trace not in files:
            continue
        ids[row.id] = trace
        if row.name == text:
            with_name.append(trace)
    return folder / f"{pick('trace', text, ids, with_name, place=str(folder))}.jsonl"
