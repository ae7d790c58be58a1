"""What the pages show: the runs of a workspace, with costs, and the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from transom.learning import Playbook
from transom.llm.prices import Prices
from transom.llm.rules import RULES
from transom.runs.forecast import Forecast, forecast_of, worked_seconds
from transom.runs.history import RUNNING, RunHistory
from transom.runs.stage_lines import LABELS, words_of_stage
from transom.runs.summarising import WAITS_FOR_ANSWER, WAITS_FOR_WORK, RunSummary
from transom.store import SummaryFilter
from transom.stories.progress import describe_stage
from transom.studies.progress import StudyProgress

PAGE_ROWS = 50
_WAITING = SummaryFilter(waits=(WAITS_FOR_ANSWER, WAITS_FOR_WORK))
_MOST_RUNNING = 200


@dataclass(frozen=True)
class Cost:
    """What the calls of a run cost.

    Attributes:
        usd: of the calls whose price is known.
        unpriced: who answered calls whose price is not known.
        models: who answered, without the rules.
    """

    usd: float
    unpriced: tuple[str, ...]
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunRowView:
    """A run in a list of a page; `title` is what a person calls it."""

    run: RunSummary
    title: str
    cost: Cost
    seconds: float
    forecast: Forecast | None

    @property
    def words(self) -> str:
        """What the run does now."""
        return words_of_stage(label_of(self.run.kind), self.run.stage) or self.run.stage

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds to its end if it takes as long as the earlier runs; None if that is
        unknown.
        """
        # A run that takes longer than the others says nothing about its end.
        if self.forecast is None or self.seconds > self.forecast.seconds:
            return None
        return self.forecast.seconds - self.seconds

    def to_json(self) -> dict[str, Any]:
        run = self.run
        return {
            "run_id": run.id,
            "kind": run.kind,
            "name": run.name,
            "title": self.title,
            "status": run.status,
            "judgement": run.judgement or None,
            "reason": run.reason or run.waits_for or None,
            "started_at": run.started_at,
            "last_at": run.last_at,
            "seconds": round(self.seconds, 3),
            "seconds_left": None if self.seconds_left is None else round(self.seconds_left, 1),
            "stage": run.stage,
            "steps": run.steps,
            "calls": run.calls,
            "cost_usd": round(self.cost.usd, 6),
            "unpriced": [*self.cost.unpriced],
        }


@dataclass(frozen=True)
class Now:
    """The runs of a workspace, the group first that matters most to a person who looks."""

    waiting: Sequence[RunRowView]
    waiting_count: int
    running: Sequence[RunRowView]
    stopped: Sequence[RunRowView]
    finished: Sequence[RunRowView]
    total: int

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"schema": "transom.now/1", "runs": self.total}
        for name in ("waiting", "running", "stopped", "finished"):
            document[name] = [row.to_json() for row in getattr(self, name)]
        return document


class Site:
    """The workspace as the pages show it.

    Attributes:
        runs: the runs.
        prices: the prices of models.
        playbook: the playbook.
    """

    def __init__(self, runs: RunHistory, prices: Prices, playbook: Playbook) -> None:
        self.runs = runs
        self.prices = prices
        self.playbook = playbook

    def waiting_count(self) -> int:
        """Return how many runs wait for a person or a model."""
        return sum(group.count for group in self.runs.store.count_summaries() if group.waits)

    def now(self, finished: int = 20) -> Now:
        """Return what waits, runs, was cut off, and ended last."""
        counts = self.runs.store.count_summaries()
        ended = {group.status for group in counts if group.status != RUNNING and not group.waits}
        # A killed run is stored as running. The page of runs looks for its process, and calls it
        # interrupted.
        open_runs = self.runs.page(SummaryFilter(statuses=(RUNNING,)), limit=_MOST_RUNNING)
        forecasts: dict[str, Forecast | None] = {}
        finished_runs: Sequence[RunSummary] = ()
        # A filter without a status means all of them.
        if ended:
            only_ended = SummaryFilter(statuses=tuple(sorted(ended)), waits=("",))
            finished_runs = self.runs.page(only_ended, limit=finished, by_start=False)
        waiting_runs = self.runs.page(_WAITING, limit=10)
        # Runs that wait or ended, too: a process may have been started to go on with one.
        every_run = (*open_runs, *waiting_runs, *finished_runs)
        running = [run for run in every_run if run.status == RUNNING]
        return Now(
            waiting=self.rows([run for run in waiting_runs if run not in running]),
            waiting_count=sum(group.count for group in counts if group.waits),
            running=self.rows(running, forecasts),
            stopped=self.rows([run for run in open_runs if run.status == "interrupted"][:10]),
            finished=self.rows([run for run in finished_runs if run not in running]),
            total=sum(group.count for group in counts),
        )

    def rows(
        self, runs: Sequence[RunSummary], forecasts: dict[str, Forecast | None] | None = None
    ) -> list[RunRowView]:
        """Return runs as a page lists them; with `forecasts`, which are added to, also with the
        time that is left.
        """
        rows: list[RunRowView] = []
        for run in runs:
            forecast = None
            # Runs of one kind share a forecast, which costs a query.
            if forecasts is not None:
                if run.kind not in forecasts:
                    # A study of ten designs says nothing about one of ten thousand.
                    is_study = run.kind == "study"
                    forecasts[run.kind] = None if is_study else forecast_of(self.runs, run.kind)
                forecast = self._own_forecast(run) or forecasts[run.kind]
            seconds = worked_seconds(run)
            rows.append(RunRowView(run, self.title(run), self._cost(run), seconds, forecast))
        return rows

    def title(self, run: RunSummary) -> str:
        """Return what a person calls a run."""
        return self.runs.row(run).title

    def _cost(self, run: RunSummary) -> Cost:
        total = 0.0
        unpriced: list[str] = []
        models = tuple(name for name in run.usage if name != RULES)
        for name, usage in run.usage.items():
            # A sum without them would look complete, so they are listed.
            dollars = self.prices.of(usage, name)
            if dollars is None:
                unpriced.append(name)
            else:
                total += dollars
        return Cost(total, tuple(unpriced), models)

    def _own_forecast(self, run: RunSummary) -> Forecast | None:
        """Return how long a study takes by its own designs: studies of a kind are not alike."""
        folder = self.runs.workspace.root / "studies" / run.name
        progress = StudyProgress.read(folder) if run.kind == "study" else None
        if progress is None:
            return None
        seconds, step = worked_seconds(run) + progress.left_now(), progress.ended + 1
        return Forecast(seconds, progress.budget, "its own designs", step, "Design")


def label_of(kind: str) -> Callable[[str], str] | None:
    """Return how the stages of a kind of run are described."""
    return describe_stage if kind == "story" else LABELS.get(kind)
