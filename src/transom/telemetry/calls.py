"""The aggregator: ended spans become values of metrics, for `trace stats` and for a collector
alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.telemetry import keys
from transom.telemetry.otlp_json import SpanRow

Price = Callable[[str, Mapping[str, int]], float | None]
"""Provider and tokens (`input`, `output`, `cached`, `cache_write`) -> dollars; None if the price is
unknown.
"""

_TOKENS = {
    "input": keys.INPUT_TOKENS,
    "output": keys.OUTPUT_TOKENS,
    "cached": keys.CACHE_READ_TOKENS,
    "cache_write": keys.CACHE_CREATION_TOKENS,
}
# Sub-conversations that were counted, and calls that have not ended: a process may run for weeks.
_REMEMBERED = 4_096


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One value of a metric.

    Attributes:
        metric: its name, from `keys`.
        value: in the metric's unit; None for an unknown price.
        labels: provider, model, role, error and the like, by the names in `keys`.
    """

    metric: str
    value: float | None
    labels: Mapping[str, Any]


@dataclass
class Aggregator:
    """The spans that a later span completes, and the measures of those that are complete.

    Each provider of a call gets the time that it took itself, from its first request to the end of
    its last: OpenTelemetry's GenAI conventions measure an operation in this way. A role gets the
    whole call (`keys.CALL_DURATION`).
    """

    _counted_conversations: dict[tuple[str, Any], None] = field(default_factory=dict)
    _open_attempts: dict[str | None, list[SpanRow]] = field(default_factory=dict)

    def measures(self, span: SpanRow, trace_id: str, price: Price | None) -> Iterator[MetricValue]:
        """Yield the measures of a span that has ended. Its children must come before it."""
        attributes = span.attributes
        operation = attributes.get(keys.OPERATION)
        conversation = (trace_id, attributes.get(keys.CONVERSATION_ID))
        if attributes.get(keys.PARENT_CONVERSATION) and self._is_new(conversation):
            yield MetricValue(keys.SUB_CONVERSATIONS, 1, {})
        if operation == keys.ATTEMPT_CHAT:
            self._open_attempts.setdefault(span.parent_id, []).append(span)
            # A call that never ends is counted without its end, so that memory stays flat.
            if len(self._open_attempts) > _REMEMBERED:
                oldest_call = next(iter(self._open_attempts))
                yield from _call_measures(None, self._open_attempts.pop(oldest_call))
            return
        attempts = self._open_attempts.pop(span.span_id, [])
        chat = span if is_call(span) else None
        if chat or attempts:
            yield from _call_measures(chat, attempts)
        if chat and chat.status != "error":
            yield from _reply_measures(chat, price)
        if operation == keys.EXECUTE_TOOL:
            labels = {
                keys.TOOL_NAME: attributes.get(keys.TOOL_NAME, "?"),
                keys.TOOL_SUCCESS: span.status != "error",
            }
            yield MetricValue(keys.TOOL_DURATION, _duration(span), labels | _error_label(span))
        elif operation in (keys.RETRIEVAL, keys.MEMORY_CHANGE):
            yield from _memory_measures(span)
        elif operation == keys.COMPACT:
            for key in (keys.TOKENS_BEFORE, keys.TOKENS_AFTER):
                yield MetricValue(key, int(attributes.get(key, 0)), {})
            if keys.COMPRESSION_RATIO in attributes:
                yield MetricValue(keys.COMPRESSION_RATIO, attributes[keys.COMPRESSION_RATIO], {})

    def unfinished(self) -> Iterator[MetricValue]:
        """Yield the measures of requests whose call has not ended."""
        for attempts in self._open_attempts.values():
            yield from _call_measures(None, attempts)
        self._open_attempts.clear()

    def _is_new(self, conversation: tuple[str, Any]) -> bool:
        if conversation in self._counted_conversations:
            return False
        self._counted_conversations[conversation] = None
        if len(self._counted_conversations) > _REMEMBERED:
            oldest = next(iter(self._counted_conversations))
            del self._counted_conversations[oldest]
        return True


def is_call(span: SpanRow) -> bool:
    """Return whether a span is a call to a model. A reply from the journal is not."""
    is_chat = span.attributes.get(keys.OPERATION) == keys.CHAT
    return is_chat and not span.attributes.get(keys.REPLAYED)


def tokens_of(chat: SpanRow) -> dict[str, int]:
    """Return the tokens of a call: `input`, `output`, `cached`, `cache_write`."""
    return {name: int(chat.attributes.get(key, 0)) for name, key in _TOKENS.items()}


def _call_measures(chat: SpanRow | None, attempts: Sequence[SpanRow]) -> Iterator[MetricValue]:
    """Yield the requests to the providers of a call, and the duration of each provider.

    Args:
        chat: the span of the call; None if it has not ended.
        attempts: the spans of its requests.
    """
    role = {keys.ROLE: chat.attributes.get(keys.ROLE, "?")} if chat else {}
    all_seconds = 0.0
    for spans, seconds in _operations(chat, attempts):
        all_seconds += seconds
        for span in spans:
            provider = _provider_labels(span)
            yield MetricValue(keys.REQUESTS, 1, provider | _error_label(span) | role)
            # The span of the call itself says nothing about attempts.
            if span is not chat and span.attributes.get(keys.ATTEMPT, 1) > 1:
                yield MetricValue(keys.RETRIES, 1, provider | role)
        last = spans[-1]
        labels = {keys.OPERATION: keys.CHAT} | _provider_labels(last) | _error_label(last)
        yield MetricValue(keys.OPERATION_DURATION, seconds, labels | role)
    yield MetricValue(keys.CALL_DURATION, _duration(chat) if chat else all_seconds, role)


def _operations(
    chat: SpanRow | None, attempts: Sequence[SpanRow]
) -> list[tuple[list[SpanRow], float]]:
    """Return the requests of a call, grouped by model, and the seconds that each group took.

    If the last provider has no requests, the call itself stands for them.
    """
    groups: list[list[SpanRow]] = []
    for span in sorted(attempts, key=lambda span: (span.start, span.span_id)):
        is_repeated = span.attributes.get(keys.ATTEMPT, 1) > 1
        if is_repeated and groups and _is_same_provider(groups[-1][-1], span):
            groups[-1].append(span)
        else:
            groups.append([span])
    operations = [(group, _seconds(group[0].start, group[-1])) for group in groups]
    if chat and _lacks_last_request(chat, groups):
        start = max([span.end or span.start for span in attempts], default=chat.start)
        operations.append(([chat], _seconds(start, chat)))
    return operations


def _lacks_last_request(chat: SpanRow, groups: Sequence[Sequence[SpanRow]]) -> bool:
    """Return whether the provider that answered a call left no request.

    A provider that is asked only once, and to which the call fell back, leaves none.
    """
    if not groups:
        return True
    last = groups[-1][-1]
    if last.status != "error" or chat.status == "error":
        return False
    return not _is_same_provider(last, chat)


def _reply_measures(chat: SpanRow, price: Price | None) -> Iterator[MetricValue]:
    """Yield the tokens and the cost of a reply."""
    tokens = tokens_of(chat)
    labels = _provider_labels(chat) | {keys.ROLE: chat.attributes.get(keys.ROLE, "?")}
    for token_type in ("input", "output"):
        of_type = {keys.OPERATION: keys.CHAT, keys.TOKEN_TYPE: token_type}
        yield MetricValue(keys.TOKEN_USAGE, tokens[token_type], of_type | labels)
    yield MetricValue(keys.CACHE_READ_TOKENS, tokens["cached"], labels)
    vendor = chat.attributes.get(keys.PROVIDER, "")
    model = chat.attributes.get(keys.REQUEST_MODEL, "")
    # A provider without models, such as `rules`, reports its own name for both.
    name = vendor if vendor == model else f"{vendor}:{model}"
    yield MetricValue(keys.COST_USD, price(name, tokens) if price else None, labels)


def _memory_measures(span: SpanRow) -> Iterator[MetricValue]:
    """Yield the measures of an operation on a memory; queries count whether they had a result."""
    name = str(span.attributes.get(keys.MEMORY_OPERATION, "retrieve"))
    yield MetricValue(keys.MEMORY_DURATION, _duration(span), {keys.MEMORY_OPERATION: name})
    if span.attributes.get(keys.OPERATION) != keys.RETRIEVAL:
        return
    found = int(span.attributes.get(keys.FOUND, 0))
    yield MetricValue(keys.RETRIEVAL, _duration(span), {keys.FOUND: found})
    yield MetricValue(keys.MEMORY_QUERIES, 1, {keys.MEMORY_HIT: found > 0})


def _provider_labels(span: SpanRow) -> dict[str, Any]:
    """Return provider and model of a call or a request, as far as its span has them."""
    labels: dict[str, Any] = {}
    for key in (keys.PROVIDER, keys.REQUEST_MODEL):
        if key in span.attributes:
            labels[key] = span.attributes[key]
    return labels


def _is_same_provider(span: SpanRow, other: SpanRow) -> bool:
    return _provider_labels(span) == _provider_labels(other)


def _error_label(span: SpanRow) -> dict[str, Any]:
    if span.status != "error":
        return {}
    return {keys.ERROR_TYPE: str(span.attributes.get(keys.ERROR_TYPE, "?"))}


def _duration(span: SpanRow) -> float:
    return _seconds(span.start, span)


def _seconds(start: int, span: SpanRow) -> float:
    """Return the seconds from a time to the end of a span; 0 for a span that never ended."""
    return max((span.end or span.start) - start, 0) / 1e9
