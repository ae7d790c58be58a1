"""`transom window show`: what each model call saw, what was left out and why."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import RunArgument, command, group
from transom.cli.history import found_run
from transom.cli.output import print_text, style, table, unread
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.cli.calls import Call

_STATUS = {
    "silent": ", said nothing, to be asked once more",
    "repair": ", breaks its schema, to be repaired",
    "failed": ", in vain",
}
"""What is to be known of an answer that is not whole after a call."""

window_app = group("window", "Windows: what each model call saw.")


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
    document = {"schema": "transom.window/1", "run_id": run_id, "calls": [_document(one) for one in chosen]}
    if diff is not None:
        changes, lines = _changes(await _first(session, diff, calls, chosen, run_id), chosen[-1])
        return session.report(document | {"diff": changes}, *lines)
    if call is not None and session.format == "text":
        return _print_whole(chosen[0])
    lines = [line for one in chosen for line in [*_call_lines(one), ""]]
    more = f"one call in full: transom window show {run_id} --call N"
    return session.report(document, *lines, *savings, more if calls else "no model was asked in this run")


async def show_blocks(session: Session, run: str, call: int) -> None:
    """Print what one call saw: its header line and its blocks."""
    calls, _, run_id = await _calls(session, run)
    print_text(*_call_lines(_numbered(calls, call, "call", run_id)))


async def _calls(session: Session, run: str) -> tuple[list[Call], list[str], str]:
    from transom.cli.calls import calls_of

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


def _document(call: Call) -> dict[str, Any]:
    reply = call.reply
    return {
        "call": call.number,
        **{name: reply[name] for name in ("stage", "attempt", "conversation", "ordinal", "role")},
        "by": reply["reply"]["by"],
        "usage": reply["reply"]["usage"],
        "status": reply.get("status", "whole"),
        "blocks": _blocks(call),
        "may_also_see": _absent(call),
        "tools": [tool["name"] for tool in call.document["tools"]],
        "turns": call.document["turns"],
        "dropped": call.document["dropped"],
        "shares": _shares(call),
        "cache": call.seen.to_json(),
        "rendered": call.text,
    }


def _blocks(call: Call) -> list[dict[str, Any]]:
    from transom.context.budget import share_of

    return [
        {
            "name": block.name,
            "tier": str(block.tier),
            "trust": block.trust,
            "egress": block.egress,
            "share": share_of(block),
            "tokens": call.tokens(block),
        }
        for block in call.request.window.blocks
    ]


def _absent(call: Call) -> list[str]:
    """Blocks that the role declares and was not given in this call."""
    given = {block["name"] for block in (*call.document["blocks"], *call.document["dropped"])}
    return sorted(set(call.reply.get("sees", ())) - given)


def _shares(call: Call) -> list[dict[str, Any]]:
    """What each part of the window took, and was held to, in tokens."""
    shares: dict[str, tuple[int, int]] = call.reply.get("shares", {})
    return [{"name": name, "used": used, "limit": limit} for name, (used, limit) in shares.items()]


def _call_lines(call: Call) -> list[str]:
    answer, status = call.reply["reply"], _STATUS.get(call.reply.get("status", ""), "")
    usage, head = answer["usage"], (f"call {call.number}", call.reply["stage"], call.reply["role"])
    tokens = f"{usage['input_tokens']} tokens in ({usage['cached_tokens']} cached), {usage['output_tokens']} out"
    rows = [(*list(one.values())[:-1], f"{one['tokens']} tokens") for one in _blocks(call)]
    tools = ", ".join(f"{tool.name} ({call.tokens(tool)} tokens)" for tool in call.request.tools)
    turns = zip(call.document["turns"], call.request.window.turns, strict=True)
    absent, shares = _absent(call), _shares(call)
    used = ", ".join(f"{one['name']} {one['used']} of {one['limit']}" for one in shares)
    together = " of ".join(str(sum(one[name] for one in shares)) for name in ("used", "limit"))
    return [
        style(f"{'  '.join(head)}  answered by {answer['by']}  {tokens}{status}", "bold"),
        *(table(rows, indent="  ") if rows else []),
        *([f"  tools: {tools}"] if tools else []),
        *(f"  turn {n}: {_turn(told)}, {call.tokens(turn)} tokens" for n, (told, turn) in enumerate(turns, 1)),
        *(f"  left out: {one['name']} ({one['tokens']} tokens), {one['why']}" for one in call.document["dropped"]),
        *([f"  used: {used}; together {together} tokens"] if shares else []),
        *_cache_lines(call),
        *([f"  may also see: {', '.join(absent)}"] if absent else []),
    ]


def _cache_lines(call: Call) -> list[str]:
    seen = call.seen
    if not (seen.hit or seen.first_difference or seen.below):
        return []
    broke = f"; broken by {seen.first_difference.name} ({seen.first_difference.how})" if seen.first_difference else ""
    if seen.below:
        what = f"what may be kept is below the minimum of {seen.below} tokens, as estimated, so nothing is"
        return [f"  cache: {what}{broke}"]
    return [f"  cache: {seen.read} of {seen.tokens} tokens were sent before, as estimated{broke}"]


def _turn(turn: dict[str, Any]) -> str:
    """What one turn was, in brief; its text stands in the call in full."""
    if turn["kind"] == "came_back":
        sizes = ["refused" if one["is_error"] else f"{len(one['content'])} characters" for one in turn["results"]]
        told = [f"{one['name']} ({size})" for one, size in zip(turn["results"], sizes, strict=True)]
        return "came back: " + ", ".join(told)
    if turn["kind"] == "asked":
        return f"asked ({len(turn['text'])} characters)"
    called = [part["name"] for part in turn["parts"] if part["kind"] == "tool_call"]
    return f"called {', '.join(called)}" if called else "said"


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
    """Where two windows part, as JSON and for people: a cache keeps what stands before the first difference."""
    from transom.context.changes import Changes

    pairs = list(zip(first.document["blocks"], last.document["blocks"], strict=False))
    same = next((i for i, (old, new) in enumerate(pairs) if old != new), len(pairs))
    blocks, changed = _blocks(last), Changes.between(first.request, last.request)
    differs = blocks[same]["name"] if same < len(blocks) else None
    tokens = sum(block["tokens"] for block in blocks[:same])
    names = (f"call {first.number}", f"call {last.number}")
    lines = list(difflib.unified_diff(first.text.splitlines(), last.text.splitlines(), *names, lineterm=""))
    part = f"; block {differs} is the first that differs" if differs else ""
    document = {
        "from": first.number,
        "to": last.number,
        "same_blocks": same,
        "same_tokens": tokens,
        "first_difference": differs,
        "changes": changed.to_json(),
        "lines": lines,
    }
    return document, [f"the first {same} blocks ({tokens} tokens) are the same{part}", *changed.lines(), *lines]
