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
"""Provider and tokens (`input`, `output`, `cached`, `cache_write`) -> dollars; None where the
price is unknown.
"""

_TOKENS = {
    "input": keys.INPUT_TOKENS,
    "output": keys.OUTPUT_TOKENS,
    "cached": keys.CACHE_READ_TOKENS,
    "cache_write": keys.CACHE_CREATION_TOKENS,
}
_REMEMBERED = 4_096  # sub-conversations that were counted; calls that have not ended


@dataclass(frozen=True, slots=True)
class Measure:
    """One value of a metric, None for an unknown price, by provider, model, role, error and the
    like.
    """

    metric: str
    value: float | None
    by: Mapping[str, Any]


@dataclass
class Aggregator:
    """Turns ended spans into measures.

    Each provider of a call has the time that it took itself, from its first request to the end of
    the last: so OpenTelemetry's GenAI conventions measure an operation. A role has the whole call
    (`keys.CALL_DURATION`).
    """

    _subs: dict[tuple[str, Any], None] = field(default_factory=dict)
    _asked: dict[str | None, list[SpanRow]] = field(default_factory=dict)

    def measures(self, span: SpanRow, trace_id: str, price: Price | None) -> Iterator[Measure]:
        """The measures of a span that has ended; its children come first."""
        attributes = span.attributes
        operation = attributes.get(keys.OPERATION)
        if attributes.get(keys.PARENT_CONVERSATION) and self._is_new(
            (trace_id, attributes.get(keys.CONVERSATION_ID))
        ):
            yield Measure(keys.SUB_CONVERSATIONS, 1, {})
        if operation == keys.ATTEMPT_CHAT:
            self._asked.setdefault(span.parent_id, []).append(span)
            # what never ends is counted as it is, so that memory stays flat
            if len(self._asked) > _REMEMBERED:
                yield from _requests(None, self._asked.pop(next(iter(self._asked))))
            return
        attempts = self._asked.pop(span.span_id, [])
        chat = span if is_call(span) else None
        if chat or attempts:
            yield from _requests(chat, attempts)
        if chat and chat.status != "error":
            yield from _reply(chat, price)
        if operation == keys.EXECUTE_TOOL:
            by = {
                keys.TOOL_NAME: attributes.get(keys.TOOL_NAME, "?"),
                keys.TOOL_SUCCESS: span.status != "error",
            }
            yield Measure(keys.TOOL_DURATION, _seconds(span.start, span), by | _error(span))
        elif operation == keys.RETRIEVAL:
            yield Measure(
                keys.RETRIEVAL,
                _seconds(span.start, span),
                {keys.FOUND: int(attributes.get(keys.FOUND, 0))},
            )
        elif operation == keys.COMPACT:
            for key in (keys.TOKENS_BEFORE, keys.TOKENS_AFTER):
                yield Measure(key, int(attributes.get(key, 0)), {})
            if keys.COMPRESSION_RATIO in attributes:
                yield Measure(keys.COMPRESSION_RATIO, attributes[keys.COMPRESSION_RATIO], {})

    def unfinished(self) -> Iterator[Measure]:
        """The measures of requests whose call has not ended."""
        for attempts in self._asked.values():
            yield from _requests(None, attempts)
        self._asked.clear()

    def _is_new(self, key: tuple[str, Any]) -> bool:
        if key in self._subs:
            return False
        self._subs[key] = None
        if len(self._subs) > _REMEMBERED:
            del self._subs[next(iter(self._subs))]
        return True


def is_call(span: SpanRow) -> bool:
    """Whether it is a call to a model; a reply from the journal is none."""
    return span.attributes.get(keys.OPERATION) == keys.CHAT and not span.attributes.get(
        keys.REPLAYED
    )


def tokens_of(chat: SpanRow) -> dict[str, int]:
    """The tokens of a call: `input`, `output`, `cached`, `cache_write`."""
    return {name: int(chat.attributes.get(key, 0)) for name, key in _TOKENS.items()}


def _requests(chat: SpanRow | None, attempts: Sequence[SpanRow]) -> Iterator[Measure]:
    """Requests to the providers of a call, and the duration of each; `chat` is None where the
    call has not ended.
    """
    role = {keys.ROLE: chat.attributes.get(keys.ROLE, "?")} if chat else {}
    whole = 0.0
    for spans, seconds in _operations(chat, attempts):
        whole += seconds
        for span in spans:
            yield Measure(keys.REQUESTS, 1, _who(span) | _error(span) | role)
            if span is not chat and span.attributes.get(keys.ATTEMPT, 1) > 1:
                yield Measure(keys.RETRIES, 1, _who(span) | role)
        by = {keys.OPERATION: keys.CHAT} | _who(spans[-1]) | _error(spans[-1])
        yield Measure(keys.OPERATION_DURATION, seconds, by | role)
    yield Measure(keys.CALL_DURATION, _seconds(chat.start, chat) if chat else whole, role)


def _operations(
    chat: SpanRow | None, attempts: Sequence[SpanRow]
) -> list[tuple[list[SpanRow], float]]:
    """The requests to one model after another, and the seconds of each; the call itself where it
    left none.
    """
    runs: list[list[SpanRow]] = []
    for span in sorted(attempts, key=lambda span: (span.start, span.span_id)):
        if runs and _who(runs[-1][-1]) == _who(span) and span.attributes.get(keys.ATTEMPT, 1) > 1:
            runs[-1].append(span)
        else:
            runs.append([span])
    found = [(run, _seconds(run[0].start, run[-1])) for run in runs]
    last = runs[-1][-1] if runs else None
    # A provider that is asked once, and that the call fell back on, leaves no requests of its own.
    if chat and (
        not last or (last.status == "error" and chat.status != "error" and _who(last) != _who(chat))
    ):
        began = max([span.end or span.start for span in attempts], default=chat.start)
        found.append(([chat], _seconds(began, chat)))
    return found


def _reply(chat: SpanRow, price: Price | None) -> Iterator[Measure]:
    tokens, by = tokens_of(chat), _who(chat) | {keys.ROLE: chat.attributes.get(keys.ROLE, "?")}
    for kind in ("input", "output"):
        yield Measure(
            keys.TOKEN_USAGE, tokens[kind], {keys.OPERATION: keys.CHAT, keys.TOKEN_TYPE: kind} | by
        )
    yield Measure(keys.CACHE_READ_TOKENS, tokens["cached"], by)
    vendor, model = (
        chat.attributes.get(keys.PROVIDER, ""),
        chat.attributes.get(keys.REQUEST_MODEL, ""),
    )
    name = vendor if vendor == model else f"{vendor}:{model}"
    yield Measure(keys.COST_USD, price(name, tokens) if price else None, by)


def _who(span: SpanRow) -> dict[str, Any]:
    """Provider and model of a call or a request, as far as it says them."""
    known = span.attributes
    return {key: known[key] for key in (keys.PROVIDER, keys.REQUEST_MODEL) if key in known}


def _error(span: SpanRow) -> dict[str, Any]:
    return (
        {keys.ERROR_TYPE: str(span.attributes.get(keys.ERROR_TYPE, "?"))}
        if span.status == "error"
        else {}
    )


def _seconds(began: int, span: SpanRow) -> float:
    """The duration in seconds; 0 for a span that never ended."""
    return max((span.end or span.start) - began, 0) / 1e9
