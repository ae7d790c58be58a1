"""Metrics of a process, as running totals in OTLP's JSON."""

from __future__ import annotations

import secrets
import time
from bisect import bisect_left
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transom.telemetry import keys
from transom.telemetry.calls import Aggregator, Price
from transom.telemetry.otlp_json import RESOURCE, SCOPE, SpanRow, Value, attribute_pairs

# The bounds of durations and tokens that the GenAI conventions advise.
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4**power for power in range(14))
_RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# OTLP's code of totals that count from the start of the process.
_CUMULATIVE = 2

Attributes = Mapping[str, Value]


@dataclass(frozen=True)
class MetricKind:
    """The unit and the form of a metric.

    Attributes:
        unit: in UCUM's notation, as OpenTelemetry asks for.
        description: for the reader of a dashboard.
        bounds: upper bounds of the buckets of a histogram; none for a sum.
    """

    unit: str
    description: str
    bounds: tuple[float, ...] = ()


KINDS: dict[str, MetricKind] = {
    keys.OPERATION_DURATION: MetricKind(
        "s", "Duration of a provider's part of a call, with waits and repeated requests.", _SECONDS
    ),
    keys.TOKEN_USAGE: MetricKind("{token}", "Tokens of calls to models.", _TOKENS),
    keys.TOOL_DURATION: MetricKind("s", "Duration of tool calls, by success.", _SECONDS),
    keys.REQUESTS: MetricKind("{request}", "Requests to providers; failed ones by error.type."),
    keys.RETRIES: MetricKind("{request}", "Repeated requests."),
    keys.SUB_CONVERSATIONS: MetricKind("{conversation}", "Sub-conversations."),
    keys.MEMORY_DURATION: MetricKind("s", "Duration of operations on a memory.", _SECONDS),
    keys.MEMORY_QUERIES: MetricKind(
        "{query}", "Queries to a memory, by whether they had a result."
    ),
    keys.COMPRESSION_RATIO: MetricKind(
        "1", "Tokens of a compacted window, divided by those before.", _RATIOS
    ),
    keys.COST_USD: MetricKind(
        "USD", "Cost of calls to models that have a price in the price list."
    ),
}
"""Each metric, by its name."""


@dataclass
class _Series:
    """The total of one metric for one set of attributes.

    Attributes:
        attributes: that all values have in common.
        buckets: for a histogram, how many values fall between two bounds.
        count: how many values were added.
        total: their sum.
    """

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
    """Running totals of a process.

    Attributes:
        price: returns the cost of a call; None if no price list is known.
    """

    price: Price | None = None
    _series: dict[str, dict[Hashable, _Series]] = field(default_factory=dict)
    _aggregator: Aggregator = field(default_factory=Aggregator)
    _since: int = field(default_factory=time.time_ns)
    _instance: str = field(default_factory=lambda: secrets.token_hex(8))

    def count(self, span: SpanRow, trace_id: str) -> None:
        """Count a span that has ended. Its children must be counted before it."""
        for measure in self._aggregator.measures(span, trace_id, self.price):
            if measure.metric not in KINDS or measure.value is None:
                continue
            attributes = dict(measure.labels)
            # Roles are for `trace stats` alone.
            attributes.pop(keys.ROLE, None)
            self._add(measure.metric, measure.value, attributes)

    def export(self) -> dict[str, Any]:
        """Return all totals, as one `resourceMetrics` of an export request."""
        current_time = str(time.time_ns())
        # Totals of two processes must not be taken for one series that jumps back.
        instance = {"key": "service.instance.id", "value": {"stringValue": self._instance}}
        resource = {"attributes": [*RESOURCE["attributes"], instance]}
        metrics = [self._metric(name, current_time) for name in self._series]
        return {"resource": resource, "scopeMetrics": [{"scope": SCOPE, "metrics": metrics}]}

    def _add(self, name: str, value: float, attributes: Attributes) -> None:
        bounds = KINDS[name].bounds
        new_series = _Series(attributes, [0] * (len(bounds) + 1))
        of_metric = self._series.setdefault(name, {})
        of_metric.setdefault(frozenset(attributes.items()), new_series).add(value, bounds)

    def _metric(self, name: str, current_time: str) -> dict[str, Any]:
        """Return one metric in OTLP's JSON, in which integers of 64 bits are texts."""
        kind = KINDS[name]
        times = {"startTimeUnixNano": str(self._since), "timeUnixNano": current_time}
        points = []
        for series in self._series[name].values():
            numbers: dict[str, Any] = {"asDouble": series.total}
            if kind.bounds:
                numbers = {"count": str(series.count), "sum": series.total}
                numbers["bucketCounts"] = list(map(str, series.buckets))
                numbers["explicitBounds"] = [*kind.bounds]
            points.append({"attributes": attribute_pairs(series.attributes)[0], **times, **numbers})
        data: dict[str, Any] = {"dataPoints": points, "aggregationTemporality": _CUMULATIVE}
        metric = {"name": name, "unit": kind.unit, "description": kind.description}
        if kind.bounds:
            return {**metric, "histogram": data}
        data["isMonotonic"] = True
        return {**metric, "sum": data}
