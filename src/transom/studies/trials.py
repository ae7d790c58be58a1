"""Trials of a study: designs, outcomes, and their ranking."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from transom.studies.expression import Formula
from transom.studies.study import Bound, Data, Number, Study

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

RECORD = "transom"
"""User attribute of a trial that has its record."""
LIMITS = "constraints"
"""User attribute of a trial that has the digest of the constraints which its violations are of."""
START, IMPORT, STEP = "start", "import", "step"
"""Sources of trials: a design of `start`, a trial that was solved elsewhere, and a step from the
best design.
"""
FAILED_BY = 10.0
"""Violation of a failed or rejected design, larger than any of a design with results."""
_LARGEST_VIOLATION = 5.0  # of one constraint
_SHOWN = 90  # characters of a reason in a line of progress, at most


class StudyTrial(Data):
    """One design and its outcome.

    Attributes:
        number: its number in the storage, from 0.
        kind: `solved` (with results, feasible or not), `failed` (without results), `rejected` (by a
            requirement or rule, without a solve), `running`, `lost` (the machine failed too often).
        params: values of the variables.
        outputs: outputs of the solver.
        values: values of the objectives; () without results.
        violations: constraint -> violation relative to its bound; at most 0 if it is met.
        failure, reason: class and sentence of a failed or rejected design.
        audit: ids of rules that rejected it, if it was solved anyway to score them.
        rules: ids of the rules that rejected it.
        seconds: wall time of the solve.
        by: the solver.
        attempts: number of solves.
        ended: ISO time.
        source: `sampler`, `start`, `import`, `step`, or the id of the insight that it comes from.
        control: number of the good design that was solved again after this failure, which showed
            that the machine works.
        same_as: number of an earlier trial of the same design, whose result it has.
        span: POSIX times at which its solve began and ended; None if they are not known.
        worker: host that solved it.
        predicted: the objective that the surrogate predicted, if it picked this design.
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
    control: int | None = None
    same_as: int | None = None
    span: tuple[float, float] | None = None
    worker: str = ""
    predicted: float | None = None

    @property
    def feasible(self) -> bool:
        return self.kind == "solved" and all(value <= 0 for value in self.violations.values())

    def set_aside(self, reason: str) -> StudyTrial:
        """Return the trial without its outcome, as one that the machine failed."""
        return StudyTrial(
            number=self.number,
            kind="lost",
            params=self.params,
            failure=self.failure,
            reason=f"{reason}: {self.reason}" if self.reason else reason,
            seconds=self.seconds,
            by=self.by,
            ended=self.ended,
            source=self.source,
        )

    def to_record(self) -> dict[str, Any]:
        """Return the record in the storage, without number and parameters."""
        return self.model_dump(exclude={"number", "params"})

    @staticmethod
    def of(
        frozen: FrozenTrial, study: Study, forgotten: Collection[int] = frozenset()
    ) -> StudyTrial:
        """Convert a trial of the storage, as the bounds and constraints of today have it.

        Whatever does not count today is set aside: a forgotten trial, and one out of bounds.
        """
        ended = frozen.state.is_finished()
        # Without a record, its worker was stopped before it knew the outcome.
        record = frozen.user_attrs.get(RECORD, {"kind": "lost"}) if ended else {"kind": "running"}
        params = {}
        for name in study.variables:
            if name in frozen.params:
                params[name] = frozen.params[name]
        trial = StudyTrial(number=frozen.number, params=params, **record)
        if frozen.number in forgotten:
            return trial.set_aside("forgotten")
        if trial.kind not in ("solved", "failed"):
            return trial
        if misfit := study.misfit(params):
            return trial.set_aside(misfit)
        limits = frozen.user_attrs.get(LIMITS, study.limits_digest)
        if trial.kind == "solved" and limits != study.limits_digest:
            names = {**study.values(params), **trial.outputs}
            if missing := sorted(study.needed_outputs - names.keys()):
                return trial.set_aside(f"its solve has no output {missing[0]}")
            return trial.model_copy(update={"violations": violations(study, names)})
        return trial


def same_design(params: Mapping[str, Number], trials: Iterable[StudyTrial]) -> StudyTrial | None:
    """Return the first trial that was solved or failed with this design itself, not as a copy.

    Numbers are compared with nine digits.
    """
    design = _rounded(params)
    ended = (
        trial for trial in trials if trial.kind in ("solved", "failed") and trial.same_as is None
    )
    return next((trial for trial in ended if _rounded(trial.params) == design), None)


def running_twin(params: Mapping[str, Number], trials: Iterable[StudyTrial]) -> StudyTrial | None:
    """Return the first trial of this design that is under way."""
    design = _rounded(params)
    for trial in trials:
        if trial.kind == "running" and _rounded(trial.params) == design:
            return trial
    return None


def is_new(params: Mapping[str, Number], trials: Iterable[StudyTrial]) -> bool:
    """Whether no trial has this design, ended or under way."""
    design = _rounded(params)
    return all(_rounded(trial.params) != design for trial in trials)


def _rounded(params: Mapping[str, Number]) -> dict[str, Number]:
    # A value that passed through a template or a database may differ in its last digits.
    rounded = {}
    for name, value in params.items():
        rounded[name] = float(f"{value:.9g}") if isinstance(value, float) else value
    return rounded


def objective_values(study: Study, names: Mapping[str, Number]) -> tuple[float, ...]:
    """Return the objectives; `names` has all named numbers, outputs included."""
    return tuple(Formula.parse(objective.name)(names) for objective in study.objectives)


def violations(
    study: Study, names: Mapping[str, Number], margin: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return the violation of each constraint, relative to its bound.

    Args:
        names: all named numbers, outputs included.
        margin: output -> factor between finer and coarse settings; it is applied to the outputs if
            that makes the design worse.
    """
    moved = {}
    for name, factor in (margin or {}).items():
        if name in names:
            moved[name] = float(names[name]) * factor
    # The worse of both counts: a margin must not make a design better.
    variants = [names, {**names, **moved}]
    violation_of = {}
    for bound in study.constraints:
        violation_of[bound.name] = max(
            _violation(bound, Formula.parse(bound.name)(each)) for each in variants
        )
    return violation_of


def _violation(bound: Bound, value: float) -> float:
    """Return the violation relative to the bound, so that different units add up; at most 5."""
    if math.isnan(value):
        return _LARGEST_VIOLATION
    # A bound of 0 has no relative violation, so the plain one is taken.
    over = [(value - bound.max) / (abs(bound.max) or 1.0)] if bound.max is not None else []
    under = [(bound.min - value) / (abs(bound.min) or 1.0)] if bound.min is not None else []
    return min(_LARGEST_VIOLATION, max((*over, *under)))


def ranked(study: Study, trials: Iterable[StudyTrial]) -> list[StudyTrial]:
    """Return feasible trials by the first objective, best first."""
    return sorted(
        (trial for trial in trials if trial.feasible),
        key=lambda trial: (_signed(study, trial)[0], trial.number),
    )


def front(study: Study, trials: Iterable[StudyTrial]) -> list[StudyTrial]:
    """Return the feasible trials that none dominates, best first by the first objective."""
    feasible = ranked(study, trials)
    points = {trial.number: tuple(_signed(study, trial)) for trial in feasible}
    undominated: list[tuple[float, ...]] = []
    # In this order, whatever dominates a point stands before it.
    for point in sorted({*points.values()}):
        # Of two objectives, the last point that stays has the best second one so far.
        rivals = undominated[-1:] if len(point) <= 2 else undominated
        if not any(all(a <= b for a, b in zip(rival, point, strict=True)) for rival in rivals):
            undominated.append(point)
    best = {*undominated}
    return [trial for trial in feasible if points[trial.number] in best]


def _signed(study: Study, trial: StudyTrial) -> list[float]:
    """Return the objectives, with signs so that less is better."""
    pairs = zip(study.objectives, trial.values, strict=True)
    signed = []
    for objective, value in pairs:
        signed.append(-value if objective.direction == "maximize" else value)
    return signed


class Counts(Data):
    """Numbers of trials by outcome; `pruned` were rejected without a solve."""

    total: int
    complete: int
    failed: int
    pruned: int


def counts(trials: Iterable[StudyTrial]) -> Counts:
    """Count trials by outcome, as `transom study run` reports them."""
    kinds = Counter(trial.kind for trial in trials)
    complete, failed, rejected = kinds["solved"], kinds["failed"], kinds["rejected"]
    return Counts(
        total=complete + failed + rejected, complete=complete, failed=failed, pruned=rejected
    )


def failures(trials: Iterable[StudyTrial]) -> dict[str, int]:
    """Count failed solves by class, the most frequent first."""
    return dict(
        Counter(
            trial.failure for trial in trials if trial.kind == "failed" and trial.failure
        ).most_common()
    )


def used_insights(trials: Iterable[StudyTrial]) -> tuple[str, ...]:
    """Return the ids of the insights that affected trials."""
    acted = []
    for trial in trials:
        if trial.kind != "lost":
            acted.append({trial.source, *trial.rules, *trial.audit})
    return tuple(sorted(set().union(*acted) - {"sampler", START, IMPORT, STEP}))


def progress_line(
    study: Study, trials: Sequence[StudyTrial], trial: StudyTrial, budget: int, seconds: float
) -> str:
    """Return one line on a finished trial: outcome, the best so far, and the seconds `left`."""
    numbers, good = counts(trials), ranked(study, trials)
    span = (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
    best = (
        f"best {good[0].values[0]:.4g} (trial {good[0].number})" if good else "nothing feasible yet"
    )
    outcome = "solved" if trial.feasible else "violates a constraint"
    outcome += f", as trial {trial.same_as}" if trial.same_as is not None else ""
    if trial.failure:
        outcome = f"{trial.failure.replace('_', ' ')} ({' '.join(trial.reason.split())[:_SHOWN]})"
    line = f"{numbers.complete + numbers.failed}/{budget} trial {trial.number}: {outcome}; {best}"
    return f"{line}; {numbers.pruned} rejected; {span} left"
