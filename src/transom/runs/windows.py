"""What each call saw, as the journal keeps it: linear in the conversation, and whole again when it
is read.

The `window` of a `model_reply` holds the blob of everything but the turns (`request`), and the
newest turns of the conversation by their places (`turns`: from, to). What stands before them is
written once (`head`), as places and as it is where the conversation has no such turn, e.g. the note
on what is folded; later windows name the reply that has it (`head_of`). A request without turns is
kept as it was sent, too (`rendered`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transom.canonical import Json, digest
from transom.context import TokenCorrection
from transom.context.budget import share_of
from transom.context.cache import CacheMonitor, CacheView, Savings
from transom.context.segments import Piece, piece_size
from transom.context.tokens import Measure
from transom.errors import InputError
from transom.llm import EgressPolicy, Request, Turn, Usage, render
from transom.llm.cache_terms import terms_of
from transom.llm.codec import reply_from_json, request_from_json
from transom.llm.replay import RecordedCall, Recording
from transom.runs.conversation import KINDS, ConversationKey, ConversationState, key_of
from transom.store import Record, Store
from transom.telemetry import Redactor


@dataclass
class WindowWriter:
    """Keeps the windows of one conversation; what is large is a blob."""

    _head: tuple[str, str] = ("", "")
    _folded: tuple[Turn | None, int, int] = (None, 0, 0)

    def keep(
        self, request: Request, turns: Sequence[Turn], ordinal: int
    ) -> tuple[dict[str, Json], list[bytes]]:
        """Return the `window` of a reply's record, and the blobs to store together with it."""
        shown_turns, blobs = request.window.turns, []
        # The head is the same for most calls of a conversation, and is stored once.
        if self._head[0] != request.head:
            head = request.head.encode("utf-8", "surrogatepass")
            self._head = request.head, digest(head)
            blobs.append(head)
        if not shown_turns:
            rendered = render(request).as_text().encode("utf-8", "surrogatepass")
            blobs.append(rendered)
            return {"request": self._head[1], "rendered": digest(rendered)}, blobs
        return {"request": self._head[1], **self._places(shown_turns, turns, ordinal)}, blobs

    def _places(
        self, shown_turns: Sequence[Turn], turns: Sequence[Turn], ordinal: int
    ) -> dict[str, Json]:
        if (
            len(shown_turns) == len(turns)
            and shown_turns[0] is turns[0]
            and shown_turns[-1] is turns[-1]
        ):
            return {"turns": [0, len(turns)]}  # nothing is folded: it only ever grows at its end
        equal_turns, most_equal = 0, min(len(shown_turns), len(turns))
        # Identity, not equality: equal turns at other places must not be taken for these.
        while equal_turns < most_equal and shown_turns[-1 - equal_turns] is turns[-1 - equal_turns]:
            equal_turns += 1
        head = shown_turns[: len(shown_turns) - equal_turns]
        tail: dict[str, Json] = {"turns": [len(turns) - equal_turns, len(turns)]}
        note, length, first = self._folded
        # The folded part is the one that an earlier reply wrote down.
        if equal_turns and head and head[0] is note and len(head) == length:
            return {"head_of": first, **tail}
        if equal_turns and head:
            self._folded = (head[0], len(head), ordinal)
        return {"head": _literal(head, turns), **tail}


def _literal(head: Sequence[Turn], turns: Sequence[Turn]) -> list[Json]:
    """Return turns as their places in the conversation, neighbours together; a turn that the
    conversation does not have is written out.
    """
    numbers = {id(turn): number for number, turn in enumerate(turns)}
    places: list[Json] = []
    for turn in head:
        number, last = numbers.get(id(turn)), places[-1] if places else None
        if number is None:
            places.append(turn.to_json())
        elif isinstance(last, list) and last[1] == number:
            places[-1] = [last[0], number + 1]
        else:
            places.append([number, number + 1])
    return places


def blobs_of(kind: str, data: Any) -> list[str]:
    """Return the blobs that a record of a run names."""
    if kind == "model_reply":
        return [data["window"][name] for name in ("request", "rendered") if name in data["window"]]
    if kind == "user_message":
        blobs = [data[name] for name in ("blocks", "recalled") if name in data]
        return [*blobs, *data.get("media", ())]
    if kind == "writing":
        return [data["output"]] if data.get("in_database") else []
    digest = data["outcome"].get("kept") if kind == "tool_result" else None
    return [digest] if digest else []


def request_of(store: Store, window: Mapping[str, Any], state: ConversationState) -> dict[str, Any]:
    """Return the JSON of a reply's whole request; see `Request.to_json`."""
    request: dict[str, Any] = json.loads(store.get_blob(window["request"]))
    head = window.get("head", [])
    if "head_of" in window and (message := state.message_of(window["head_of"])):
        head = message.replies[window["head_of"]]["window"]["head"]
    turns: list[Json] = []
    for place in [*head, *([window["turns"]] if "turns" in window else [])]:
        turns += (
            [turn.to_json() for turn in state.turns[place[0] : place[1]]]
            if isinstance(place, list)
            else [place]
        )
    request["turns"] = turns
    return request


def requests_of(store: Store, records: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the whole request of each journaled reply, in the order of a run's records."""
    conversations: dict[ConversationKey, ConversationState] = {}
    requests: list[dict[str, Any]] = []
    for record in records:
        if record.kind in KINDS:
            state = conversations.setdefault(key_of(record.data), ConversationState())
            if record.kind == "model_reply":
                # The request was made after the results of the last reply became turns.
                state.settle()
                requests.append(request_of(store, record.data["window"], state))
            state.apply(record.kind, record.data)
    return requests


@dataclass(frozen=True)
class JournaledCall:
    """One journaled call.

    Attributes:
        number: from 1, in the order of the run.
        reply: its journal record.
        document: its request as JSON: blocks, turns, what was dropped.
        correction: how tokens were estimated by then, with the usage of the conversation's earlier
            calls.
        cache_view: what the cache monitor says of it, beside the calls before it.
    """

    number: int
    reply: dict[str, Any]
    document: dict[str, Any]
    request: Request
    text: str
    correction: TokenCorrection
    cache_view: CacheView

    def tokens(self, piece: Piece) -> int:
        """Return the estimated tokens of a part of the window."""
        return self.correction.tokens(piece_size(piece))

    def to_json(self) -> dict[str, Any]:
        reply, document = self.reply, self.document
        return {
            "call": self.number,
            **{
                name: reply[name]
                for name in ("stage", "attempt", "conversation", "ordinal", "role")
            },
            "by": reply["reply"]["by"],
            "usage": reply["reply"]["usage"],
            "status": reply.get("status", "whole"),
            "blocks": [
                {
                    "name": block.name,
                    "tier": str(block.tier),
                    "trust": block.trust,
                    "egress": block.egress,
                }
                | ({} if block.media is None else {"media": block.media.to_json()})
                | {"share": share_of(block), "tokens": self.tokens(block)}
                for block in self.request.window.blocks
            ],
            "tools": [tool.name for tool in self.request.tools],
            "turns": document["turns"],
            "dropped": document["dropped"],
            "shares": [
                {"name": name, "used": tokens, "limit": limit}
                for name, (tokens, limit) in reply.get("shares", {}).items()
            ],
            "cache": self.cache_view.to_json(),
            "rendered": self.text,
        }


def journaled_calls(
    store: Store, records: Sequence[Record]
) -> tuple[list[JournaledCall], dict[str, Savings]]:
    """All calls of a run, oldest first, and what the cache of each provider saved.

    Each conversation learns of each model from its own usage, of the first call of an answer.
    """
    monitors: dict[str, CacheMonitor] = {}
    learned: dict[tuple[ConversationKey, str], TokenCorrection] = {}
    calls: list[JournaledCall] = []
    replies: list[Any] = [record.data for record in records if record.kind == "model_reply"]
    for reply, document in zip(replies, requests_of(store, records), strict=True):
        request, sent = request_from_json(document), reply["window"].get("rendered")
        text = (
            store.get_blob(sent).decode("utf-8", "surrogatepass")
            if sent
            else render(request).as_text()
        )
        provider, usage, key = reply["reply"]["by"], Usage(**reply["reply"]["usage"]), key_of(reply)
        correction = learned.get((key, provider), TokenCorrection())
        monitor = monitors.setdefault(provider, CacheMonitor(terms_of(provider)))
        # Each model counts tokens in its own way.
        monitor.tokens = correction
        cache_view = monitor.watch(request, usage, conversation=key.conversation)
        if size := reply.get("size"):
            learned[key, provider] = correction.learned(Measure(*size), usage.input_tokens)
        calls.append(
            JournaledCall(len(calls) + 1, reply, document, request, text, correction, cache_view)
        )
    return calls, {provider: monitor.savings() for provider, monitor in monitors.items()}


def window_tokens(reply: Mapping[str, Any]) -> int:
    """Return the size of a journaled call's window: as its server reported it, else an estimate."""
    reported = int(reply["reply"]["usage"]["input_tokens"])
    if reported or not reply.get("size"):
        return reported
    return TokenCorrection().tokens(Measure(*reply["size"]))


def recording_of(
    store: Store,
    records: Sequence[Record],
    *,
    policy: EgressPolicy,
    redact: Redactor,
    local: bool = False,
) -> Recording:
    """Return the model calls of a run as a recording; `local` says whether local text may stand in
    it.
    """
    pairs = zip(
        [record.data for record in records if record.kind == "model_reply"],
        requests_of(store, records),
        strict=True,
    )
    calls, windows = [], []
    data: Any
    for number, (data, document) in enumerate(pairs, 1):
        request, reply = request_from_json(document), reply_from_json(data["reply"])
        place, local_part = (
            f"call {number} ({request.role})",
            None if local else policy.local_part(request),
        )
        if not local and (local_part or reply.egress != "any"):
            problem = (
                f"{local_part or 'its reply'} is marked local and would stand in the recording"
            )
            raise InputError(problem, place=place, hint="pass --local if the recording may hold it")
        # A recording is meant to be shared.
        if redact.inside(reply.to_json()) != reply.to_json():
            hint = "without it what follows could not be played; have it asked for without the key"
            raise InputError(
                "the reply holds a key, which stands in no recording", place=place, hint=hint
            )
        calls.append(
            RecordedCall(request.role, data["request"], redact(render(request).as_text()), reply)
        )
        windows += [data["context_tokens"]] if "context_tokens" in data else []
    if not calls:
        raise InputError("no model was asked, so there is nothing to record")
    return Recording(tuple(calls), windows[0] if windows else None)
