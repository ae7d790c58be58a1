"""Calls to models, read out of spans: what each provider took of a call, what the reply took, and what that cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from transom.telemetry import keys
from transom.telemetry.rows import SpanRow

Price = Callable[[str, Mapping[str, int]], float | None]
"""Who answered, and its tokens (`input`, `output`, `cached`, `cache_write`) -> dollars; None where nobody knows."""

_TOKENS = {
    "input": keys.INPUT_TOKENS,
    "output": keys.OUTPUT_TOKENS,
    "cached": keys.CACHE_READ_TOKENS,
    "cache_write": keys.CACHE_CREATION_TOKENS,
}


@dataclass(frozen=True)
class Operation:
    """What one provider was asked in a call, until it answered or was given up.

    OpenTelemetry's GenAI conventions measure an operation so: it is a request to one model, all its retries included.
    What a fallback asks is another operation, of another model.

    Attributes:
        spans: its requests in order, at least one; the call itself where it left none of its own.
        seconds: from the first request to the end of the last, waiting in between included.
    """

    spans: tuple[SpanRow, ...]
    seconds: float

    @property
    def last(self) -> SpanRow:
        """The request that says who was asked and how it ended."""
        return self.spans[-1]


def operations(chat: SpanRow | None, attempts: Sequence[SpanRow]) -> list[Operation]:
    """What the providers were asked in a call, in order.

    Args:
        chat: the call; None where only its requests are known.
        attempts: the requests beneath it that have ended.
    """
    runs: list[list[SpanRow]] = []
    for span in sorted(attempts, key=lambda span: (span.start, span.span_id)):
        if runs and who(runs[-1][-1]) == who(span) and span.attributes.get(keys.ATTEMPT, 1) > 1:
            runs[-1].append(span)
        else:
            runs.append([span])
    found = [Operation(tuple(run), _between(run[0].start, run[-1])) for run in runs]
    if chat and (not found or _fell_back(chat, found[-1].last)):
        began = max([span.end or span.start for span in attempts], default=chat.start)
        found.append(Operation((chat,), _between(began, chat)))
    return found


def _fell_back(chat: SpanRow, last: SpanRow) -> bool:
    """On a provider that leaves no requests of its own, since it is asked once."""
    return last.status == "error" and chat.status != "error" and who(last) != who(chat)


def who(span: SpanRow) -> dict[str, str]:
    """Provider and model of a call or a request, as far as it says them."""
    known = span.attributes
    return {key: known[key] for key in (keys.PROVIDER, keys.REQUEST_MODEL) if key in known}


def is_call(span: SpanRow) -> bool:
    """Whether it is a call to a model; a reply from the journal is none."""
    return has_operation(span, keys.CHAT) and not span.attributes.get(keys.REPLAYED)


def tokens_of(chat: SpanRow) -> dict[str, int]:
    """What a call took: `input`, `output`, `cached`, `cache_write`."""
    return {name: int(chat.attributes.get(key, 0)) for name, key in _TOKENS.items()}


def usd_of(chat: SpanRow, tokens: Mapping[str, int], price: Price) -> float | None:
    """What a call cost."""
    vendor, model = chat.attributes.get(keys.PROVIDER, ""), chat.attributes.get(keys.REQUEST_MODEL, "")
    return price(vendor if vendor == model else f"{vendor}:{model}", tokens)


def has_operation(span: SpanRow, operation: str) -> bool:
    """Whether it is of that kind."""
    return bool(span.attributes.get(keys.OPERATION) == operation)


def error_of(span: SpanRow) -> str:
    """The type of a failure."""
    return str(span.attributes.get(keys.ERROR_TYPE, "?"))


def seconds_of(span: SpanRow) -> float:
    """How long it took; 0 for a span that never ended."""
    return _between(span.start, span)


def _between(began: int, span: SpanRow) -> float:
    return max((span.end or span.start) - began, 0) / 1e9
