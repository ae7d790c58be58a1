"""Statistics over many traces, computed from their spans on demand; nothing is stored beside the
traces.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from transom.telemetry import keys
from transom.telemetry.calls import Aggregator, Measure, Price
from transom.telemetry.otlp_json import SpanRow
from transom.telemetry.read import Shape

By = Literal["provider", "tool", "role"]
Measures = Mapping[str, Sequence[Measure]]
"""By metric."""

_NAME: dict[By, str] = {"provider": keys.PROVIDER, "tool": keys.TOOL_NAME, "role": keys.ROLE}
_DURATION: dict[By, str] = {
    "provider": keys.OPERATION_DURATION,
    "tool": keys.TOOL_DURATION,
    "role": keys.CALL_DURATION,
}
_OF_CALLS = (keys.REQUESTS, keys.RETRIES, keys.TOKEN_USAGE, keys.CACHE_READ_TOKENS, keys.COST_USD)


class Seconds(Shape):
    """How long calls took; 0 where there were none. `p95`: 95 of a hundred took no longer."""

    mean: float
    p50: float
    p95: float
    max: float


class StatsRow(Shape):
    """One provider, tool or role.

    Attributes:
        name: of it; "?" where a call failed before any provider answered.
        calls: that were made; of a provider those in which it was asked. Replies from a journal are
            none.
        seconds: a call took, waiting and asking again included; of a provider what it took of the
            call itself, and not what others did that were asked before it.
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


class Compression(Shape):
    """Folding of conversations: how often, and the tokens of those windows before and after."""

    count: int
    tokens_before: int
    tokens_after: int
    ratio: float | None


class MemoryStats(Shape):
    """Queries to a memory: how many, their duration, and the fraction that found something."""

    queries: int
    seconds: Seconds
    hit_rate: float


class Stats(Shape):
    """The document of `trace stats`, over spans that began within `since`; over all where that
    is None.
    """

    schema_: Literal["transom.trace_stats/1"] = Field(
        default="transom.trace_stats/1", alias="schema"
    )
    since: str | None
    by: By
    traces: int
    sub_conversations: int
    compression: Compression
    memory: MemoryStats
    rows: tuple[StatsRow, ...]


def statistics(
    traces: Iterable[Sequence[SpanRow]],
    *,
    by: By,
    price: Price,
    since: str | None = None,
    oldest: int = 0,
) -> Stats:
    """Compute the statistics of traces.

    Args:
        traces: the spans of each.
        by: what a row is of.
        price: what calls cost.
        since: the option as the user wrote it, for the document.
        oldest: only what began at this time or later counts, in nanoseconds since 1970: a trace
            lasts as long as its conversation. A request counts with the call that it was made for.
    """
    of_row = {_DURATION[by]} if by == "tool" else {_DURATION[by], *_OF_CALLS}
    groups: defaultdict[str, defaultdict[str, list[Measure]]] = defaultdict(
        lambda: defaultdict(list)
    )
    rest: defaultdict[str, list[Measure]] = defaultdict(list)
    count = 0
    for trace in traces:
        spans = _recent(trace, oldest)
        count += bool(spans)
        for one in _measures(spans, price):
            group = groups[str(one.by.get(_NAME[by], "?"))] if one.metric in of_row else rest
            group[one.metric].append(one)
    return Stats(
        since=since,
        by=by,
        traces=count,
        sub_conversations=len(rest[keys.SUB_CONVERSATIONS]),
        compression=_compression(rest),
        memory=_memory(rest[keys.RETRIEVAL]),
        rows=tuple(_row(name, by, group) for name, group in sorted(groups.items())),
    )


def _recent(spans: Sequence[SpanRow], oldest: int) -> list[SpanRow]:
    old = {span.span_id for span in spans if span.start < oldest}
    return [
        one
        for one in spans
        if one.span_id not in old and not (_is_attempt(one) and one.parent_id in old)
    ]


def _is_attempt(span: SpanRow) -> bool:
    return bool(span.attributes.get(keys.OPERATION) == keys.ATTEMPT_CHAT)


def _measures(spans: Sequence[SpanRow], price: Price) -> Iterable[Measure]:
    aggregator = Aggregator()
    ended = [span for span in spans if span.end is not None]
    for span in sorted(ended, key=lambda span: not _is_attempt(span)):
        yield from aggregator.measures(span, "", price)
    yield from aggregator.unfinished()


def _row(name: str, by: By, group: Measures) -> StatsRow:
    took = _values(group, _DURATION[by])
    requests = group.get(keys.TOOL_DURATION if by == "tool" else keys.REQUESTS, ())
    errors = Counter(str(one.by[keys.ERROR_TYPE]) for one in requests if keys.ERROR_TYPE in one.by)
    retries = len(group.get(keys.RETRIES, ()))
    tokens: Counter[str] = Counter()
    for one in group.get(keys.TOKEN_USAGE, ()):
        tokens[one.by[keys.TOKEN_TYPE]] += int(one.value or 0)
    usd = _values(group, keys.COST_USD)
    return StatsRow(
        name=name,
        calls=len(took),
        seconds=_seconds(took),
        errors=dict(sorted(errors.items())),
        error_rate=_rate(errors.total(), len(requests)),
        retries=retries,
        retry_rate=_rate(retries, len(took)),
        input_tokens=tokens["input"],
        output_tokens=tokens["output"],
        cached_tokens=int(sum(_values(group, keys.CACHE_READ_TOKENS))),
        cost_usd=sum(usd) if usd else None,
        unpriced=len(group.get(keys.COST_USD, ())) - len(usd),
    )


def _values(group: Measures, metric: str) -> list[float]:
    """The known values of a metric."""
    return [one.value for one in group.get(metric, ()) if one.value is not None]


def _compression(measures: Measures) -> Compression:
    before, after = (_values(measures, key) for key in (keys.TOKENS_BEFORE, keys.TOKENS_AFTER))
    ratio = sum(after) / sum(before) if sum(before) else None
    return Compression(
        count=len(before), tokens_before=int(sum(before)), tokens_after=int(sum(after)), ratio=ratio
    )


def _memory(recalled: Sequence[Measure]) -> MemoryStats:
    hits = sum(one.by[keys.FOUND] > 0 for one in recalled)
    took = [one.value or 0.0 for one in recalled]
    return MemoryStats(
        queries=len(recalled), seconds=_seconds(took), hit_rate=_rate(hits, len(recalled))
    )


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _seconds(took: Sequence[float]) -> Seconds:
    if not took:
        return Seconds(mean=0.0, p50=0.0, p95=0.0, max=0.0)
    ordered = sorted(took)

    def at(percent: int) -> float:
        return ordered[-(-percent * len(ordered) // 100) - 1]

    return Seconds(mean=sum(ordered) / len(ordered), p50=at(50), p95=at(95), max=ordered[-1])
