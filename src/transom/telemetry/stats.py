"""Statistics over many traces, computed from their spans on demand: nothing but the traces is
stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from transom.telemetry import keys
from transom.telemetry.calls import Aggregator, MetricValue, Price
from transom.telemetry.otlp_json import SpanRow
from transom.telemetry.read import TelemetryDocument

By = Literal["provider", "tool", "role"]
Measures = Mapping[str, Sequence[MetricValue]]
"""The measures of each metric."""

_NAME: dict[By, str] = {"provider": keys.PROVIDER, "tool": keys.TOOL_NAME, "role": keys.ROLE}
_DURATION: dict[By, str] = {
    "provider": keys.OPERATION_DURATION,
    "tool": keys.TOOL_DURATION,
    "role": keys.CALL_DURATION,
}
# Metrics that the rows of `provider` and `role` need in addition to the durations.
_OF_CALLS = (keys.REQUESTS, keys.RETRIES, keys.TOKEN_USAGE, keys.CACHE_READ_TOKENS, keys.COST_USD)


class Seconds(TelemetryDocument):
    """Durations of calls; 0 if there were none. `p95`: 95 of a hundred calls took no longer."""

    mean: float
    p50: float
    p95: float
    max: float


class StatsRow(TelemetryDocument):
    """One provider, tool or role.

    Attributes:
        name: its name; "?" if a call failed before any provider answered.
        calls: number of calls; for a provider, of calls that sent it a request. Replies from a
            journal are not calls.
        seconds: duration of a call, with its waits and repeated requests; for a provider, its own
            part of the call, without the providers that were tried before it.
        errors: number of failures by type. Each failed request of a call counts.
        error_rate: errors divided by requests, repeated ones included; for tools, by calls.
        retries: number of repeated requests.
        retry_rate: retries divided by calls.
        input_tokens, output_tokens, cached_tokens: sums over the replies.
        cost_usd: dollars for the replies of known price; None if no price is known.
        unpriced: number of replies of unknown price.
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


class Compression(TelemetryDocument):
    """Compactions of conversations: their number, and the tokens of the windows before and after
    them.
    """

    count: int
    tokens_before: int
    tokens_after: int
    ratio: float | None


class MemoryStats(TelemetryDocument):
    """Queries to a memory: their number, their duration, and the fraction with a result."""

    queries: int
    seconds: Seconds
    hit_rate: float


class Stats(TelemetryDocument):
    """The document of `trace stats`, over the spans that began within `since`, or over all if it
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
        traces: the spans of each trace.
        by: whether a row is a provider, a tool or a role.
        price: returns the cost of a call.
        since: the option as the user wrote it, for the document.
        oldest: nanoseconds since 1970; earlier spans do not count. A trace lasts as long as its
            conversation, so this is decided span by span. A request counts with its call.
    """
    row_metrics = {_DURATION[by]}
    if by != "tool":
        row_metrics.update(_OF_CALLS)
    groups: defaultdict[str, defaultdict[str, list[MetricValue]]] = defaultdict(
        lambda: defaultdict(list)
    )
    totals: defaultdict[str, list[MetricValue]] = defaultdict(list)
    count = 0
    for trace in traces:
        spans = _recent(trace, oldest)
        count += bool(spans)
        for measure in _measures(spans, price):
            if measure.metric in row_metrics:
                name = str(measure.labels.get(_NAME[by], "?"))
                groups[name][measure.metric].append(measure)
            else:
                totals[measure.metric].append(measure)
    return Stats(
        since=since,
        by=by,
        traces=count,
        sub_conversations=len(totals[keys.SUB_CONVERSATIONS]),
        compression=_compression(totals),
        memory=_memory(totals[keys.RETRIEVAL]),
        rows=tuple(_row(name, by, group) for name, group in sorted(groups.items())),
    )


def _recent(spans: Sequence[SpanRow], oldest: int) -> list[SpanRow]:
    """Return the spans that began at a time or later, without the requests of earlier calls."""
    earlier = {span.span_id for span in spans if span.start < oldest}
    recent = []
    for span in spans:
        # A request without its call would count as a call that has not ended.
        if span.span_id in earlier or (_is_attempt(span) and span.parent_id in earlier):
            continue
        recent.append(span)
    return recent


def _is_attempt(span: SpanRow) -> bool:
    return bool(span.attributes.get(keys.OPERATION) == keys.ATTEMPT_CHAT)


def _measures(spans: Sequence[SpanRow], price: Price) -> Iterable[MetricValue]:
    aggregator = Aggregator()
    ended = [span for span in spans if span.end is not None]
    # The aggregator needs the requests before their call, and spans are sorted by their start.
    for span in sorted(ended, key=lambda span: not _is_attempt(span)):
        yield from aggregator.measures(span, "", price)
    yield from aggregator.unfinished()


def _row(name: str, by: By, group: Measures) -> StatsRow:
    durations = _values(group, _DURATION[by])
    requests = group.get(keys.TOOL_DURATION if by == "tool" else keys.REQUESTS, ())
    errors: Counter[str] = Counter()
    for measure in requests:
        if keys.ERROR_TYPE in measure.labels:
            errors[str(measure.labels[keys.ERROR_TYPE])] += 1
    retries = len(group.get(keys.RETRIES, ()))
    tokens: Counter[str] = Counter()
    for measure in group.get(keys.TOKEN_USAGE, ()):
        tokens[measure.labels[keys.TOKEN_TYPE]] += int(measure.value or 0)
    usd = _values(group, keys.COST_USD)
    return StatsRow(
        name=name,
        calls=len(durations),
        seconds=_seconds(durations),
        errors=dict(sorted(errors.items())),
        error_rate=_rate(errors.total(), len(requests)),
        retries=retries,
        retry_rate=_rate(retries, len(durations)),
        input_tokens=tokens["input"],
        output_tokens=tokens["output"],
        cached_tokens=int(sum(_values(group, keys.CACHE_READ_TOKENS))),
        cost_usd=sum(usd) if usd else None,
        unpriced=len(group.get(keys.COST_USD, ())) - len(usd),
    )


def _values(group: Measures, metric: str) -> list[float]:
    """Return the known values of a metric."""
    measures = group.get(metric, ())
    return [measure.value for measure in measures if measure.value is not None]


def _compression(measures: Measures) -> Compression:
    windows = _values(measures, keys.TOKENS_BEFORE)
    before = sum(windows)
    after = sum(_values(measures, keys.TOKENS_AFTER))
    return Compression(
        count=len(windows),
        tokens_before=int(before),
        tokens_after=int(after),
        ratio=after / before if before else None,
    )


def _memory(queries: Sequence[MetricValue]) -> MemoryStats:
    hits = 0
    durations = []
    for query in queries:
        hits += query.labels[keys.FOUND] > 0
        durations.append(query.value or 0.0)
    return MemoryStats(
        queries=len(queries), seconds=_seconds(durations), hit_rate=_rate(hits, len(queries))
    )


def _rate(part: int, total: int) -> float:
    return part / total if total else 0.0


def _seconds(durations: Sequence[float]) -> Seconds:
    if not durations:
        return Seconds(mean=0.0, p50=0.0, p95=0.0, max=0.0)
    ordered = sorted(durations)

    def percentile(percent: int) -> float:
        # Rounded up, so that each percentile is the duration of a real call.
        rank = -(-percent * len(ordered) // 100)
        return ordered[rank - 1]

    return Seconds(
        mean=sum(ordered) / len(ordered), p50=percentile(50), p95=percentile(95), max=ordered[-1]
    )
