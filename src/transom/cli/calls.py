"""The journaled calls of a run, with what was known of each by then: token estimates, and what a cache had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from transom.cli.history import RunView
from transom.context import TokenCorrection
from transom.context.cache import CacheMonitor, Seen
from transom.context.history import SEPARATOR
from transom.context.tokens import Measure, measure
from transom.llm import Request, Usage, UserMessage, render
from transom.llm.answering import GO_ON
from transom.llm.cache_terms import terms_of
from transom.llm.codec import request_from_json
from transom.llm.structured import schema_text
from transom.runs.journal import TalkKey, talk_key
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


def watched(calls: list[Call], begun: Mapping[TalkKey, dict[str, Any]]) -> tuple[list[Call], list[str]]:
    """The calls, each as it was estimated then and with what the cache monitor says of it; and what caches saved.

    Each conversation learns of each model from its own usage, of the first call of an answer. It begins with what was
    known then, as they did when the calls were made: as the journal says (`begun`), else a sub-conversation with what
    its parent had learned.
    """
    monitors: dict[str, CacheMonitor] = {}
    learned: dict[TalkKey, dict[str, TokenCorrection]] = {}
    seen_so, open_answers = [], set[TalkKey]()
    for call in calls:
        answer, key = call.reply["reply"], talk_key(call.reply)
        stage, epoch, name = key
        if key not in learned:
            told = {by: TokenCorrection.from_json(one) for by, one in begun.get(key, {}).items()}
            learned[key] = told or {**learned.get((stage, epoch, name.rpartition("/")[0]), {})}
        usage, tokens = Usage(**answer["usage"]), learned[key].get(answer["by"], TokenCorrection())
        monitor = monitors.setdefault(answer["by"], CacheMonitor(terms_of(answer["by"])))
        monitor.tokens = tokens
        seen = monitor.watch(call.asked, usage, conversation=name)
        if key not in open_answers or not _goes_on(call.asked):
            learned[key][answer["by"]] = tokens.learned(_whole(call.asked, seen), usage.input_tokens)
        (open_answers.add if call.reply.get("then") in ("more", "mend") else open_answers.discard)(key)
        seen_so.append(replace(call, tokens=tokens, seen=seen))
    saved = [(by, monitor.savings()) for by, monitor in monitors.items()]
    return seen_so, [
        f"cache of {by}: {line}"
        for by, savings in saved
        if savings.reported_read or savings.cost != 1 or savings.below
        for line in savings.text().splitlines()
    ]


def _goes_on(asked: Request) -> bool:
    """Whether it asks for the rest of an answer, or for its repair, where there is such a one: nobody else spoke."""
    last = asked.window.turns[-1] if asked.window.turns else None
    return not isinstance(last, UserMessage) or last == GO_ON


def _whole(asked: Request, seen: Seen) -> Measure:
    """What was estimated, as `Draft.size` has it: with the schema of the answer, which servers read as well."""
    schema = Measure() if asked.output is None else measure(schema_text(asked.output)).plus(SEPARATOR)
    return seen.size.plus(schema).minus(SEPARATOR)
