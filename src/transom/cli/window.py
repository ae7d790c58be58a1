"""`transom window show`: what each model call saw, what was left out and why."""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from transom.cli.command import RunArgument, command
from transom.cli.history import RunView, found_run
from transom.cli.output import print_text, style, table, unread
from transom.cli.session import Session
from transom.cli.tree import group
from transom.context import TokenCorrection
from transom.context.budget import share_of
from transom.context.cache import CacheMonitor, Seen
from transom.context.changes import changes, lines_of_changes
from transom.context.segments import Piece, piece_size
from transom.context.tokens import Measure
from transom.errors import InputError
from transom.llm import Request, Usage, render
from transom.llm.cache_terms import terms_of
from transom.llm.codec import request_from_json
from transom.runs.conversation import ConversationKey, key_of
from transom.runs.windows import requests_of
from transom.store import SqliteStore

window_app = group("window")


@dataclass(frozen=True)
class Call:
    """One journaled call.

    Attributes:
        number: from 1, in the order of the run.
        reply: its journal record.
        document: its request as JSON: blocks, turns, what was dropped.
        request: its request as it was made.
        rendered: the bytes that were sent.
        correction: how tokens were estimated by then, with the usage of the conversation's earlier calls.
        seen: what the cache monitor says of it, beside the calls before it.
    """

    number: int
    reply: dict[str, Any]
    document: dict[str, Any]
    request: Request
    rendered: bytes
    correction: TokenCorrection
    seen: Seen

    @property
    def text(self) -> str:
        return self.rendered.decode("utf-8", "surrogatepass")

    def tokens(self, piece: Piece) -> int:
        """The estimate of a part of the window."""
        return self.correction.tokens(piece_size(piece))

    def to_json(self) -> dict[str, Any]:
        reply, document = self.reply, self.document
        return {
            "call": self.number,
            **{name: reply[name] for name in ("stage", "attempt", "conversation", "ordinal", "role")},
            "by": reply["reply"]["by"],
            "usage": reply["reply"]["usage"],
            "status": reply.get("status", "whole"),
            "blocks": [
                {
                    "name": block.name,
                    "tier": str(block.tier),
                    "trust": block.trust,
                    "egress": block.egress,
                    "share": share_of(block),
                    "tokens": self.tokens(block),
                }
                for block in self.request.window.blocks
            ],
            "tools": [tool.name for tool in self.request.tools],
            "turns": document["turns"],
            "dropped": document["dropped"],
            "shares": [
                {"name": name, "used": used, "limit": limit} for name, (used, limit) in reply.get("shares", {}).items()
            ],
            "cache": self.seen.to_json(),
            "rendered": self.text,
        }


def calls_of(store: SqliteStore, found: RunView) -> tuple[list[Call], list[str]]:
    """All calls of a run, oldest first; and what caches saved, for people.

    Each conversation learns of each model from its own usage, of the first call of an answer.
    """
    monitors: dict[str, CacheMonitor] = {}
    learned: dict[tuple[ConversationKey, str], TokenCorrection] = {}
    calls: list[Call] = []
    for reply, document in zip(found.replies, requests_of(store, found.records), strict=True):
        request, sent = request_from_json(document), reply["window"].get("rendered")
        rendered = store.get_blob(sent) if sent else render(request).as_text().encode("utf-8", "surrogatepass")
        answer, key = reply["reply"], key_of(reply)
        by, usage = answer["by"], Usage(**answer["usage"])
        correction = learned.get((key, by), TokenCorrection())
        monitor = monitors.setdefault(by, CacheMonitor(terms_of(by)))
        monitor.tokens = correction
        seen = monitor.watch(request, usage, conversation=key.conversation)
        if size := reply.get("size"):
            learned[key, by] = correction.learned(Measure(*size), usage.input_tokens)
        calls.append(Call(len(calls) + 1, reply, document, request, rendered, correction, seen))
    saved = [(by, monitor.savings()) for by, monitor in monitors.items()]
    return calls, [
        f"cache of {by}: {line}"
        for by, savings in saved
        if savings.reported_read or savings.cost != 1 or savings.below
        for line in savings.text().splitlines()
    ]


@command(window_app, "show", example="transom window show 20261121-0930 --call 3")
async def show_window(
    session: Session,
    run: RunArgument,
    call: Annotated[int | None, typer.Option(metavar="N", help="This call, with every byte that was sent.")] = None,
    diff: Annotated[
        str | None,
        typer.Option(metavar="M|RUN", help="What changed since call M, or since that run asked the same role."),
    ] = None,
) -> int:
    """Show what each model call of a run saw, what was left out and why."""
    calls, savings, run_id = await _calls(session, run)
    chosen = [_numbered(calls, call, "--call", run_id)] if call is not None else calls
    document = {"schema": "transom.window/1", "run_id": run_id, "calls": [one.to_json() for one in chosen]}
    if diff is not None:
        told, lines = _changes(await _first(session, diff, calls, chosen, run_id), chosen[-1])
        return session.report(document | {"diff": told}, *lines)
    if call is not None and session.format == "text":
        return _print_whole(chosen[0])
    lines = [line for one in chosen for line in [*_call_lines(one), ""]]
    more = f"one call in full: transom window show {run_id} --call N"
    return session.report(document, *lines, *savings, more if calls else "no model was asked in this run")


async def show_call(session: Session, run: str, number: int) -> None:
    """Print what one call saw."""
    calls, _, run_id = await _calls(session, run)
    print_text(*(f"  {line}" for line in _call_lines(_numbered(calls, number, "call", run_id))))


async def _calls(session: Session, run: str) -> tuple[list[Call], list[str], str]:
    async with found_run(session, run) as (store, found):
        return *calls_of(store, found), found.row.id


def _numbered(calls: list[Call], number: int, option: str, run_id: str) -> Call:
    if not 1 <= number <= len(calls):
        hint = f"it has calls 1 to {len(calls)}" if calls else "no model was asked in it"
        raise InputError(f"run {run_id} has no call {number}", where=option, hint=hint)
    return calls[number - 1]


async def _first(session: Session, diff: str, calls: list[Call], chosen: list[Call], run_id: str) -> Call:
    """The call that another one is compared with: one of the same run, or of another run's the first of that role."""
    if diff.isdecimal():
        return _numbered(calls, int(diff), "--diff", run_id)
    if not chosen:
        raise InputError("no model was asked in it", where=run_id, hint="name another run")
    others, _, run_id = await _calls(session, diff)
    role = chosen[-1].reply["role"]
    for one in others:
        if one.reply["role"] == role:
            return one
    raise InputError(f"run {run_id} has no call of {role}", where="--diff", hint="choose another with --call N")


def _call_lines(call: Call) -> list[str]:
    one, window = call.to_json(), call.request.window
    usage, head = one["usage"], (f"call {call.number}", one["stage"], one["role"])
    tokens = f"{usage['input_tokens']} tokens in ({usage['cached_tokens']} cached), {usage['output_tokens']} out"
    rows = [(*list(block.values())[:-1], f"{block['tokens']} tokens") for block in one["blocks"]]
    tools = ", ".join(f"{tool.name} ({call.tokens(tool)} tokens)" for tool in call.request.tools)
    turns = zip(one["turns"], map(call.tokens, window.turns), strict=True)
    used = ", ".join(f"{share['name']} {share['used']} of {share['limit']}" for share in one["shares"])
    together = " of ".join(str(sum(share[name] for share in one["shares"])) for name in ("used", "limit"))
    lines = [f"tools: {tools}"] if tools else []
    lines += [f"turn {n}: {_turn(told)}, {size} tokens" for n, (told, size) in enumerate(turns, 1)]
    lines += [f"left out: {out['name']} ({out['tokens']} tokens), {out['why']}" for out in one["dropped"]]
    lines += [f"used: {used}; together {together} tokens"] if used else []
    lines += _cache_lines(call)
    status = "" if one["status"] == "whole" else f", {one['status']}"
    top = style(f"{'  '.join(head)}  answered by {one['by']}  {tokens}{status}", "bold")
    return [top, *table(rows, indent="  "), *(f"  {line}" for line in lines)]


def _cache_lines(call: Call) -> list[str]:
    seen = call.seen
    broke = f"; broken by {seen.first_difference.name} ({seen.first_difference.how})" if seen.first_difference else ""
    if seen.below:
        what = f"what may be kept is below the minimum of {seen.below} tokens, as estimated, so nothing is"
        return [f"cache: {what}{broke}"]
    told = f"cache: {seen.read} of {seen.tokens} tokens were sent before, as estimated{broke}"
    return [told] if seen.hit or broke else []


def _turn(turn: dict[str, Any]) -> str:
    """What one turn was, and which tools it names; its text stands in the call in full."""
    tools = [one["name"] for one in (*turn.get("parts", ()), *turn.get("results", ())) if "name" in one]
    return f"{turn['kind'].replace('_', ' ')} {', '.join(tools)}".rstrip()


def _print_whole(call: Call) -> int:
    """The header, the blocks, an empty line, and the bytes as they were sent; a terminal is shown what it can show."""
    print_text(*_call_lines(call), "")
    if sys.stdout.isatty():
        print_text(*call.text.split("\n"))
        return 0
    with unread():
        sys.stdout.flush()
        sys.stdout.buffer.write(call.rendered + b"\n")
        sys.stdout.buffer.flush()
    return 0


def _changes(first: Call, last: Call) -> tuple[dict[str, Any], list[str]]:
    """Where two windows part, as JSON and for people."""
    changed = changes(first.request, last.request)
    names = (f"call {first.number}", f"call {last.number}")
    lines = list(difflib.unified_diff(first.text.splitlines(), last.text.splitlines(), *names, lineterm=""))
    document = {"from": first.number, "to": last.number, "changes": changed, "lines": lines}
    return document, [*lines_of_changes(changed), *lines]
