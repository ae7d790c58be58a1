"""Whether a best design is one: incumbents are solved again with finer numerical settings before they count."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from transom.studies.solver import Solved, Solver
from transom.studies.study import Number, Study
from transom.studies.trials import Trial, Wanted

MOST = 8
"""Incumbents that are solved again, at most."""


class Verified(BaseModel):
    """An incumbent, and what finer settings say of it.

    Attributes:
        number: the trial.
        verdict: `verified`; `exploits` where it meets a constraint on the study's settings only; `fails` where it
            cannot be solved with finer ones; `drifts` where it is feasible, but an output differs beyond the tolerance.
        params: its design.
        outputs, fine: of the two solves.
        values: its objectives with the finer settings.
        reason: one sentence.
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
    """What was verified, in the order in which it was tried; without finer settings in the study nothing is."""

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
    solved: Solved = solver.solve(folder, study.values(trial.params, study.verify.settings), study.limits)
    base = {"number": trial.number, "params": dict(trial.params), "outputs": dict(trial.outputs)}
    finer = ", ".join(f"{name} {value}" for name, value in study.verify.settings.items())
    if solved.diagnosis.failure:
        return Verified(verdict="fails", reason=f"with {finer}: {solved.diagnosis.reason}", **base)
    names = {**study.values(trial.params, study.verify.settings), **solved.outputs}
    violated = {name: by for name, by in wanted.violations(names).items() if by > 0}
    base |= {"fine": dict(solved.outputs), "values": wanted.values(names)}
    if violated:
        what = ", ".join(f"{name} by {by:.1%}" for name, by in violated.items())
        return Verified(verdict="exploits", reason=f"with {finer} it violates {what}", **base)
    drift = _drift(trial.outputs, solved.outputs)
    if drift and drift[1] > study.verify.tolerance:
        reason = f"with {finer} it is feasible, but {drift[0]} differs by {drift[1]:.1%}"
        return Verified(verdict="drifts", reason=reason, **base)
    return Verified(verdict="verified", reason=f"holds with {finer}", **base)


def _drift(coarse: Mapping[str, float], fine: Mapping[str, float]) -> tuple[str, float] | None:
    """The output that differs most, and by which share."""
    shares = [(name, abs(fine[name] / coarse[name] - 1)) for name in coarse.keys() & fine.keys() if coarse[name]]
    finite = [one for one in shares if math.isfinite(one[1])]
    return max(finite, key=lambda one: one[1], default=None)
