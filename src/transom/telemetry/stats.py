"""What many traces add up to: the metrics, counted from the spans when somebody asks.

Nothing is counted while a run is under way, and nothing is kept beside the traces: no collector is needed, and what a
trace says and what a metric says cannot part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.telemetry import keys
from transom.telemetry.calls import Price, error_of, has_operation, is_call, operations, seconds_of, tokens_of, usd_of
from transom.telemetry.rows import SpanRow

By = Literal["provider", "tool", "role"]
_KEY: dict[By, str] = {"provider": keys.PROVIDER, "tool": keys.TOOL_NAME, "role": keys.ROLE}


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Seconds(_Shape):
    """How long calls took; 0 where there were none. `p95`: 95 of a hundred took no longer."""

    mean: float
    p50: float
    p95: float
    max: float


class StatsRow(_Shape):
    """One provider, tool or role.

    Attributes:
        name: of it; "?" where a call failed before anybody answered.
        calls: that were made; of a provider those in which it was asked. Replies from a journal are none.
        seconds: a call took, waiting and asking again included; of a provider what it took of the call itself, and not
            what others did that were asked before it.
        errors: by type. A call that was asked again counts with each of its failures.
        error_rate: errors to requests, the repeated ones included; for tools to calls.
        retries: requests that were asked again.
        retry_rate: retries to calls.
        input_tokens, output_tokens, cached_tokens: of replies.
        cost_usd: of those replies whose price is known; None where none is.
        unpriced: replies whose price is not known.
    """

    name: str
    calls: int
    seconds: Seconds
    errors: dict[str, int]
    error_rate: float
    retries: int
    retry_rate: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    unpriced: int


class Compression(_Shape):
    """What folding did: how often, and the tokens of those windows before and after."""

    count: int
    tokens_before: int
    tokens_after: int
    ratio: float | None


class MemoryStats(_Shape):
    """What memory was asked: how often, how long it took, and the part of the queries that found something."""

    queries: int
    seconds: Seconds
    hit_rate: float


class Stats(_Shape):
    """What `trace stats` says: of what began within `since`; of everything where that is None."""

    schema_: Literal["transom.trace_stats/1"] = Field(default="transom.trace_stats/1", alias="schema")
    since: str | None
    by: By
    traces: int
    sub_conversations: int
    compression: Compression
    memory: MemoryStats
    rows: tuple[StatsRow, ...]


@dataclass
class _Group:
    """What is gathered for one row."""

    took: list[float] = field(default_factory=list)
    requests: int = 0
    retries: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    usd: float = 0.0
    priced: int = 0
    unpriced: int = 0

    def row(self, name: str) -> StatsRow:
        calls, failed = len(self.took), self.errors.total()
        return StatsRow(
            name=name,
            calls=calls,
            seconds=_seconds(self.took),
            errors=dict(sorted(self.errors.items())),
            error_rate=_rate(failed, self.requests),
            retries=self.retries,
            retry_rate=_rate(self.retries, calls),
            input_tokens=self.tokens["input"],
            output_tokens=self.tokens["output"],
            cached_tokens=self.tokens["cached"],
            cost_usd=self.usd if self.priced else None,
            unpriced=self.unpriced,
        )


def statistics(
    traces: Iterable[Sequence[SpanRow]], *, by: By, price: Price, since: str | None = None, oldest: int = 0
) -> Stats:
    """Count.

    Args:
        traces: the spans of each.
        by: what a row is of.
        price: what calls cost.
        since: how the spans are chosen, for whoever reads it.
        oldest: only what began at this time or later counts, in nanoseconds since 1970: a trace lasts as long as its
            conversation. A request counts with the call that it was made for.
    """
    groups: defaultdict[str, _Group] = defaultdict(_Group)
    folded: list[dict[str, Any]] = []
    recalled: list[SpanRow] = []
    count = subs = 0
    for trace in traces:
        spans = _recent(trace, oldest)
        if not spans:
            continue
        count += 1
        ended = [span for span in spans if span.end is not None]
        told = [(span.attributes.get(keys.CONVERSATION_ID), span.attributes) for span in spans]
        subs += len({name for name, attributes in told if attributes.get(keys.PARENT_CONVERSATION)})
        folded += [span.attributes for span in ended if has_operation(span, keys.COMPACT)]
        recalled += [span for span in ended if has_operation(span, keys.RETRIEVAL)]
        if by == "tool":
            _count_tools(ended, groups)
        else:
            _count_calls(ended, _KEY[by], price, groups)
    rows = tuple(group.row(name) for name, group in sorted(groups.items()))
    return Stats(
        since=since,
        by=by,
        traces=count,
        sub_conversations=subs,
        compression=_compression(folded),
        memory=_memory(recalled),
        rows=rows,
    )


def _recent(spans: Sequence[SpanRow], oldest: int) -> list[SpanRow]:
    old = {span.span_id for span in spans if span.start < oldest}
    asked = keys.ATTEMPT_CHAT
    return [one for one in spans if one.span_id not in old and not (has_operation(one, asked) and one.parent_id in old)]


def _count_tools(spans: Sequence[SpanRow], groups: Mapping[str, _Group]) -> None:
    for span in spans:
        if has_operation(span, keys.EXECUTE_TOOL):
            group = groups[str(span.attributes.get(keys.TOOL_NAME, "?"))]
            group.took.append(seconds_of(span))
            group.requests += 1
            if span.status == "error":
                group.errors[error_of(span)] += 1


def _count_calls(spans: Sequence[SpanRow], key: str, price: Price, groups: Mapping[str, _Group]) -> None:
    chats = {span.span_id: span for span in spans if is_call(span)}
    asked: dict[str, list[SpanRow]] = {name: [] for name in chats}
    for span in spans:
        if has_operation(span, keys.ATTEMPT_CHAT):
            asked.setdefault(span.parent_id or "", []).append(span)
    for name, attempts in asked.items():
        chat = chats.get(name)  # None: it has not ended
        _count_requests(chat, attempts, key, groups)
        if chat and chat.status != "error":
            _count_tokens(chat, price, groups[_name(chat, key)])


def _count_requests(chat: SpanRow | None, attempts: Sequence[SpanRow], key: str, groups: Mapping[str, _Group]) -> None:
    """Each provider has the time that it took itself, its requests and its failures; a role has the whole call."""
    whole = None if key == keys.PROVIDER else groups[_name(chat, key) if chat else "?"]
    found = operations(chat, attempts)
    for one in found:
        group = whole or groups[_name(one.last, key)]
        if whole is None:
            group.took.append(one.seconds)
        for span in one.spans:
            group.requests += 1
            group.retries += span.attributes.get(keys.ATTEMPT, 1) > 1
            if span.status == "error":
                group.errors[error_of(span)] += 1
    if whole:
        whole.took.append(seconds_of(chat) if chat else sum(one.seconds for one in found))


def _count_tokens(chat: SpanRow, price: Price, group: _Group) -> None:
    tokens = tokens_of(chat)
    group.tokens.update(tokens)
    usd = usd_of(chat, tokens, price)
    group.usd += usd or 0.0
    group.priced += usd is not None
    group.unpriced += usd is None


def _compression(folded: Sequence[Mapping[str, Any]]) -> Compression:
    before = sum(int(one.get(keys.TOKENS_BEFORE, 0)) for one in folded)
    after = sum(int(one.get(keys.TOKENS_AFTER, 0)) for one in folded)
    ratio = after / before if before else None
    return Compression(count=len(folded), tokens_before=before, tokens_after=after, ratio=ratio)


def _memory(recalled: Sequence[SpanRow]) -> MemoryStats:
    hits = sum(int(span.attributes.get(keys.FOUND, 0)) > 0 for span in recalled)
    took = [seconds_of(span) for span in recalled]
    return MemoryStats(queries=len(recalled), seconds=_seconds(took), hit_rate=_rate(hits, len(recalled)))


def _name(span: SpanRow, key: str) -> str:
    return str(span.attributes.get(key, "?"))


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _seconds(took: Sequence[float]) -> Seconds:
    if not took:
        return Seconds(mean=0.0, p50=0.0, p95=0.0, max=0.0)
    ordered = sorted(took)

    def at(percent: int) -> float:
        return ordered[-(-percent * len(ordered) // 100) - 1]

    return Seconds(mean=sum(ordered) / len(ordered), p50=at(50), p95=at(95), max=ordered[-1])
