"""The stages of a run as people see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transom.runs.history import RunView


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
    """

    name: str
    status: str
    attempts: int
    calls: int
    answered_by: tuple[str, ...]
    error: str | None
    began_at: str
    ended_at: str

    def to_json(self) -> dict[str, Any]:
        return {
            "stage": self.name,
            "status": self.status,
            "attempts": self.attempts,
            "calls": self.calls,
            "answered_by": [*self.answered_by],
            "error": self.error,
        }


def stages_of(run: RunView) -> list[RunStage]:
    """Return the stages of a run, in the order in which they began."""
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
        row = RunStage(name, stage.last, attempts, len(providers), names, error, *span)
        rows.append(row)
    return rows
