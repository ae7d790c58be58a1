"""The journaled calls of a run, with what was known of each by then: token estimates, and what a cache had."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from transom.cli.history import RunView
from transom.context import TokenCorrection
from transom.context.cache import CacheMonitor, Seen
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
        request: blocks, turns, what was dropped, as JSON.
        rendered: the bytes that were sent.
        tokens: how tokens were estimated by then, with the usage of the conversation's earlier calls.
        seen: what the cache monitor says of it, beside the calls before it.
    """

    number: int
    reply: dict[str, Any]
    request: dict[str, Any]
    rendered: bytes
    tokens: TokenCorrection = field(default_factory=TokenCorrection)
    seen: Seen | None = None

    @property
    def text(self) -> str:
        return self.rendered.decode("utf-8", "surrogatepass")

    @cached_property
    def asked(self) -> Request:
        """The request as it was made."""
        return request_from_json(self.request)


def calls_of(store: SqliteStore, found: RunView) -> list[Call]:
    """All calls of a run, oldest first."""
    pairs = zip(found.replies, requests_of(store, found.records), strict=True)
    return [_read(store, number, reply, request) for number, (reply, request) in enumerate(pairs, 1)]


def _read(store: SqliteStore, number: int, reply: dict[str, Any], request: dict[str, Any]) -> Call:
    sent = reply["window"].get("rendered")
    if sent:
        return Call(number, reply, request, store.get_blob(sent))
    return Call(number, reply, request, render(request_from_json(request)).as_text().encode("utf-8", "surrogatepass"))


def watched(calls: list[Call]) -> tuple[list[Call], list[str]]:
    """The calls, each as it was estimated then and with what the cache monitor says of it; and what caches saved.

    Each conversation learns of each model from its own usage, of the first call of an answer.
    """
    monitors: dict[str, CacheMonitor] = {}
    learned: dict[tuple[ConversationKey, str], TokenCorrection] = {}
    seen_so = []
    for call in calls:
        answer, key = call.reply["reply"], key_of(call.reply)
        by, usage = answer["by"], Usage(**answer["usage"])
        tokens = learned.get((key, by), TokenCorrection())
        monitor = monitors.setdefault(by, CacheMonitor(terms_of(by)))
        monitor.tokens = tokens
        seen = monitor.watch(call.asked, usage, conversation=key.conversation)
        if size := call.reply.get("size"):
            learned[key, by] = tokens.learned(Measure(*size), usage.input_tokens)
        seen_so.append(replace(call, tokens=tokens, seen=seen))
    saved = [(by, monitor.savings()) for by, monitor in monitors.items()]
    return seen_so, [
        f"cache of {by}: {line}"
        for by, savings in saved
        if savings.reported_read or savings.cost != 1 or savings.below
        for line in savings.text().splitlines()
    ]
