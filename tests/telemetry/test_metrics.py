"""Running totals as a collector reads them: which bucket, since when, and whose."""

from __future__ import annotations

from typing import Any

from transom.telemetry import SpanRow, keys
from transom.telemetry.metrics import KINDS, Metrics

SECOND = 1_000_000_000


def ended(operation: str, seconds: float = 1, **more: Any) -> SpanRow:
    told = {keys.OPERATION: operation, **more}
    return SpanRow(operation, "a", None, 0, round(seconds * SECOND), told)


def told(metrics: Metrics) -> dict[str, Any]:
    (scope,) = metrics.export()["scopeMetrics"]
    return {one["name"]: one for one in scope["metrics"]}


def test_a_value_is_counted_in_the_bucket_whose_bound_it_does_not_pass() -> None:
    metrics = Metrics()
    bounds = KINDS[keys.TOOL_DURATION].bounds
    for seconds in (
        0,
        bounds[0],
        bounds[1],
        bounds[1] + 0.001,
        bounds[-1],
        bounds[-1] + 0.001,
        1_000,
    ):
        metrics.count(ended(keys.EXECUTE_TOOL, seconds), "t")
    (point,) = told(metrics)[keys.TOOL_DURATION]["histogram"]["dataPoints"]
    assert point["explicitBounds"] == [*bounds]
    counts = [int(count) for count in point["bucketCounts"]]
    assert len(counts) == len(bounds) + 1
    assert (counts[:3], counts[3:-2], counts[-2:]) == ([2, 1, 1], [0] * (len(bounds) - 4), [1, 2])


def test_they_are_totals_since_one_time_of_one_process() -> None:
    metrics = Metrics()
    metrics.count(ended(keys.CHAT, 0.0, **{keys.PROVIDER: "far", keys.REQUEST_MODEL: "m"}), "t")
    first, again = told(metrics), told(metrics)
    for name, one in first.items():
        shape = "histogram" if KINDS[name].bounds else "sum"
        assert one[shape]["aggregationTemporality"] == 2, "OTLP's word for cumulative"
        assert one[shape].get("isMonotonic") is (None if KINDS[name].bounds else True)
        then, now = one[shape]["dataPoints"][0], again[name][shape]["dataPoints"][0]
        assert (
            then["startTimeUnixNano"]
            == now["startTimeUnixNano"]
            <= then["timeUnixNano"]
            <= now["timeUnixNano"]
        )
        assert {pair["key"] for pair in then["attributes"]} >= {keys.PROVIDER, keys.REQUEST_MODEL}
    instances = {
        str(one.export()["resource"]["attributes"]) for one in (metrics, metrics, Metrics())
    }
    assert len(instances) == 2, "two processes' totals are two series"


def test_a_sub_conversation_counts_once_in_its_trace_and_is_forgotten_in_the_end() -> None:
    metrics = Metrics()

    def of(number: int) -> SpanRow:
        sub = {keys.CONVERSATION_ID: f"r/s/main/{number}", keys.PARENT_CONVERSATION: "r/s/main"}
        return ended(keys.INVOKE_AGENT, 0.0, **sub)

    for trace in ("t", "u"):
        for _ in range(3):
            metrics.count(of(0), trace)
    (point,) = told(metrics)[keys.SUB_CONVERSATIONS]["sum"]["dataPoints"]
    assert point["asDouble"] == 2
    for number in range(10_000):
        metrics.count(of(number), "v")
    assert len(metrics._aggregator._counted_conversations) == 4_096
    (point,) = told(metrics)[keys.SUB_CONVERSATIONS]["sum"]["dataPoints"]
    assert point["asDouble"] == 10_002
