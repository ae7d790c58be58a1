"""The journaled calls of a run, with what was known of each by then: token estimates, and what a cache had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transom.cli.history import RunView
from transom.context import TokenCorrection
from transom.context.budget import share_of
from transom.context.cache import CacheMonitor, Seen
from transom.context.segments import Piece, piece_size
from transom.context.tokens import Measure
from transom.llm import Request, Usage, render
from transom.llm.cache_terms import terms_of
from transom.llm.codec import request_from_json
from transom.runs.conversation import ConversationKey, key_of
from transom.runs.windows import requests_of
from transom.store import SqliteStore


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
        given = {block["name"] for block in (*document["blocks"], *document["dropped"])}
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
            "may_also_see": sorted(set(reply.get("sees", ())) - given),
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
