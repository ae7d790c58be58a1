"""Results of load generators beside k6, recognised by content: JMeter, Gatling, Locust, Artillery,
Vegeta.

Each becomes one `LoadResult` of all requests. Times are milliseconds.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from transom.canonical import Json
from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.json_tree import members_of

# Vegeta is written in Go, whose durations are nanoseconds.
_NANOSECONDS = 1e-6


@dataclass(frozen=True)
class LoadResult:
    """The figures of a load test over all of its requests.

    Attributes:
        durations: statistic, such as `p95` -> (milliseconds, place).
        requests: number of requests.
        failed: number of failed requests.
        failed_at: the place of that number.
    """

    tool: str
    requests: float
    failed: float
    failed_at: str
    durations: dict[str, tuple[float, str]] = field(default_factory=dict)


def read_load_json(data: Json) -> LoadResult | None:
    """Return the result of a load test; None if the data is something else."""
    if not isinstance(data, dict):
        return None
    for reader in (_jmeter, _gatling, _vegeta, _artillery):
        result = reader(data)
        if result is not None:
            return result
    return None


def _number(value: object) -> float | None:
    number = read_number(value, decimal_mark=".")
    return float(number.value) if isinstance(number, PrintedNumber) else None


def _durations(
    row: Mapping[str, Any], names: Mapping[str, str], place: str, factor: float = 1.0
) -> dict[str, tuple[float, str]]:
    """Return the statistics of a row under the names that Transom uses."""
    durations = dict[str, tuple[float, str]]()
    for key, statistic in names.items():
        value = _number(row.get(key))
        if value is not None:
            durations[statistic] = (round(value * factor, 6), f"{place}/{key}")
    return durations


def _jmeter(data: dict[str, Any]) -> LoadResult | None:
    """Read `statistics.json` of JMeter's dashboard."""
    total = data.get("Total")
    if not isinstance(total, dict) or "sampleCount" not in total:
        return None
    requests, failed = _number(total["sampleCount"]), _number(total.get("errorCount"))
    if requests is None or failed is None:
        return None
    # The dashboard's three percentiles are the 90th, 95th and 99th unless they are configured.
    names = {"meanResTime": "average", "pct1ResTime": "p90", "pct2ResTime": "p95",
             "pct3ResTime": "p99"}  # fmt: skip
    durations = _durations(total, names, "/Total")
    return LoadResult("JMeter", requests, failed, "/Total/errorCount", durations)


def _gatling(data: dict[str, Any]) -> LoadResult | None:
    # `stats.json` nests the figures in a group; `global_stats.json` has them at the top.
    stats = data.get("stats") if data.get("type") == "GROUP" else data
    counted = members_of(stats).get("numberOfRequests")
    if not isinstance(stats, dict) or not isinstance(counted, dict) or "ko" not in counted:
        return None
    place = "/stats" if stats is not data else ""
    requests, failed = _number(counted.get("total")), _number(counted.get("ko"))
    if requests is None or failed is None:
        return None
    durations = dict[str, tuple[float, str]]()
    # The four percentiles can be configured; the 95th and 99th are the usual third and fourth.
    named = {"meanResponseTime": "average", "percentiles3": "p95", "percentiles4": "p99"}
    for key, statistic in named.items():
        row = stats.get(key)
        value = _number(row.get("total")) if isinstance(row, dict) else None
        if value is not None:
            durations[statistic] = (value, f"{place}/{key}/total")
    failed_at = f"{place}/numberOfRequests/ko"
    return LoadResult("Gatling", requests, failed, failed_at, durations)


def _vegeta(data: dict[str, Any]) -> LoadResult | None:
    latencies = data.get("latencies")
    requests, success = _number(data.get("requests")), _number(data.get("success"))
    if not isinstance(latencies, dict) or requests is None or success is None:
        return None
    names = {"mean": "average", "90th": "p90", "95th": "p95", "99th": "p99"}
    durations = _durations(latencies, names, "/latencies", _NANOSECONDS)
    # Vegeta gives the share of successes, and no count of failures.
    return LoadResult("Vegeta", requests, round(requests * (1 - success), 6), "/success", durations)


def _artillery(data: dict[str, Any]) -> LoadResult | None:
    aggregate = data.get("aggregate")
    counters = members_of(aggregate).get("counters")
    summaries = members_of(aggregate).get("summaries")
    if not isinstance(counters, dict) or not isinstance(summaries, dict):
        return None
    requests = _number(counters.get("http.requests"))
    if requests is None:
        return None
    failed = 0.0
    for name, value in counters.items():
        # An answer of the server is no error for Artillery, so statuses of failure are counted as
        # well.
        if name.startswith(("errors.", "http.codes.5", "http.codes.4")):
            failed += _number(value) or 0.0
    times = summaries.get("http.response_time")
    names = {"mean": "average", "median": "p50", "p95": "p95", "p99": "p99"}
    place = "/aggregate/summaries/http.response_time"
    durations = _durations(members_of(times), names, place)
    return LoadResult("Artillery", requests, failed, "/aggregate/counters", durations)


def read_load_csv(text: str) -> LoadResult | None:
    """Return the result of a CSV of JMeter or Locust; None if the text is something else."""
    head, _, _ = text.partition("\n")
    columns = [column.strip().strip('"') for column in head.split(",")]
    if {"timeStamp", "elapsed", "success"} <= set(columns):
        return _jmeter_csv(text)
    if {"Request Count", "Failure Count"} <= set(columns):
        return _locust_csv(text)
    return None


def _jmeter_csv(text: str) -> LoadResult | None:
    """Read the samples of a JTL file."""
    times = list[float]()
    failed = 0
    rows = list(csv.DictReader(text.splitlines()))
    for row in rows:
        elapsed = _number(row.get("elapsed"))
        if elapsed is None:
            return None
        times.append(elapsed)
        # Anything but `true` is a failure: an empty cell is no proof of success.
        failed += (row.get("success") or "").strip().casefold() != "true"
    if not times:
        return LoadResult("JMeter", 0, 0, "lines:1-1")
    times.sort()
    span = f"lines:1-{len(rows) + 1}"
    # One of the samples: no value between two of them was ever measured.
    p95 = times[min(len(times) - 1, int(0.95 * len(times)))]
    return LoadResult("JMeter", len(times), failed, span, {"p95": (p95, span)})


def _locust_csv(text: str) -> LoadResult | None:
    """Read the last row of Locust's statistics, which adds up the others."""
    # The head is line 1, so the rows are counted from 2.
    for number, row in enumerate(csv.DictReader(text.splitlines()), 2):
        # Older releases of Locust call the row `Total`.
        if (row.get("Name") or "").strip() not in ("Aggregated", "Total"):
            continue
        requests, failed = _number(row.get("Request Count")), _number(row.get("Failure Count"))
        if requests is None or failed is None:
            return None
        place = f"line:{number}"
        durations = dict[str, tuple[float, str]]()
        for column, statistic in (("Average Response Time", "average"), ("95%", "p95")):
            value = _number(row.get(column))
            if value is not None:
                durations[statistic] = (value, place)
        return LoadResult("Locust", requests, failed, place, durations)
    return None
