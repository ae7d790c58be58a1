"""Verification: the best designs are solved again with finer numerical settings."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from transom.studies.solver import Solver
from transom.studies.study import Data, Number, Study
from transom.studies.trials import StudyTrial, front, objective_values, ranked, violations

MOST = 8
"""Number of best designs that are solved again, at most."""


class Verified(Data):
    """A best design and its verdict with finer settings.

    Attributes:
        verdict: `verified`; `exploits`: a constraint holds with the study's settings only; `fails`:
            not solved with finer settings; `drifts`: feasible, but an output differs beyond the
            tolerance.
        outputs, fine: outputs of the two solves; `values`: its objectives with the finer settings.
    """

    number: int
    verdict: Literal["verified", "exploits", "fails", "drifts"]
    params: dict[str, Number]
    outputs: dict[str, float]
    fine: dict[str, float] = Field(default_factory=dict)
    values: tuple[float, ...] = ()
    reason: str = ""


class Verification(Data):
    """The best designs that were solved again, in order; none if the study has no finer
    settings.
    """

    asked: bool
    tried: tuple[Verified, ...] = ()

    @property
    def held(self) -> tuple[Verified, ...]:
        return tuple(design for design in self.tried if design.verdict in ("verified", "drifts"))

    @property
    def best(self) -> Verified | None:
        return next(iter(self.held), None)

    @property
    def exploited(self) -> tuple[Verified, ...]:
        """Designs that only the study's coarse settings made feasible."""
        return tuple(design for design in self.tried if design.verdict in ("exploits", "fails"))

    def among(self, trials: Iterable[StudyTrial]) -> Verification:
        """Return the verification of those designs that are feasible among these trials."""
        feasible = {trial.number for trial in trials if trial.feasible}
        tried = tuple(design for design in self.tried if design.number in feasible)
        return self.model_copy(update={"tried": tried})

    def factors(self) -> dict[str, list[float]]:
        """Return output -> ratios of fine to coarse results, of all designs that were solved
        twice.
        """
        ratios: dict[str, list[float]] = {}
        for design in self.tried:
            for name in sorted(design.fine.keys() & design.outputs.keys()):
                if design.outputs[name]:
                    ratios.setdefault(name, []).append(design.fine[name] / design.outputs[name])
        return ratios


def verify(
    study: Study, solver: Solver, folder: Path, trials: Sequence[StudyTrial]
) -> Verification:
    """Solve the best designs again until one holds.

    After one fails to hold, designs that would violate a constraint with the same factors are
    skipped.
    """
    if study.verify is None:
        return Verification(asked=False)
    single = len(study.objectives) == 1
    verification = Verification(asked=True)
    # With competing objectives there is no single best: the whole front is solved again.
    for trial in ranked(study, trials) if single else front(study, trials):
        if len(verification.tried) == MOST or (verification.best and single):
            break
        # A design that would fail by the factors seen so far is not worth a solve, except for the
        # last two: the factors may be wrong for all.
        worst = {name: max(values) for name, values in verification.factors().items()}
        names = {**study.values(trial.params), **trial.outputs}
        hopeless = any(excess > 0 for excess in violations(study, names, worst).values())
        if not hopeless or not verification.tried or len(verification.tried) >= MOST - 2:
            verified = _solve_again(
                study, study.verify.settings, solver, folder / f"{trial.number:05d}", trial
            )
            verification = Verification(asked=True, tried=(*verification.tried, verified))
    return verification


def _solve_again(
    study: Study, settings: dict[str, Number], solver: Solver, folder: Path, trial: StudyTrial
) -> Verified:
    assert study.verify is not None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = study.values(trial.params, settings)
    solved = solver.solve(folder, names, study.limits)
    finer = "with " + ", ".join(f"{name} {value}" for name, value in settings.items())

    def verdict(verdict: Any, reason: str, **fields: Any) -> Verified:
        base = {
            "number": trial.number,
            "params": dict(trial.params),
            "outputs": dict(trial.outputs),
        }
        return Verified(
            verdict=verdict, reason=f"{finer} {reason}", fine=dict(solved.outputs), **base, **fields
        )

    if solved.diagnosis.failure:
        return verdict("fails", f"it fails: {solved.diagnosis.reason}")
    names |= solved.outputs
    values = objective_values(study, names)
    violated = []
    for name, by in violations(study, names).items():
        if by > 0:
            violated.append(f"{name} by {by:.1%}")
    if violated:
        return verdict("exploits", f"it violates {', '.join(violated)}", values=values)
    # An output of 0 has no relative difference.
    shared = sorted(
        name for name in trial.outputs.keys() & solved.outputs.keys() if trial.outputs[name]
    )
    share, output = max(
        ((abs(solved.outputs[name] / trial.outputs[name] - 1), name) for name in shared),
        default=(0.0, ""),
    )
    if share > study.verify.tolerance:
        return verdict(
            "drifts", f"it is feasible, but {output} differs by {share:.1%}", values=values
        )
    return verdict("verified", "it holds", values=values)
