"""The result of a study: the document that `transom study run` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from transom.studies.advisor import Advised
from transom.studies.study import Data, Number, Study
from transom.studies.trials import (
    Counts,
    StudyTrial,
    counts,
    failures,
    front,
    ranked,
    used_insights,
)
from transom.studies.verify import Verification, Verified


class End(Data):
    """The data of a study's end, beside its trials.

    Attributes:
        added, pruned: number of added insights, and of insights that lost their standing.
        session_id: the run that ended it.
    """

    verification: Verification
    added: int = 0
    pruned: int = 0
    advice: Advised | None = None
    session_id: str | None = None


class Best(Data):
    """The best design that finer settings did not refute; `verified` is None without
    verification.
    """

    number: int
    values: tuple[float, ...]
    params: dict[str, Number]
    verified: bool | None = None


class InsightCounts(Data):
    """Used insights, and the numbers of added ones and of those that lost their standing."""

    used: tuple[str, ...] = ()
    added: int = 0
    pruned: int = 0


class StudyResult(Data):
    """A study's outcome.

    Attributes:
        feasible: designs that meet the constraints and that finer settings did not refute.
        exploited: refuted designs; `drifting`: designs that hold, with an output beyond the
            tolerance.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_: Literal["transom.study/1"] = Field("transom.study/1", alias="schema")
    study: str
    trials: Counts
    feasible: int
    best: Best | None
    front: tuple[Best, ...] = ()
    failures: dict[str, int]
    insights: InsightCounts
    exploited: tuple[Verified, ...] = ()
    drifting: tuple[Verified, ...] = ()
    advice: Advised | None = None
    solver: str = ""
    session_id: str | None = None


def result_of(study: Study, trials: Sequence[StudyTrial], end: End, solver: str) -> StudyResult:
    """Assemble a study's outcome."""
    # Of what was verified, only designs that still count: a forgotten one is not the best.
    verification = end.verification.among(trials)
    # A design that finer settings refuted must not be the best one.
    refuted = {item.number for item in verification.exploited}
    unrefuted = []
    for item in trials:
        if item.number not in refuted:
            unrefuted.append(item)
    good, best = ranked(study, unrefuted), verification.best
    untried = _best(good[0], False if verification.asked else None) if good else None
    return StudyResult(
        study=study.study,
        trials=counts(trials),
        feasible=len(good),
        best=_best(best, best.verdict == "verified") if best else untried,
        front=tuple(map(_best, front(study, unrefuted))) if len(study.objectives) > 1 else (),
        failures=failures(trials),
        insights=InsightCounts(used=used_insights(trials), added=end.added, pruned=end.pruned),
        exploited=verification.exploited,
        drifting=tuple(item for item in verification.held if item.verdict == "drifts"),
        advice=end.advice,
        solver=solver,
        session_id=end.session_id,
    )


def _best(trial: StudyTrial | Verified, verified: bool | None = None) -> Best:
    return Best(
        number=trial.number, values=trial.values, params=dict(trial.params), verified=verified
    )
