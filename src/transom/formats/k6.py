"""Summaries of the load generator k6: `--summary-export` and `handleSummary`.

A threshold in the export is a boolean that tells whether it was *crossed*: `false` is good.
`http_req_failed` is a rate of failures, so its `passes` count failed requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transom.formats.json_tree import members_of


@dataclass(frozen=True)
class LoadThreshold:
    """A threshold, and whether it was crossed."""

    metric: str
    expression: str
    crossed: bool
    locator: str


@dataclass(frozen=True)
class LoadSummary:
    """The measurements of a k6 run.

    Attributes:
        durations: statistic -> (milliseconds, JSON pointer), of all requests.
        failed: share of failed requests 0..1 and its JSON pointer, or None.
        requests: number of requests.
        thresholds: the declared thresholds.
        checks: share of passed checks 0..1 and its JSON pointer, or None.
    """

    durations: dict[str, tuple[float, str]]
    failed: tuple[float, str] | None
    requests: int
    thresholds: list[LoadThreshold]
    checks: tuple[float, str] | None = None


def read_k6(data: Any) -> LoadSummary | None:
    """Read a summary; None if the data is something else."""
    match data:
        case {"metrics": {"http_req_duration": _} as metrics}:
            pass
        # A script without HTTP requests has no durations, but a group of its checks.
        case {"metrics": dict(metrics), "root_group": _}:
            pass
        case _:
            return None
    duration, pointer = _values(metrics, "http_req_duration")
    durations = {
        name: (float(value), f"{pointer}/{name}")
        for name, value in duration.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    # `handleSummary` calls the share `rate`, and `--summary-export` calls it `value`.
    failed, pointer = _values(metrics, "http_req_failed")
    key = next(
        (name for name in ("rate", "value") if isinstance(failed.get(name), int | float)), ""
    )
    count = sum(
        int(failed.get(name, 0))
        for name in ("passes", "fails")
        if isinstance(failed.get(name), int)
    )
    # Each request is a pass or a failure of `http_req_failed`, so both add up if the count is
    # missing.
    requests = _values(metrics, "http_reqs")[0].get("count", count)
    share = (float(failed[key]), f"{pointer}/{key}") if key else None
    return LoadSummary(
        durations, share, int(requests), list(_thresholds(metrics)), _checks(metrics)
    )


def _checks(metrics: dict[str, Any]) -> tuple[float, str] | None:
    """Return the share of passed checks; a threshold of their own judges them better."""
    checks, place = _values(metrics, "checks")
    metric = metrics.get("checks")
    if isinstance(metric, dict) and metric.get("thresholds"):
        return None
    passes, fails = checks.get("passes"), checks.get("fails")
    if not isinstance(passes, int) or not isinstance(fails, int) or passes + fails == 0:
        return None
    return passes / (passes + fails), f"{place}/passes"


def _values(metrics: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    metric = metrics.get(name)
    if not isinstance(metric, dict):
        return {}, ""
    inner = metric.get("values")
    # `handleSummary` nests the values of a metric, and `--summary-export` does not.
    if isinstance(inner, dict):
        return inner, f"/metrics/{name}/values"
    return metric, f"/metrics/{name}"


def _thresholds(metrics: dict[str, Any]) -> list[LoadThreshold]:
    thresholds = []
    for name, metric in metrics.items():
        declared = members_of(metric).get("thresholds")
        for expression, state in members_of(declared).items():
            # `handleSummary` writes `{"ok": true}`, the export a boolean of the opposite meaning.
            crossed = not state.get("ok", True) if isinstance(state, dict) else bool(state)
            pointer = (
                f"/metrics/{name}/thresholds/{expression.replace('~', '~0').replace('/', '~1')}"
            )
            thresholds.append(LoadThreshold(name, expression, crossed, pointer))
    return thresholds
