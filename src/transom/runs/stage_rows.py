"""The stages of a run as people see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from transom.formats.charts import span_place
from transom.runs.history import RunView
from transom.runs.stage_lines import LABELS, words_of_stage


@dataclass(frozen=True)
class RunStage:
    """One stage of a run.

    Attributes:
        name: the stage.
        status: the kind of its last record, e.g. `done`.
        attempts: how often it was begun with other inputs.
        calls: journaled replies of models.
        answered_by: who answered them.
        error: why it failed or paused; None if it did not.
        began_at, ended_at: of its first and its last record, UTC, ISO 8601.
        words: what it does, as a person says it; "" if nobody described it.
        after, seconds: from the first stage to its begin, and how long it took.
        x, width: where its bar stands, see `span_place`.
    """

    name: str
    status: str
    attempts: int
    calls: int
    answered_by: tuple[str, ...]
    error: str | None
    began_at: str
    ended_at: str
    words: str = ""
    after: float = 0.0
    seconds: float = 0.0
    x: float = 0.0
    width: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "stage": self.name,
            "status": self.status,
            "attempts": self.attempts,
            "calls": self.calls,
            "answered_by": [*self.answered_by],
            "error": self.error,
        }

    def described(self) -> dict[str, Any]:
        """Return its JSON with its words and its times."""
        times = {"began_at": self.began_at, "ended_at": self.ended_at}
        return {**self.to_json(), "words": self.words, **times}


def stages_of(run: RunView, label: Callable[[str], str] | None = None) -> list[RunStage]:
    """Return the stages of a run, in the order in which they began.

    Args:
        run: the run.
        label: how its stages are described, if `LABELS` does not say it.
    """
    label = label or LABELS.get(run.row.kind)
    errors: dict[str, str | None] = {}
    answered_by: dict[str, list[str]] = {}
    times: dict[str, tuple[str, str]] = {}
    for record in run.records:
        data: Any = record.data
        name = data.get("stage") or ""
        first, _ = times.get(name, (record.at, ""))
        times[name] = first, record.at
        if record.kind in ("failed", "paused"):
            errors[name] = data.get("error") or data.get("reason")
        # Replies that were replayed stand in the journal once.
        elif record.kind == "model_reply":
            answered_by.setdefault(name, []).append(data["reply"]["by"])
    rows: list[RunStage] = []
    for name, stage in run.state.stages.items():
        providers = answered_by.get(name, [])
        has_stopped = stage.last in ("failed", "paused")
        # An error that a later attempt overcame is of no interest.
        error = errors.get(name) if has_stopped else None
        attempts, span = len(stage.attempts), times.get(name, ("", ""))
        names = tuple(sorted(set(providers)))
        words = words_of_stage(label, name)
        row = RunStage(name, stage.last, attempts, len(providers), names, error, *span, words)
        rows.append(row)
    return _on_timeline(rows)


def _on_timeline(rows: list[RunStage]) -> list[RunStage]:
    """Return stages with their places on one timeline."""
    if not rows:
        return rows
    spans: list[tuple[float, float]] = []
    for row in rows:
        if not row.began_at:
            return rows
        times = map(datetime.fromisoformat, (row.began_at, row.ended_at))
        began, ended = (time.timestamp() for time in times)
        spans.append((began, ended))
    placed: list[RunStage] = []
    first, last = min(spans)[0], max(end for _, end in spans)
    for row, (began, ended) in zip(rows, spans, strict=True):
        x, width = span_place(began, ended, first, last)
        placed.append(replace(row, after=began - first, seconds=ended - began, x=x, width=width))
    return placed
