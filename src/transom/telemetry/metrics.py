"""The metrics of a process, as running totals in OTLP's JSON."""

from __future__ import annotations

import secrets
import time
from bisect import bisect_left
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from transom.telemetry import keys
from transom.telemetry.calls import Aggregator, Price
from transom.telemetry.otlp_json import RESOURCE, SCOPE, SpanRow, Value, pairs

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (
    1,
    4,
    16,
    64,
    256,
    1024,
    4096,
    16384,
    65536,
    262144,
    1048576,
    4194304,
    16777216,
    67108864,
)
_RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_CUMULATIVE = 2

Attributes = Mapping[str, Value]


@dataclass(frozen=True)
class _Kind:
    unit: str
    description: str
    bounds: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets; a sum has none."""


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
    """Running totals since it was made; `price`: what calls cost, None where that is unknown."""

    price: Price | None = None
    _points: dict[str, dict[Hashable, _Point]] = field(default_factory=dict)
    _aggregator: Aggregator = field(default_factory=Aggregator)
    _since: int = field(default_factory=time.time_ns)
    _instance: str = field(default_factory=lambda: secrets.token_hex(8))

    def count(self, span: SpanRow, trace_id: str) -> None:
        """Count a span that has ended; its children come first."""
        for one in self._aggregator.measures(span, trace_id, self.price):
            if one.metric in KINDS and one.value is not None:
                self._add(
                    one.metric,
                    one.value,
                    {key: value for key, value in one.by.items() if key != keys.ROLE},
                )

    def export(self) -> dict[str, Any]:
        """All totals, as one `resourceMetrics` of an export request."""
        now = str(time.time_ns())
        instance = {"key": "service.instance.id", "value": {"stringValue": self._instance}}
        resource = {"attributes": [*RESOURCE["attributes"], instance]}
        metrics = [self._metric(name, points, now) for name, points in self._points.items()]
        return {"resource": resource, "scopeMetrics": [{"scope": SCOPE, "metrics": metrics}]}

    def _add(self, name: str, value: float, attributes: Attributes) -> None:
        bounds = KINDS[name].bounds
        new = _Point(attributes, [0] * (len(bounds) + 1))
        self._points.setdefault(name, {}).setdefault(tuple(attributes.items()), new).add(
            value, bounds
        )

    def _metric(self, name: str, points: Mapping[Hashable, _Point], now: str) -> dict[str, Any]:
        kind = KINDS[name]
        times = {"startTimeUnixNano": str(self._since), "timeUnixNano": now}
        shape: Literal["histogram", "sum"] = "histogram" if kind.bounds else "sum"
        series = []
        for point in points.values():
            numbers: dict[str, Any] = {"asDouble": point.total}
            if kind.bounds:
                counts = [str(number) for number in point.buckets]
                numbers = {"count": str(point.count), "sum": point.total}
                numbers |= {"bucketCounts": counts, "explicitBounds": [*kind.bounds]}
            series.append({"attributes": pairs(point.attributes), **times, **numbers})
        data: dict[str, Any] = {"dataPoints": series, "aggregationTemporality": _CUMULATIVE}
        if not kind.bounds:
            data["isMonotonic"] = True
        return {"name": name, "unit": kind.unit, "description": kind.description, shape: data}
