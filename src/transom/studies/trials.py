"""Trials as a study tells of them: what was tried, how it ended, and which is the best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from transom.studies.expression import Formula
from transom.studies.study import Bound, Data, Number, Study

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

RECORD = "transom"
"""User attribute of a trial under which its record is kept."""
FAILED_BY = 10.0
"""Violation of a design that failed or was rejected: more than any of a design with results."""
_MOST = 5.0
_SHOWN = 90  # characters of a reason in a line of progress


class Trial(Data):
    """One design.

    Attributes:
        number: from 0, as the storage has it.
        kind: `solved` (it has results, whether or not it meets the constraints), `failed` (it has none), `rejected`
            (by a requirement or rule, without a solve), `running`, `lost` (the machine failed it too often).
        params: its variables.
        outputs: of the solver.
        values: of the objectives; empty without results.
        violations: constraint -> how far it is violated, relative to its bound; at most 0 where it is met.
        failure, reason: class and sentence, of a failed or rejected one.
        audit: ids of rules that rejected it and that it was solved to score.
        rules: ids of the rules that rejected it.
        seconds: wall time of the solve; by: who solved it; attempts: how often.
        ended: ISO time.
        source: `sampler`, or the id of the insight that it came from.
        same_as: number of the trial whose solve this one took over, for it is the same design.
    """

    number: int
    kind: Literal["solved", "failed", "rejected", "running", "lost"]
    params: dict[str, Number]
    outputs: dict[str, float] = Field(default_factory=dict)
    values: tuple[float, ...] = ()
    violations: dict[str, float] = Field(default_factory=dict)
    failure: str | None = None
    reason: str = ""
    audit: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    seconds: float = 0.0
    by: str = ""
    attempts: int = 1
    ended: str = ""
    source: str = "sampler"
    same_as: int | None = None

    @property
    def feasible(self) -> bool:
        return self.kind == "solved" and all(value <= 0 for value in self.violations.values())

    def to_record(self) -> dict[str, Any]:
        """The record in the storage, beside number and parameters."""
        return self.model_dump(exclude={"number", "params"})

    @staticmethod
    def of(frozen: FrozenTrial, study: Study) -> Trial:
        """A trial of the storage."""
        ended = frozen.state.is_finished()
        record = frozen.user_attrs.get(RECORD, {"kind": "lost"}) if ended else {"kind": "running"}
        params = {name: frozen.params[name] for name in study.variables if name in frozen.params}
        return Trial(number=frozen.number, params=params, **record)


def same_design(params: Mapping[str, Number], trials: Iterable[Trial]) -> Trial | None:
    """The first trial that solved this design; numbers are the same where nine digits are."""
    wanted = _rounded(params)
    solved = (one for one in trials if one.kind in ("solved", "failed") and one.same_as is None)
    return next((one for one in solved if _rounded(one.params) == wanted), None)


def _rounded(params: Mapping[str, Number]) -> dict[str, Number]:
    return {name: float(f"{value:.9g}") if isinstance(value, float) else value for name, value in params.items()}


def objective_values(study: Study, names: Mapping[str, Number]) -> tuple[float, ...]:
    """The objectives; `names` is everything that has a name, outputs too."""
    return tuple(Formula.parse(one.name)(names) for one in study.objectives)


def violations(
    study: Study, names: Mapping[str, Number], margin: Mapping[str, float] | None = None
) -> dict[str, float]:
    """The violation of each constraint, relative to its bound.

    Args:
        names: everything that has a name, outputs too.
        margin: output -> factor by which a finer solve was seen to differ; where a design would be worse for it, it is
            judged as if its outputs had it.
    """
    moved = {name: float(names[name]) * factor for name, factor in (margin or {}).items() if name in names}
    both = [names, {**names, **moved}]
    return {one.name: max(_violation(one, Formula.parse(one.name)(each)) for each in both) for one in study.constraints}


def _violation(bound: Bound, value: float) -> float:
    """Relative to the bound, so that constraints of different units add up; at most 5."""
    if math.isnan(value):
        return _MOST
    over = [(value - bound.max) / (abs(bound.max) or 1.0)] if bound.max is not None else []
    under = [(bound.min - value) / (abs(bound.min) or 1.0)] if bound.min is not None else []
    return min(_MOST, max((*over, *under)))


def ranked(study: Study, trials: Iterable[Trial]) -> list[Trial]:
    """Feasible trials by the first objective, best first."""
    return sorted((one for one in trials if one.feasible), key=lambda one: (_signed(study, one)[0], one.number))


def front(study: Study, trials: Iterable[Trial]) -> list[Trial]:
    """The feasible trials that none dominates, best first by the first objective."""
    feasible = ranked(study, trials)
    return [one for one in feasible if not any(better(study, other, one) for other in feasible)]


def better(study: Study, one: Trial, other: Trial) -> bool:
    """True where one feasible trial dominates another."""
    pairs = list(zip(_signed(study, one), _signed(study, other), strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _signed(study: Study, trial: Trial) -> list[float]:
    """The objectives, with their signs so that less is better."""
    pairs = zip(study.objectives, trial.values, strict=True)
    return [-value if one.direction == "maximize" else value for one, value in pairs]


class Counts(Data):
    """Trials by how they ended; `pruned` were rejected without a solve."""

    total: int
    complete: int
    failed: int
    pruned: int


def counts(trials: Iterable[Trial]) -> Counts:
    """Trials by how they ended, as `transom study run` reports them."""
    kinds = Counter(trial.kind for trial in trials)
    complete, failed, rejected = kinds["solved"], kinds["failed"], kinds["rejected"]
    return Counts(total=complete + failed + rejected, complete=complete, failed=failed, pruned=rejected)


def failures(trials: Iterable[Trial]) -> dict[str, int]:
    """Failed solves by class, the most frequent first."""
    return dict(Counter(trial.failure for trial in trials if trial.kind == "failed" and trial.failure).most_common())


def used(trials: Iterable[Trial]) -> tuple[str, ...]:
    """Ids of the insights that acted on trials."""
    acted = ({trial.source, *trial.rules, *trial.audit} for trial in trials)
    return tuple(sorted(set().union(*acted) - {"sampler"}))


def progress_line(study: Study, trials: Sequence[Trial], done: Trial, budget: int, left: float) -> str:
    """One line on a trial that ended: how, the best so far, and how many seconds are `left`."""
    made, good = counts(trials), ranked(study, trials)
    span = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min" if left < 5400 else f"{left / 3600:.1f} h"
    best = f"best {good[0].values[0]:.4g} (trial {good[0].number})" if good else "nothing feasible yet"
    how = "solved" if done.feasible else "violates a constraint"
    how += f", as trial {done.same_as}" if done.same_as is not None else ""
    if done.failure:
        how = f"{done.failure.replace('_', ' ')} ({' '.join(done.reason.split())[:_SHOWN]})"
    line = f"{made.complete + made.failed}/{budget} trial {done.number}: {how}; {best}"
    return f"{line}; {made.pruned} rejected; {span} left"
