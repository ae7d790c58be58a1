"""The document `transom.eval/1`: the result of `eval run`, and the form of baselines."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import Field

from transom.evals.scenario_models import ScenarioModel, Used

Status = Literal["pass", "fail", "error"]

DETERMINISTIC = frozenset({"rules", "replay", "replies", "scripted"})


class EpochRow(ScenarioModel):
    """One epoch: `scores` by scorer; `why` has what is missing, for people.

    Attributes:
        abstains: the reason of a foreseen abstention, else "".
        answer: the answer's prose.
    """

    status: Status
    answer: str = ""
    verdict: str | None = None
    dimensions: dict[str, float] = Field(default_factory=dict)
    scores: dict[str, float] = Field(default_factory=dict)
    why: tuple[str, ...] = ()
    used: Used = Field(default_factory=Used)
    abstains: str = ""


class Details(ScenarioModel):
    """Details of a scenario's row. `definition` changes with its input and its ground truth."""

    title: str = ""
    tags: tuple[str, ...] = ()
    definition: str = ""
    pass_share: float = 1.0
    epochs: tuple[EpochRow, ...] = ()


class ScenarioRow(ScenarioModel):
    """One scenario: `scores` are the means of its epochs by dimension."""

    id: str
    status: Status
    scores: dict[str, float]
    epochs: int
    details: Details

    @property
    def abstains(self) -> str:
        """The reason of a foreseen abstention that passed, else ""."""
        if self.status == "pass":
            for epoch in self.details.epochs:
                if epoch.abstains:
                    return epoch.abstains
        return ""

    @property
    def passes(self) -> list[bool]:
        """Whether each epoch passed."""
        return [epoch.status == "pass" for epoch in self.details.epochs]


class Summary(ScenarioModel):
    """Totals of a suite.

    Attributes:
        pass_rate: share of passed epochs, mean over scenarios.
        abstained: number of passed scenarios that abstained as foreseen.
        pass_k: k -> probability that all of k runs pass, mean over scenarios.
        avg_scores: dimension -> mean over the scenarios that have it.
    """

    pass_rate: float
    total_scenarios: int
    passed: int
    failed: int
    errors: int
    abstained: int = 0
    pass_k: dict[str, float]
    avg_scores: dict[str, float]


class Comparison(ScenarioModel):
    """The differences of an evaluation from a baseline.

    Attributes:
        regressions: deteriorations beyond chance.
        warnings: drops of more than 5 %, and scenarios that could not be compared.
        bound: one-sided upper 95 % bound of the pass rate's change; None with a deterministic
            model.
        minimum_detectable_drop: the drop of the pass rate that is detected with a probability of 80
            %.
    """

    baseline: str | None = None
    regressions: tuple[str, ...] = ()
    improvements: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    bound: float | None = None
    minimum_detectable_drop: float | None = None


class Fingerprint(ScenarioModel):
    """The subject of an evaluation: Transom's version, the chain of models, a digest of prompts
    and rules.
    """

    transom: str
    model: str
    prompts: str

    @property
    def sampled(self) -> bool:
        """Whether equal questions may get different answers."""
        return not {name.strip() for name in self.model.split(",")} <= DETERMINISTIC


class Evaluation(ScenarioModel):
    """The result of `eval run --format json`."""

    schema_: Literal["transom.eval/1"] = Field(default="transom.eval/1", alias="schema")
    suite: str
    summary: Summary
    scenarios: tuple[ScenarioRow, ...]
    regression_analysis: Comparison = Field(default_factory=Comparison)
    fingerprint: Fingerprint
    usage: Used
    run_id: str

    @property
    def exit_code(self) -> int:
        """2 if a scenario ended in an error, 1 if one failed or something regressed, else 0."""
        # An error says nothing about the product's answers, so it goes before a failure.
        if self.summary.errors:
            return 2
        return 1 if self.summary.failed or self.regression_analysis.regressions else 0


def summarise(rows: tuple[ScenarioRow, ...]) -> Summary:
    """Return the summary of at least one scenario."""
    statuses = Counter([row.status for row in rows])
    # A scenario without a dimension takes no part in its mean.
    scores: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.scores.items():
            scores.setdefault(name, []).append(value)
    # No scenario can be drawn from more often than the one with the fewest epochs.
    pass_rates = {}
    for k in range(1, min([row.epochs for row in rows]) + 1):
        pass_rates[str(k)] = _mean([pass_k(row.passes, k) for row in rows])
    return Summary(
        pass_rate=_mean([sum(row.passes) / row.epochs for row in rows]),
        total_scenarios=len(rows),
        passed=statuses["pass"],
        failed=statuses["fail"],
        errors=statuses["error"],
        abstained=sum(bool(row.abstains) for row in rows),
        pass_k=pass_rates,
        avg_scores={name: _mean(values) for name, values in scores.items()},
    )


def pass_k(passes: list[bool], k: int) -> float:
    """Estimate the probability that `k` epochs drawn from these all pass (pass^k, unbiased)."""
    # Drawn without replacement: with replacement, few epochs would give too high a value.
    probability, good = 1.0, sum(passes)
    for draw in range(k):
        probability *= max(0, good - draw) / (len(passes) - draw)
    return probability


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 6)
