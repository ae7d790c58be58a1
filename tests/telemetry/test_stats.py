"""What spans add up to, in numbers that can be told by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from transom.telemetry import SpanRow, keys
from transom.telemetry.calls import Aggregator
from transom.telemetry.metrics import Metrics
from transom.telemetry.stats import By, statistics

SECOND = 1_000_000_000


def free(who: str, tokens: Mapping[str, int]) -> float | None:
    return None


def call(name: str, began: float, ended: float, provider: str, **more: Any) -> SpanRow:
    """A chat, in seconds."""
    told = {
        keys.OPERATION: keys.CHAT,
        keys.PROVIDER: provider,
        keys.REQUEST_MODEL: "m",
        keys.ROLE: "clerk",
    }
    return SpanRow("chat", name, None, int(began * SECOND), int(ended * SECOND), told, **more)


def attempt(
    above: str,
    began: float,
    ended: float,
    provider: str,
    number: int = 1,
    error: str | None = None,
    model: str = "m",
) -> SpanRow:
    """A request of a chat, in seconds."""
    told: dict[str, Any] = {
        keys.OPERATION: keys.ATTEMPT_CHAT,
        keys.PROVIDER: provider,
        keys.REQUEST_MODEL: model,
    }
    told |= {keys.ATTEMPT: number} | ({keys.ERROR_TYPE: error} if error else {})
    name, times = (
        f"{above}/{provider}/{model}/{number}/{began}",
        (int(began * SECOND), int(ended * SECOND)),
    )
    return SpanRow("attempt", name, above, *times, told, status="error" if error else "ok")


FELL_BACK = [
    attempt("a", 0.5, 2, "far", 1, "ProviderError"),
    attempt("a", 3, 5, "far", 2, "RateLimited"),
    attempt("a", 5, 5.25, "near"),
    call("a", 0, 6, "near"),
]


def of_provider(*spans: SpanRow) -> dict[str, tuple[int, float, float, dict[str, int]]]:
    """Calls, seconds of all, retries to calls and errors of each provider; the metrics must say
    the same.
    """
    rows = statistics([spans], by="provider", price=free).rows
    found = {
        row.name: (row.calls, row.seconds.mean * row.calls, row.retry_rate, row.errors)
        for row in rows
    }
    metrics = Metrics()
    for span in sorted(spans, key=lambda span: span.end or 0):
        metrics.count(span, "t")
    told = {one["name"]: one for one in metrics.export()["scopeMetrics"][0]["metrics"]}
    took: dict[str, tuple[int, float]] = {}
    for point in told[keys.OPERATION_DURATION]["histogram"]["dataPoints"]:
        by = {pair["key"]: pair["value"]["stringValue"] for pair in point["attributes"]}
        count, total = took.get(by[keys.PROVIDER], (0, 0.0))
        took[by[keys.PROVIDER]] = (count + int(point["count"]), total + point["sum"])
    assert took == {name: (calls, seconds) for name, (calls, seconds, *_) in found.items()}
    return found


def test_a_provider_has_the_time_that_it_took_itself_and_no_other_ones() -> None:
    failed = {"ProviderError": 1, "RateLimited": 1}
    assert of_provider(*FELL_BACK) == {"far": (1, 4.5, 1.0, failed), "near": (1, 0.25, 0.0, {})}
    (row,) = statistics([FELL_BACK], by="role", price=free).rows
    assert (row.name, row.calls, row.seconds.max, row.retry_rate, row.errors) == (
        "clerk",
        1,
        6,
        1.0,
        failed,
    )
    assert row.error_rate == 2 / 3


def test_who_is_asked_once_and_leaves_no_request_has_what_the_others_left() -> None:
    last = [*FELL_BACK[:2], call("a", 0, 6, "rules")]
    assert of_provider(*last)["rules"] == (1, 1.0, 0.0, {})
    assert of_provider(call("a", 1, 6, "rules")) == {"rules": (1, 5.0, 0.0, {})}


def test_a_call_that_failed_is_a_call_of_each_that_was_asked() -> None:
    failed = [
        *FELL_BACK[:2],
        attempt("a", 5, 5.5, "near", 1, "NetworkFailed"),
        call("a", 0, 6, "near", status="error"),
    ]
    assert of_provider(*failed)["near"] == (1, 0.5, 0.0, {"NetworkFailed": 1})
    assert set(of_provider(*failed)) == {"far", "near"}


def test_a_provider_that_is_asked_again_behind_another_one_has_not_that_ones_time() -> None:
    spans = [
        attempt("a", 0, 1, "far", 1, "RateLimited"),
        attempt("a", 1, 4, "near", 1, "RateLimited"),
        attempt("a", 4, 6, "far"),
        call("a", 0, 6, "far"),
        attempt("b", 0, 2, "far", 1, "RateLimited", "large"),
        attempt("b", 2, 3, "far"),
        call("b", 0, 3, "far"),
    ]
    assert of_provider(*spans)["far"] == (4, 6.0, 0.0, {"RateLimited": 2})


def test_a_request_that_is_the_first_one_begins_anew() -> None:
    """As where a program asks a provider beneath a span of its own, that is no call."""
    spans = [
        attempt("own", 0, 1, "far"),
        attempt("own", 5, 6, "far", 1, "RateLimited"),
        attempt("own", 7, 8, "far", 2),
    ]
    (row,) = statistics([spans], by="provider", price=free).rows
    assert (row.calls, row.seconds.p50, row.seconds.max, row.retry_rate) == (2, 1, 3, 0.5)


@pytest.mark.parametrize("by", ["provider", "role"])
def test_requests_of_a_call_that_has_not_ended_are_of_a_call_too(by: By) -> None:
    (row,) = statistics([FELL_BACK[:2]], by=by, price=free).rows
    name, took = ("far", 4.5) if by == "provider" else ("?", 4.5)
    assert (row.name, row.calls, row.seconds.max, row.retries, row.retry_rate) == (
        name,
        1,
        took,
        1,
        1.0,
    )


def test_requests_whose_calls_never_end_are_not_kept_for_ever() -> None:
    aggregator = Aggregator()
    found = [
        one
        for number in range(10_000)
        for one in aggregator.measures(
            attempt(f"c{number // 2}", number, number + 1, "far"), "t", None
        )
    ]
    assert len([one for one in found if one.metric == keys.REQUESTS]) == 2 * (5_000 - 4_096), (
        "they are counted as such"
    )
    assert len(aggregator._open_attempts) == 4_096


@pytest.mark.parametrize(
    ("count", "p50", "p95"),
    [(0, None, None), (1, 1, 1), (2, 1, 2), (20, 10, 19), (100, 50, 95), (101, 51, 96)],
)
def test_of_a_hundred_calls_fifty_and_ninety_five_took_no_longer(
    count: int, p50: float | None, p95: float | None
) -> None:
    told = {keys.OPERATION: keys.CHAT, keys.PROVIDER: "p"}
    spans = [
        SpanRow("chat", str(took), None, 0, took * SECOND, told) for took in range(count, 0, -1)
    ]
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
    assert [one["name"] for one in metrics.export()["scopeMetrics"][0]["metrics"]] == [
        keys.REQUESTS,
        keys.OPERATION_DURATION,
    ]
