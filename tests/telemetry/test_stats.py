"""What spans add up to, in numbers that can be told by hand."""

from __future__ import annotations

import pytest

from transom.telemetry import SpanRow, keys
from transom.telemetry.metrics import Metrics
from transom.telemetry.stats import statistics

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("count", "p50", "p95"), [(0, None, None), (1, 1, 1), (2, 1, 2), (20, 10, 19), (100, 50, 95), (101, 51, 96)]
)
def test_of_a_hundred_calls_fifty_and_ninety_five_took_no_longer(
    count: int, p50: float | None, p95: float | None
) -> None:
    told = {keys.OPERATION: keys.CHAT, keys.PROVIDER: "p"}
    spans = [SpanRow("chat", str(took), None, 0, took * SECOND, told) for took in range(count, 0, -1)]
    rows = statistics([spans], by="provider", price=lambda who, tokens: None).rows
    found = [(row.seconds.p50, row.seconds.p95, row.seconds.max, row.seconds.mean) for row in rows]
    assert found == ([(p50, p95, count, (count + 1) / 2)] if count else [])


def test_a_call_that_failed_has_neither_tokens_nor_a_price() -> None:
    told = {keys.OPERATION: keys.CHAT, keys.PROVIDER: "p", keys.ERROR_TYPE: "NetworkFailed"}
    failed = SpanRow("chat", "a", None, 0, SECOND, told, status="error")
    (row,) = statistics([[failed]], by="provider", price=lambda who, tokens: 0.0).rows
    assert (row.calls, row.errors, row.cost_usd, row.unpriced) == (1, {"NetworkFailed": 1}, None, 0)
    metrics = Metrics(lambda who, tokens: 0.0)
    metrics.count(failed, "t")
    assert [one["name"] for one in metrics.told()["scopeMetrics"][0]["metrics"]] == [
        keys.REQUESTS,
        keys.OPERATION_DURATION,
    ]
