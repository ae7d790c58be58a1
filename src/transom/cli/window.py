"""`transom window show`: what each model call saw, what was left out and why."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import RunArgument, command, group
from transom.cli.history import found_run
from transom.cli.output import print_json, print_text, style, table, unread
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.cli.calls import Call
    from transom.context.changes import Changes
    from transom.context.segments import Piece

_STATUS = {
    "pause": ", paused, to be gone on with",
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
    from transom.cli.calls import calls_of, watched

    async with found_run(session, run) as (store, found):
        calls, savings = watched(calls_of(store, found))
    chosen = [_numbered(calls, call, "--call", found.row.id)] if call is not None else calls
    first = await _first(session, diff, calls, chosen, found.row.id) if diff is not None else None
    changes = _changes(first, chosen[-1]) if first else None
    if session.format == "json":
        document = {"schema": "transom.window/1", "run_id": found.row.id, "calls": [_document(one) for one in chosen]}
        print_json(document | ({"diff": changes} if changes else {}))
    elif first and changes:
        print_text(*_change_lines(changes, _changed(first, chosen[-1])))
    elif call is not None:
        _print_whole(chosen[0])
    else:
        _print_overview(chosen, savings, found.row.id)
    return 0


async def show_blocks(session: Session, run: str, call: int) -> None:
    """Print what one call saw: its header line and its blocks."""
    from transom.cli.calls import calls_of, watched

    async with found_run(session, run) as (store, found):
        calls, _ = watched(calls_of(store, found))
    chosen = _numbered(calls, call, "call", found.row.id)
    print_text(style(_header(chosen), "bold"), *_block_lines(chosen))


def _numbered(calls: list[Call], number: int, option: str, run_id: str) -> Call:
    if not 1 <= number <= len(calls):
        hint = f"it has calls 1 to {len(calls)}" if calls else "no model was asked in it"
        raise InputError(f"run {run_id} has no call {number}", where=option, hint=hint)
    return calls[number - 1]


async def _first(session: Session, diff: str, calls: list[Call], chosen: list[Call], run_id: str) -> Call:
    """The call that another one is compared with: one of the same run, or of another run's the first of that role."""
    from transom.cli.calls import calls_of

    if diff.isdecimal():
        return _numbered(calls, int(diff), "--diff", run_id)
    if not chosen:
        raise InputError("no model was asked in it", where=run_id, hint="name another run")
    async with found_run(session, diff) as (store, found):
        others = calls_of(store, found)
    role = chosen[-1].reply["role"]
    for one in others:
        if one.reply["role"] == role:
            return one
    raise InputError(f"run {found.row.id} has no call of {role}", where="--diff", hint="choose another with --call N")


def _document(call: Call) -> dict[str, Any]:
    reply = call.reply
    return {
        "call": call.number,
        "stage": reply["stage"],
        "attempt": reply["attempt"],
        "conversation": reply["conversation"],
        "ordinal": reply["ordinal"],
        "role": reply["role"],
        "by": reply["reply"]["by"],
        "usage": reply["reply"]["usage"],
        "status": reply.get("status", "whole"),
        "blocks": _blocks(call),
        "may_also_see": _absent(call),
        "tools": [tool["name"] for tool in call.request["tools"]],
        "turns": call.request["turns"],
        "dropped": call.request["dropped"],
        "shares": _shares(call),
        "cache": call.seen.to_json() if call.seen else None,
        "rendered": call.text,
    }


def _blocks(call: Call) -> list[dict[str, Any]]:
    from transom.context.budget import share_of
    from transom.context.segments import piece_size

    return [
        {
            "name": block.name,
            "tier": str(block.tier),
            "trust": block.trust,
            "egress": block.egress,
            "share": share_of(block),
            "tokens": call.tokens.tokens(piece_size(block)),
        }
        for block in call.asked.window.blocks
    ]


def _absent(call: Call) -> list[str]:
    """Blocks that the role declares and was not given in this call."""
    given = {block["name"] for block in (*call.request["blocks"], *call.request["dropped"])}
    return sorted(set(call.reply.get("sees", ())) - given)


def _header(call: Call) -> str:
    answer = call.reply["reply"]
    usage = answer["usage"]
    tokens = f"{usage['input_tokens']} tokens in ({usage['cached_tokens']} cached), {usage['output_tokens']} out"
    status = _STATUS.get(call.reply.get("status", ""), "")
    return (
        f"call {call.number}  {call.reply['stage']}  {call.reply['role']}  answered by {answer['by']}  {tokens}{status}"
    )


def _block_lines(call: Call) -> list[str]:
    columns = ("name", "tier", "trust", "egress", "share")
    rows = [(*(one[column] for column in columns), f"{one['tokens']} tokens") for one in _blocks(call)]
    asked = call.asked
    tools = ", ".join(f"{tool.name} ({_size(call, tool)})" for tool in asked.tools)
    turns = zip(call.request["turns"], asked.window.turns, strict=True)
    absent = _absent(call)
    left_out = [f"  left out: {one['name']} ({one['tokens']} tokens), {one['why']}" for one in call.request["dropped"]]
    return [
        *(table(rows, indent="  ") if rows else []),
        *([f"  tools: {tools}"] if tools else []),
        *(f"  turn {number}: {_turn_line(told)}, {_size(call, turn)}" for number, (told, turn) in enumerate(turns, 1)),
        *left_out,
        *_share_lines(_shares(call)),
        *_cache_lines(call),
        *([f"  may also see: {', '.join(absent)}"] if absent else []),
    ]


def _size(call: Call, piece: Piece) -> str:
    from transom.context.segments import piece_size

    return f"{call.tokens.tokens(piece_size(piece))} tokens"


def _shares(call: Call) -> list[dict[str, Any]]:
    """What each part of the window took, and was held to, in tokens."""
    shares = call.reply.get("shares", {})
    if isinstance(shares, list):  # as journals had them once
        return shares
    return [{"name": name, "used": used, "limit": limit} for name, (used, limit) in shares.items()]


def _share_lines(shares: list[dict[str, Any]]) -> list[str]:
    """What each part of the window takes of what it is held to once the window is full."""
    told = [f"{one['name']} {one['used']} of {one['limit']}" for one in shares]
    used, limit = sum(one["used"] for one in shares), sum(one["limit"] for one in shares)
    return [f"  used: {', '.join(told)}; together {used} of {limit} tokens"] if told else []


def _cache_lines(call: Call) -> list[str]:
    seen = call.seen
    if not seen or not (seen.hit or seen.first_difference or seen.below):
        return []
    broke = f"; broken by {seen.first_difference.name} ({seen.first_difference.how})" if seen.first_difference else ""
    if seen.below:
        what = f"what may be kept is below the minimum of {seen.below} tokens, as estimated, so nothing is"
        return [f"  cache: {what}{broke}"]
    return [f"  cache: {seen.read} of {seen.tokens} tokens were sent before, as estimated{broke}"]


def _turn_line(turn: dict[str, Any]) -> str:
    """What one turn was, in brief; its text stands in the call in full."""
    if turn["kind"] == "came_back":
        sizes = ["refused" if one["is_error"] else f"{len(one['content'])} characters" for one in turn["results"]]
        told = [f"{one['name']} ({size})" for one, size in zip(turn["results"], sizes, strict=True)]
        return "came back: " + ", ".join(told)
    if turn["kind"] == "asked":
        return f"asked ({len(turn['text'])} characters)"
    called = [part["name"] for part in turn["parts"] if part["kind"] == "tool_call"]
    return f"called {', '.join(called)}" if called else "said"


def _print_overview(calls: list[Call], savings: list[str], run_id: str) -> None:
    for call in calls:
        print_text(style(_header(call), "bold"), *_block_lines(call), "")
    print_text(*savings)
    more = f"one call in full: transom window show {run_id} --call N"
    print_text(more if calls else "no model was asked in this run")


def _print_whole(call: Call) -> None:
    """The header, the blocks, an empty line, and the bytes as they were sent; a terminal is shown what it can show."""
    print_text(style(_header(call), "bold"), *_block_lines(call), "")
    if sys.stdout.isatty():
        print_text(*call.text.split("\n"))
        return
    with unread():
        sys.stdout.flush()
        sys.stdout.buffer.write(call.rendered + b"\n")
        sys.stdout.buffer.flush()


def _changes(first: Call, last: Call) -> dict[str, Any]:
    """Where two windows part: a cache keeps what stands before the first difference."""
    pairs = list(zip(first.request["blocks"], last.request["blocks"], strict=False))
    same = next((i for i, (old, new) in enumerate(pairs) if old != new), len(pairs))
    blocks = _blocks(last)
    lines = difflib.unified_diff(
        first.text.splitlines(), last.text.splitlines(), f"call {first.number}", f"call {last.number}", lineterm=""
    )
    return {
        "from": first.number,
        "to": last.number,
        "same_blocks": same,
        "same_tokens": sum(block["tokens"] for block in blocks[:same]),
        "first_difference": blocks[same]["name"] if same < len(blocks) else None,
        "changes": _changed(first, last).to_json(),
        "lines": list(lines),
    }


def _changed(first: Call, last: Call) -> Changes:
    from transom.context.changes import Changes

    return Changes.between(first.asked, last.asked)


def _change_lines(changes: dict[str, Any], changed: Changes) -> list[str]:
    kept = f"the first {changes['same_blocks']} blocks ({changes['same_tokens']} tokens) are the same"
    parts = f"; block {changes['first_difference']} is the first that differs" if changes["first_difference"] else ""
    return [kept + parts, *changed.lines(), *changes["lines"]]
