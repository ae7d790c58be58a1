"""What each call saw, as the journal keeps it: a window once, then only what is new in the next one.

A conversation's window is the one before and a little more. So a `reply` record holds the blob of everything but the
turns (`request`), the digest of the call before (`after`), how many of its turns still stand (`keeps`), and those that
follow (`more`). A turn that the journal has anyway is only named there: the reply to the call before, what came of its
tool calls, and after a conversation was folded those that the call before saw further on (`before`). A journal is
thereby linear in the conversation. A request without turns is kept as it was sent, too (`rendered`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from transom.canonical import Json, digest
from transom.llm import AssistantMessage, Reply, Request, ToolCall, ToolResults, Turn, render
from transom.llm.codec import reply_from_json
from transom.runs.journal import ReplyKey, ToolKey, reply_key, tool_key
from transom.store import Store

CallKey = dict[str, object]
"""What a tool call is journaled under."""


def call_key(key: Mapping[str, object], number: int, call: ToolCall) -> CallKey:
    """What the outcome of a tool call is journaled under.

    Args:
        key: of the reply that asks for it: `{stage, epoch, conversation, ordinal, request}` and more.
        number: the call's place among the calls of that reply; ids need not be unique.
        call: what is asked for.
    """
    same = {name: key[name] for name in ("stage", "epoch", "conversation", "ordinal", "request")}
    return same | {"call": digest([number, call.to_json()])}


@dataclass
class Talk:
    """What one conversation's last call saw and said, and the keys of the tool calls that its reply asked for.

    Attributes:
        next: ordinal of the next request.
        asked: digest of the last request; "" where the journal has another one in its place.
        turns: that it held.
        parts: of the reply; None where there is no request to build upon.
    """

    next: int = 0
    asked: str = ""
    turns: tuple[Turn, ...] = ()
    parts: tuple[object, ...] | None = None
    calls: list[CallKey] = field(default_factory=list)
    head: tuple[str, str] = ("", "")


def talk_after(talk: Talk, request: Request, reply: Reply, *, asked: dict[str, Any], found: dict[str, Any]) -> Talk:
    """A conversation after a reply.

    Args:
        talk: before it.
        request: what it answers today.
        reply: what was said.
        asked: the key of that request.
        found: the key that the journal has the reply under; calls are known by it.
    """
    calls = [call_key(found, number, call) for number, call in enumerate(reply.calls)]
    now = Talk(talk.next + 1, calls=calls, head=talk.head)
    if (found["request"], found["chain"]) == (asked["request"], asked["chain"]):
        now.asked, now.turns, now.parts = request.digest, request.window.turns, reply.parts
    return now


async def keep_window(store: Store, talk: Talk, request: Request, tools: Mapping[ToolKey, Any]) -> dict[str, Json]:
    """The `window` of a reply's record; what is large goes to the store.

    Args:
        store: takes the blobs.
        talk: the conversation as it was before this request.
        request: as the journal is to have it.
        tools: outcomes of tool calls, as journaled.
    """
    turns = request.window.turns
    if talk.head[0] != request.head:
        talk.head = (request.head, await store.put_blob(request.head.encode("utf-8", "surrogatepass")))
    if not turns:
        rendered = render(request).as_text().encode("utf-8", "surrogatepass")
        return {"request": talk.head[1], "rendered": await store.put_blob(rendered)}
    keeps = len(talk.turns) if turns[: len(talk.turns)] == talk.turns else _agree(turns, talk.turns)
    # By identity: the call before holds them, so no other turn has taken the place of one.
    known = {id(turn): number for number, turn in enumerate(talk.turns)} if keeps < len(talk.turns) else {}
    more: list[Json] = [
        {"before": known[id(turn)]} if id(turn) in known else _written(turn, talk, tools) for turn in turns[keeps:]
    ]
    return {"request": talk.head[1], "after": talk.asked, "keeps": keeps, "more": more}


def _agree(new: Sequence[Turn], old: Sequence[Turn]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(new, old, strict=False)))


def _written(turn: Turn, talk: Talk, tools: Mapping[ToolKey, Any]) -> Json:
    """A turn, or where the journal has it."""
    journaled = False
    if talk.parts is None:
        return turn.to_json()
    if isinstance(turn, AssistantMessage):
        journaled = turn.parts == talk.parts
    elif isinstance(turn, ToolResults) and len(turn.results) == len(talk.calls):
        found = [tools.get(tool_key(key)) for key in talk.calls]
        pairs = zip(found, turn.results, strict=True)
        journaled = all(outcome and outcome["result"] == result.to_json() for outcome, result in pairs)
    return (
        {"kind": "said" if isinstance(turn, AssistantMessage) else "came_back", "journaled": True}
        if journaled
        else turn.to_json()
    )


def blobs_of(window: Mapping[str, Any]) -> list[str]:
    """The blobs that a reply's `window` names."""
    return [window[name] for name in ("request", "rendered") if name in window]


class Windows:
    """A journal's windows, whole again. Feed it every record of a run in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._calls: dict[ReplyKey, tuple[Any, list[Json]]] = {}
        self._tools: dict[ToolKey, Any] = {}

    def feed(self, kind: str, data: Any) -> dict[str, Any] | None:
        """Take in one record; for a reply, the JSON of its whole request (see `Request.to_json`)."""
        if kind == "tool":
            self._tools[tool_key(data)] = data["outcome"]
        if kind != "reply":
            return None
        window = data["window"]
        request: dict[str, Any] = json.loads(self._store.get_blob(window["request"]))
        if "more" in window:
            before = reply_key({**data, "ordinal": data["ordinal"] - 1, "request": window["after"]})
            record, turns = self._calls.get(before, (None, []))
            whole = [self._whole(record, turns, turn) for turn in window["more"]]
            request["turns"] = [*turns[: window["keeps"]], *whole]
        self._calls[reply_key(data)] = (data, request["turns"])
        return request

    def _whole(self, record: Any, before: list[Json], turn: dict[str, Any]) -> Json:
        """A turn of `more`; `record` is that of the call before, `before` are the turns that it saw."""
        if "before" in turn:
            number: int = turn["before"]
            return before[number]
        if "journaled" not in turn:
            return turn
        reply = reply_from_json(record["reply"])
        if turn["kind"] == "said":
            return AssistantMessage(reply.parts).to_json()
        outcomes = [self._tools[tool_key(call_key(record, number, call))] for number, call in enumerate(reply.calls)]
        return {"kind": turn["kind"], "results": [outcome["result"] for outcome in outcomes]}


def requests_of(store: Store, records: Iterable[Any]) -> list[dict[str, Any]]:
    """The whole request of each journaled reply, in order."""
    windows = Windows(store)
    found = (windows.feed(record.kind, record.data) for record in records)
    return [request for request in found if request is not None]
