"""Steps from the best design: promising designs near it, by a linear model of the solves around it.

A sampler explores; it needs many solves to reach an optimum on its constraints. So in the second
half of a study every other design is such a step. The model is linear in the logarithms of
variables that are above 0.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transom.studies.study import Number, Study, nearby_design
from transom.studies.trials import Trial, is_new, ranked

_CANDIDATES = 300
_WIDEST, _NARROWEST = 0.1, 0.02  # spread of steps, at half the budget and at its end
_NEAR = 0.02  # square of the distance (in logarithms) at which a solve's weight is half
_RIDGE = 1e-3
_FAILS = 1e3  # cost of a candidate whose nearest design failed
_VIOLATION = 10.0  # weight of a violated constraint against the objective, both relative


def next_step(
    study: Study, trials: Sequence[Trial], budget: int, fits: Callable[[Mapping[str, Number]], bool]
) -> dict[str, Number] | None:
    """Return the best new step that `fits`, for every other design in the second half of the
    budget; else None.
    """
    half, spec = budget / 2, study.sampler
    solves = sum(trial.kind in ("solved", "failed") for trial in trials)
    if spec.kind != "tpe" or not spec.steps or solves < half or len(trials) % 2:
        return None
    spread = _WIDEST * (1 - (solves - half) / half) + _NARROWEST
    pick = random.Random(f"{study.study}/{spec.seed}/{len(trials)}")
    for design in steps(study, trials, spread, pick):
        if is_new(design, trials) and fits(design):
            return design
    return None


def steps(
    study: Study, trials: Sequence[Trial], spread: float, pick: random.Random
) -> list[dict[str, Number]]:
    """Return designs near the best one, best first; [] if no design is feasible or objectives
    compete.
    """
    import numpy as np  # noqa: PLC0415  slow

    numeric = [name for name, item in study.variables.items() if not item.choices]
    best = next(iter(ranked(study, trials)), None)
    if best is None or len(study.objectives) > 1 or not numeric:
        return []
    choices = {name: best.params[name] for name in sorted(study.variables.keys() - numeric)}
    solved = [
        trial
        for trial in trials
        if trial.kind == "solved" and choices.items() <= trial.params.items()
    ]
    centre = np.array(_place(study, numeric, best.params))
    places = np.array([_place(study, numeric, trial.params) for trial in solved]) - centre
    weights = np.sqrt(_NEAR / (_NEAR + (places**2).sum(axis=1)))[:, None]
    sign = -1 if study.objectives[0].direction == "maximize" else 1
    unit = sign * (abs(best.values[0]) or 1.0)
    observed = np.array(
        [[trial.values[0] / unit, *map(_bent, trial.violations.values())] for trial in solved]
    )
    design_matrix = weights * np.column_stack([np.ones(len(solved)), places])
    ridge = np.diag([0.0, *[_RIDGE] * len(numeric)])
    model = np.linalg.lstsq(
        design_matrix.T @ design_matrix + ridge, design_matrix.T @ (weights * observed), rcond=None
    )[0]

    candidates = [
        nearby_design(study, best.params, spread, pick) | choices for _ in range(_CANDIDATES)
    ]
    points = np.array([_place(study, numeric, item) for item in candidates]) - centre
    expected: Any = np.column_stack([np.ones(len(points)), points]) @ model
    costs = expected[:, 0] + _VIOLATION * np.maximum(0, expected[:, 1:]).sum(axis=1)
    if failed := [
        _place(study, numeric, trial.params) for trial in trials if trial.kind == "failed"
    ]:
        costs += _FAILS * (_nearest(points, np.array(failed) - centre) < _nearest(points, places))
    return [candidates[n] for n in np.argsort(costs)]


def _nearest(points: Any, neighbours: Any) -> Any:
    """Return the square of each point's distance from the nearest of others."""
    return ((points[:, None, :] - neighbours[None, :, :]) ** 2).sum(axis=2).min(axis=1)


def _bent(violation: float) -> float:
    """Transform a violation so that power laws, as of stresses, become straight lines; 0 stays
    0.
    """
    return math.log(max(0.05, 1 + violation))


def _place(study: Study, names: Sequence[str], design: Mapping[str, Number]) -> list[float]:
    """Return a design as a point: logarithms of variables above 0, others as shares of their
    range.
    """
    point = []
    for name in names:
        low, high = study.variables[name].bounds
        value = float(design[name])
        point.append(math.log(value) if low > 0 else value / ((high - low) or 1.0))
    return point
