"""The metrics of what a process did, counted from its ended spans, in OTLP's JSON.

The same that `transom.telemetry.stats` counts from files, as running totals: so they need no clock of their own, and
what a trace says and what a metric says cannot part.
"""

from __future__ import annotations

import secrets
import time
from bisect import bisect_left
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from transom.telemetry import keys
from transom.telemetry.calls import Price, error_of, is_call, operations, seconds_of, tokens_of, usd_of, who
from transom.telemetry.export import RESOURCE, SCOPE, Value, pairs
from transom.telemetry.rows import SpanRow

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_REMEMBERED = 4_096  # conversations that were counted already; requests whose call has not ended yet
_CUMULATIVE = 2

Attributes = Mapping[str, Value]


@dataclass(frozen=True)
class _Kind:
    unit: str
    description: str
    bounds: tuple[float, ...] = ()
    """Of a histogram; a sum has none."""


KINDS: dict[str, _Kind] = {
    keys.OPERATION_DURATION: _Kind(
        "s", "How long a provider took of a call, waiting and asking it again included.", _SECONDS
    ),
    keys.TOKEN_USAGE: _Kind("{token}", "Tokens of calls to models.", _TOKENS),
    keys.TOOL_DURATION: _Kind("s", "How long tool calls took, by success.", _SECONDS),
    keys.REQUESTS: _Kind("{request}", "Requests to providers, by error.type where they failed."),
    keys.RETRIES: _Kind("{request}", "Requests that were asked again."),
    keys.SUB_CONVERSATIONS: _Kind("{conversation}", "Sub-conversations."),
    keys.COMPRESSION_RATIO: _Kind("1", "Tokens of a folded window to those before.", _RATIOS),
    keys.COST_USD: _Kind("USD", "What calls cost by the price list, where it has their model."),
}
"""Every metric."""


@dataclass
class _Point:
    """One series: a total, and of a histogram the counts per bucket."""

    attributes: Attributes
    buckets: list[int]
    count: int = 0
    total: float = 0.0

    def add(self, value: float, bounds: tuple[float, ...]) -> None:
        self.count += 1
        self.total += value
        if bounds:
            self.buckets[bisect_left(bounds, value)] += 1


@dataclass
class Metrics:
    """Running totals since it was made.

    Attributes:
        price: what calls cost; None: nobody knows.
    """

    price: Price | None = None
    _points: dict[str, dict[Hashable, _Point]] = field(default_factory=dict)
    _seen: dict[Hashable, None] = field(default_factory=dict)
    _asked: dict[str | None, list[SpanRow]] = field(default_factory=dict)
    _held: int = 0
    _since: int = field(default_factory=time.time_ns)
    _instance: str = field(default_factory=lambda: secrets.token_hex(8))

    def count(self, span: SpanRow, trace_id: str) -> None:
        """Take in a span that has ended; those beneath it come first."""
        attributes = span.attributes
        operation = attributes.get(keys.OPERATION)
        if attributes.get(keys.PARENT_CONVERSATION) and self._new((trace_id, attributes.get(keys.CONVERSATION_ID))):
            self._add(keys.SUB_CONVERSATIONS, 1, {})
        if operation == keys.ATTEMPT_CHAT:
            self._hold(span)
            self._count_request(span, attributes.get(keys.ATTEMPT, 1) > 1)
        elif is_call(span):
            self._count_call(span)
        elif operation == keys.EXECUTE_TOOL:
            told = {keys.TOOL_NAME: attributes.get(keys.TOOL_NAME, "?"), keys.TOOL_SUCCESS: span.status != "error"}
            self._add(keys.TOOL_DURATION, seconds_of(span), told | _error(span))
        elif operation == keys.COMPACT and keys.COMPRESSION_RATIO in attributes:
            self._add(keys.COMPRESSION_RATIO, attributes[keys.COMPRESSION_RATIO], {})

    def told(self) -> dict[str, Any]:
        """All of it, as one `resourceMetrics` of an export request."""
        now = str(time.time_ns())
        instance = {"key": "service.instance.id", "value": {"stringValue": self._instance}}
        resource = {"attributes": [*RESOURCE["attributes"], instance]}
        metrics = [self._metric(name, points, now) for name, points in self._points.items()]
        return {"resource": resource, "scopeMetrics": [{"scope": SCOPE, "metrics": metrics}]}

    def _count_call(self, chat: SpanRow) -> None:
        attempts = self._asked.pop(chat.span_id, [])
        self._held -= len(attempts)
        for one in operations(chat, attempts):
            if one.last is chat:  # no attempts beneath it: its provider is asked once
                self._count_request(chat, again=False)
            told = {keys.OPERATION: keys.CHAT} | who(one.last) | _error(one.last)
            self._add(keys.OPERATION_DURATION, one.seconds, told)
        if chat.status == "error":
            return
        tokens = tokens_of(chat)
        for kind in ("input", "output"):
            self._add(keys.TOKEN_USAGE, tokens[kind], {keys.OPERATION: keys.CHAT, keys.TOKEN_TYPE: kind} | who(chat))
        usd = usd_of(chat, tokens, self.price) if self.price else None
        if usd is not None:
            self._add(keys.COST_USD, usd, who(chat))

    def _count_request(self, span: SpanRow, again: bool) -> None:
        self._add(keys.REQUESTS, 1, who(span) | _error(span))
        if again:
            self._add(keys.RETRIES, 1, who(span))

    def _hold(self, attempt: SpanRow) -> None:
        """Until its call ends, which counts what each provider took; what never ends is forgotten after a while."""
        self._asked.setdefault(attempt.parent_id, []).append(attempt)
        self._held += 1
        while self._held > _REMEMBERED:
            self._held -= len(self._asked.pop(next(iter(self._asked))))

    def _new(self, key: Hashable) -> bool:
        """Whether this is seen for the first time; what was seen long ago is forgotten, so that memory stays flat."""
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True

    def _add(self, name: str, value: float, attributes: Attributes) -> None:
        bounds = KINDS[name].bounds
        points = self._points.setdefault(name, {})
        key = tuple(attributes.items())
        if key not in points:
            points[key] = _Point(attributes, [0] * (len(bounds) + 1) if bounds else [])
        points[key].add(value, bounds)

    def _metric(self, name: str, points: Mapping[Hashable, _Point], now: str) -> dict[str, Any]:
        kind = KINDS[name]
        times = {"startTimeUnixNano": str(self._since), "timeUnixNano": now}
        shape: Literal["histogram", "sum"] = "histogram" if kind.bounds else "sum"
        told = []
        for point in points.values():
            numbers: dict[str, Any] = {"asDouble": point.total}
            if kind.bounds:
                counts = [str(number) for number in point.buckets]
                numbers = {"count": str(point.count), "sum": point.total}
                numbers |= {"bucketCounts": counts, "explicitBounds": [*kind.bounds]}
            told.append({"attributes": pairs(point.attributes), **times, **numbers})
        data: dict[str, Any] = {"dataPoints": told, "aggregationTemporality": _CUMULATIVE}
        if not kind.bounds:
            data["isMonotonic"] = True
        return {"name": name, "unit": kind.unit, "description": kind.description, shape: data}


def _error(span: SpanRow) -> dict[str, Value]:
    return {keys.ERROR_TYPE: error_of(span)} if span.status == "error" else {}
