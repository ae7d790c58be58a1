"""What the endpoints tell besides the playbook: the session, the cache, and the report of what was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from transom.errors import InputError
from transom.learning import Curator, Playbook, SessionState
from transom.learning.caching import USUAL_TERMS
from transom.server.shapes import CacheStats, Item, LearningReport, PlaybookStats
from transom.telemetry.calls import is_call, tokens_of
from transom.telemetry.read import read_trace

SESSION = "session.json"
"""Where the session lies in a workspace, as `SessionState.save` writes it."""

_CALLS = 100
_BEST = 5


def session_of(workspace: Path) -> SessionState:
    """The workspace's session; an empty one where none was saved.

    Raises:
        InputError: the file is no session.
    """
    path = workspace / SESSION
    return SessionState.load(path) if path.is_file() else SessionState()


def cache_stats(workspace: Path) -> CacheStats:
    """What the vendors reported of the newest calls in the workspace's traces."""
    calls = [tokens for tokens, _ in zip(_calls(workspace / "traces"), range(_CALLS), strict=False)]
    total, hits = len(calls), sum(one["cached"] > 0 for one in calls)
    whole, read, written = (sum(one[name] for one in calls) for name in ("input", "cached", "cache_write"))
    saved = read * (1 - USUAL_TERMS.read) - written * (USUAL_TERMS.write - 1)
    return CacheStats(
        total_requests=total,
        cache_hits=hits,
        cache_misses=total - hits,
        hit_rate=hits / total if total else 0.0,
        input_tokens=whole,
        cached_tokens=read,
        estimated_savings_percent=max(0.0, 100 * saved / whole) if whole else 0.0,
    )


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


def learning_report(playbook: Playbook) -> LearningReport:
    """What was learned, and what a person should look at."""
    tested = [one for one in playbook.items.values() if one.helpful_count + one.harmful_count]
    ordered = sorted(tested, key=lambda one: (-one.lower_bound, one.id))
    return LearningReport(
        generated_at=playbook.clock(),
        playbook_stats=PlaybookStats(**playbook.get_stats()),
        top_performers=[Item.of(one) for one in ordered if one.net_score > 0][:_BEST],
        worst_performers=[Item.of(one) for one in reversed(ordered) if one.net_score < 0][:_BEST],
        questions=[one.to_json() for one in Curator(playbook).questions()],
    )
