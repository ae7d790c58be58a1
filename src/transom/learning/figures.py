"""Figures of a workspace: what vendors' caches did, and what was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.learning.caching import USUAL_TERMS, counts_of
from transom.learning.curator import Curator, ReviewQuestion
from transom.learning.insight import Insight
from transom.learning.playbook import Playbook
from transom.telemetry.calls import is_call, tokens_of
from transom.telemetry.read import read_trace

_CALLS = 100
_BEST = 5


@dataclass(frozen=True)
class Report:
    """What was learned by a time, UTC: which insights stand best, which fail, and what is best asked of a person."""

    at: str
    stats: Mapping[str, Any]
    best: list[Insight]
    worst: list[Insight]
    questions: list[ReviewQuestion]


def elsewhere(playbook: Playbook) -> dict[str, int]:
    """How many living insights there are in scopes that are not seen from here."""
    seen = playbook.view.scopes
    sql = f"SELECT scope, count(*) FROM insights WHERE retired = '' AND scope NOT IN ({','.join('?' * len(seen))})"
    return dict(playbook.ledger.tables.query(f"{sql} GROUP BY scope ORDER BY scope", seen))


def learning_report(playbook: Playbook) -> Report:
    """The report of a playbook."""
    ordered = sorted((one for one in playbook.items.values() if one.tested), key=lambda one: (-one.lower_bound, one.id))
    best = [one for one in ordered if one.net_score > 0][:_BEST]
    worst = [one for one in reversed(ordered) if one.net_score < 0][:_BEST]
    return Report(playbook.clock(), playbook.get_stats(), best, worst, Curator(playbook).questions())


def cache_stats(workspace: Path) -> dict[str, Any]:
    """What the vendors reported of the newest calls in a workspace's traces.

    Returns:
        `total_requests` (at most 100), `cache_hits`, `cache_misses`, `hit_rate`, `input_tokens`, `cached_tokens`,
        `estimated_savings_percent` of the cost of the input, the cost of writing into the cache included.
    """
    calls = [*islice(_calls(workspace / "traces"), _CALLS)]
    whole, read, written = (sum(one[name] for one in calls) for name in ("input", "cached", "cache_write"))
    saved = read * (1 - USUAL_TERMS.read) - written * (USUAL_TERMS.write - 1)
    tokens: dict[str, Any] = {"input_tokens": whole, "cached_tokens": read}
    tokens |= {"estimated_savings_percent": max(0.0, 100 * saved / whole) if whole else 0.0}
    return counts_of([one["cached"] > 0 for one in calls]) | tokens


def _calls(traces: Path) -> Iterator[Mapping[str, int]]:
    """The tokens of each answered call, those of the newest trace first."""
    for path in sorted(traces.glob("*.jsonl"), key=_written, reverse=True):
        try:
            spans = read_trace(path)
        except InputError:  # nothing of it can be read
            continue
        ended = [span for span in spans if is_call(span) and span.end is not None and span.status != "error"]
        yield from (tokens_of(span) for span in reversed(ended))


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # it was cleaned away meanwhile
        return 0
