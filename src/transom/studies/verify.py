"""Verification: the best designs are solved again with finer numerical settings before they count."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from transom.studies.solver import Solver
from transom.studies.study import Number, Study
from transom.studies.trials import Trial, Wanted

MOST = 8
"""Incumbents that are solved again, at most."""


class Verified(BaseModel):
    """An incumbent and its verdict with finer settings.

    Attributes:
        verdict: `verified`; `exploits` where it meets a constraint on the study's settings only; `fails` where it
            cannot be solved with finer ones; `drifts` where it is feasible, but an output differs beyond the tolerance.
        outputs, fine: of the two solves; `values`: its objectives with the finer settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int
    verdict: Literal["verified", "exploits", "fails", "drifts"]
    params: dict[str, Number]
    outputs: dict[str, float]
    fine: dict[str, float] = {}
    values: tuple[float, ...] = ()
    reason: str = ""


class Verification(BaseModel):
    """The incumbents that were solved again, in order; none where the study names no finer settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asked: bool
    tried: tuple[Verified, ...] = ()

    @property
    def best(self) -> Verified | None:
        return next((one for one in self.tried if one.verdict in ("verified", "drifts")), None)

    @property
    def exploited(self) -> tuple[Verified, ...]:
        """Incumbents that only the study's coarse settings made feasible."""
        return tuple(one for one in self.tried if one.verdict in ("exploits", "fails"))

    def factors(self) -> dict[str, list[float]]:
        """Output -> fine over coarse, of all that were solved twice."""
        found: dict[str, list[float]] = {}
        for one in self.tried:
            for name in one.fine.keys() & one.outputs.keys():
                if one.outputs[name]:
                    found.setdefault(name, []).append(one.fine[name] / one.outputs[name])
        return found


def verify(study: Study, solver: Solver, folder: Path, trials: Iterable[Trial]) -> Verification:
    """Solve the incumbents again until one holds.

    After one that does not hold, designs are passed over that would violate a constraint by the same factors.
    """
    wanted = Wanted.of(study)
    trials = list(trials)
    if study.verify is None:
        return Verification(asked=False)
    candidates = wanted.ranked(trials) if len(study.objectives) == 1 else wanted.front(trials)
    tried: list[Verified] = []
    for trial in candidates:
        found = Verification(asked=True, tried=tuple(tried))
        if len(tried) == MOST or (found.best and len(study.objectives) == 1):
            break
        worst = {name: max(values) for name, values in found.factors().items()}
        names = {**study.values(trial.params), **trial.outputs}
        if tried and len(tried) < MOST - 2 and any(one > 0 for one in wanted.violations(names, worst).values()):
            continue
        tried.append(_again(study, solver, folder / f"{trial.number:05d}", trial, wanted))
    return Verification(asked=True, tried=tuple(tried))


def _again(study: Study, solver: Solver, folder: Path, trial: Trial, wanted: Wanted) -> Verified:
    assert study.verify is not None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = study.values(trial.params, study.verify.settings)
    solved = solver.solve(folder, names, study.limits)
    finer = "with " + ", ".join(f"{name} {value}" for name, value in study.verify.settings.items())
    base = Verified(number=trial.number, verdict="fails", params=dict(trial.params), outputs=dict(trial.outputs))
    if solved.diagnosis.failure:
        return base.model_copy(update={"reason": f"{finer}: {solved.diagnosis.reason}"})
    names |= solved.outputs
    violated = [f"{name} by {by:.1%}" for name, by in wanted.violations(names).items() if by > 0]
    both = [name for name in trial.outputs.keys() & solved.outputs.keys() if trial.outputs[name]]
    shares = {name: abs(solved.outputs[name] / trial.outputs[name] - 1) for name in sorted(both)}
    most = max(shares, key=lambda name: shares[name], default="")
    verdict, reason = "verified", f"holds {finer}"
    if violated:
        verdict, reason = "exploits", f"{finer} it violates {', '.join(violated)}"
    elif most and shares[most] > study.verify.tolerance:
        verdict, reason = "drifts", f"{finer} it is feasible, but {most} differs by {shares[most]:.1%}"
    found = {"verdict": verdict, "reason": reason, "fine": dict(solved.outputs), "values": wanted.values(names)}
    return base.model_copy(update=found)
