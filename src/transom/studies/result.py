"""The result of a study: the document that `transom study run` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.studies.advisor import Advised
from transom.studies.study import Number, Study
from transom.studies.trials import Trial, Wanted, counts, failures
from transom.studies.verify import Verification, Verified


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Counts(_Model):
    """Trials by how they ended; `pruned` were rejected without a solve."""

    total: int
    complete: int
    failed: int
    pruned: int


class Best(_Model):
    """The best feasible design; `verified` is None where the study asks for no verification."""

    number: int
    values: list[float]
    params: dict[str, Number]
    verified: bool | None = None


class InsightCounts(_Model):
    """Insights that acted, how many were added, how many lost their standing."""

    used: list[str] = []
    added: int = 0
    pruned: int = 0


class StudyResult(_Model):
    """A study's outcome."""

    schema_: Literal["transom.study/1"] = Field("transom.study/1", alias="schema")
    study: str
    trials: Counts
    feasible: int
    best: Best | None
    front: list[Best] = []
    failures: dict[str, int]
    insights: InsightCounts
    exploited: list[Verified] = []
    advice: Advised | None = None
    solver: str = ""
    session_id: str | None = None


def result_of(
    study: Study, trials: Sequence[Trial], verification: Verification, insights: InsightCounts, solver: str
) -> StudyResult:
    """Put a study's outcome together."""
    wanted = Wanted.of(study)
    ranked = [
        Best(number=one.number, values=list(one.values), params=dict(one.params)) for one in wanted.ranked(trials)
    ]
    front = {one.number for one in wanted.front(trials)} if len(study.objectives) > 1 else set()
    best = next((one.model_copy(update={"verified": False if verification.asked else None}) for one in ranked), None)
    if verified := verification.best:
        params = {name: verified.params[name] for name in study.variables}  # in the study's order
        best = Best(number=verified.number, values=list(verified.values), params=params, verified=True)
    return StudyResult(
        study=study.study,
        trials=Counts(**counts(trials)),
        feasible=len(ranked),
        best=best,
        front=[one for one in ranked if one.number in front],
        failures=failures(trials),
        insights=insights,
        exploited=list(verification.exploited),
        solver=solver,
    )
