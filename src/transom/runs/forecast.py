"""How long a run is expected to take, by how long earlier runs of its kind took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from transom.runs.history import RUNNING, RunHistory
from transom.runs.summarising import RunSummary
from transom.store import SummaryFilter

_EARLIER = 20
"""Earlier runs of a kind by which the time that is left is estimated."""


@dataclass(frozen=True)
class Forecast:
    """How long a run is expected to take.

    Attributes:
        seconds, steps: of the whole run.
        basis: by what they are estimated.
        step, noun: the step at work, and what a step is called.
    """

    seconds: float
    steps: int
    basis: str
    step: int = 0
    noun: str = "Step"


def forecast_of(history: RunHistory, kind: str) -> Forecast | None:
    """Return how long the newest runs of a kind took that came to their end; None without any."""
    earlier = history.page(SummaryFilter(kinds=(kind,), waits=("",)), limit=_EARLIER)
    ended = [run for run in earlier if run.is_closed]
    if not ended:
        return None
    # The median: a single run that waited for a night says nothing about the next one.
    seconds = median(run.seconds for run in ended)
    basis = f"{len(ended)} earlier run{'' if len(ended) == 1 else 's'}"
    return Forecast(seconds, round(median(run.steps for run in ended)), basis)


def worked_seconds(run: RunSummary) -> float:
    """Return how long processes worked on a run, up to now if one still does."""
    if run.status != RUNNING or not run.last_at:
        return run.seconds
    # The stored seconds end with the last record.
    since = datetime.now(UTC) - datetime.fromisoformat(run.last_at)
    return run.seconds + max(0.0, since.total_seconds())
