"""`transom window show`: what each model call saw, what was left out and why."""

from __future__ import annotations

import difflib
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import RunArgument, command, group
from transom.cli.history import found_run
from transom.cli.output import print_json, print_text, style, table, unread
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.store import SqliteStore

window_app = group("window", "Windows: what each model call saw.")


@dataclass(frozen=True)
class Call:
    """One journaled call.

    Attributes:
        number: from 1, in the order of the run.
        reply: its journal record.
        request: blocks, turns, what was dropped, as JSON.
        rendered: the bytes that were sent.
    """

    number: int
    reply: dict[str, Any]
    request: dict[str, Any]
    rendered: bytes

    @property
    def text(self) -> str:
        return self.rendered.decode("utf-8", "surrogatepass")


@command(window_app, "show", example="transom window show 20261121-0930 --call 3")
async def show_window(
    session: Session,
    run: RunArgument,
    call: Annotated[int | None, typer.Option(metavar="N", help="This call, with every byte that was sent.")] = None,
    diff: Annotated[
        int | None, typer.Option(metavar="M", help="What changed since call M; up to --call N, else up to the last.")
    ] = None,
) -> int:
    """Show what each model call of a run saw, what was left out and why."""
    async with found_run(session, run) as (store, found):
        calls = [_read(store, number, reply) for number, reply in enumerate(found.replies, 1)]
    chosen = [_numbered(calls, call, "--call", found.row.id)] if call is not None else calls
    changes = None
    if diff is not None:
        first = _numbered(calls, diff, "--diff", found.row.id)
        changes = _changes(first, chosen[-1])
    if session.format == "json":
        document = {"schema": "transom.window/1", "run_id": found.row.id, "calls": [_document(one) for one in chosen]}
        print_json(document | ({"diff": changes} if changes else {}))
    elif changes:
        print_text(*_change_lines(changes))
    elif call is not None:
        _print_whole(chosen[0])
    else:
        _print_overview(chosen, found.row.id)
    return 0


async def show_blocks(session: Session, run: str, call: int) -> None:
    """Print what one call saw: its header line and its blocks."""
    async with found_run(session, run) as (store, found):
        calls = [_read(store, number, reply) for number, reply in enumerate(found.replies, 1)]
    chosen = _numbered(calls, call, "call", found.row.id)
    print_text(style(_header(chosen), "bold"), *_block_lines(chosen))


def _read(store: SqliteStore, number: int, reply: dict[str, Any]) -> Call:
    window = reply["window"]
    return Call(number, reply, json.loads(store.get_blob(window["request"])), store.get_blob(window["rendered"]))


def _numbered(calls: list[Call], number: int, option: str, run_id: str) -> Call:
    if not 1 <= number <= len(calls):
        hint = f"it has calls 1 to {len(calls)}" if calls else "no model was asked in it"
        raise InputError(f"run {run_id} has no call {number}", where=option, hint=hint)
    return calls[number - 1]


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
        "blocks": _blocks(call),
        "may_also_see": _absent(call),
        "tools": [tool["name"] for tool in call.request["tools"]],
        "turns": call.request["turns"],
        "dropped": call.request["dropped"],
        "rendered": call.text,
    }


def _blocks(call: Call) -> list[dict[str, Any]]:
    from transom.llm import estimate_tokens

    names = ("name", "tier", "trust", "egress")
    return [
        {name: block[name] for name in names} | {"tokens": estimate_tokens(block["text"])}
        for block in call.request["blocks"]
    ]


def _absent(call: Call) -> list[str]:
    """Blocks that the role declares and was not given in this call."""
    given = {block["name"] for block in (*call.request["blocks"], *call.request["dropped"])}
    return sorted(set(call.reply.get("sees", ())) - given)


def _header(call: Call) -> str:
    answer = call.reply["reply"]
    usage = answer["usage"]
    tokens = f"{usage['input_tokens']} tokens in ({usage['cached_tokens']} cached), {usage['output_tokens']} out"
    return f"call {call.number}  {call.reply['stage']}  {call.reply['role']}  answered by {answer['by']}  {tokens}"


def _block_lines(call: Call) -> list[str]:
    rows = [(one["name"], one["tier"], one["trust"], one["egress"], f"{one['tokens']} tokens") for one in _blocks(call)]
    tools = ", ".join(tool["name"] for tool in call.request["tools"])
    absent = _absent(call)
    left_out = [f"  left out: {one['name']} ({one['tokens']} tokens), {one['why']}" for one in call.request["dropped"]]
    return [
        *(table(rows, indent="  ") if rows else []),
        *([f"  tools: {tools}"] if tools else []),
        *(f"  turn {number}: {_turn_line(turn)}" for number, turn in enumerate(call.request["turns"], 1)),
        *left_out,
        *([f"  may also see: {', '.join(absent)}"] if absent else []),
    ]


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


def _print_overview(calls: list[Call], run_id: str) -> None:
    for call in calls:
        print_text(style(_header(call), "bold"), *_block_lines(call), "")
    more = f"one call in full: transom window show {run_id} --call N"
    print_text(more if calls else "no model was asked in this run")


def _print_whole(call: Call) -> None:
    """The header, the blocks, an empty line, and then the bytes as they were sent."""
    print_text(style(_header(call), "bold"), *_block_lines(call), "")
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
        "lines": list(lines),
    }


def _change_lines(changes: dict[str, Any]) -> list[str]:
    kept = f"the first {changes['same_blocks']} blocks ({changes['same_tokens']} tokens) are the same"
    parts = f"; block {changes['first_difference']} is the first that differs" if changes["first_difference"] else ""
    return [kept + parts, *changes["lines"]]
