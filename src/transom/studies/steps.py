"""Steps from the best design: promising designs near it, by a linear model of the solves around it.

A sampler explores; it needs many solves to reach an optimum on its constraints. So in the second
half of a study every other design is such a step, and fewer if steps fail. The model is linear in
the logarithms of variables that are above 0. Rules on the failures of the study so far reject
candidates; they know choices, too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transom.studies.failure_rules import FailureRule, Features, SolveRow, learn
from transom.studies.study import Number, Study, nearby_design
from transom.studies.trials import STEP, StudyTrial, is_new, ranked

_CANDIDATES = 300
_WIDEST, _NARROWEST = 0.1, 0.02  # spread of steps, at half the budget and at its end
_NEAR = 0.02  # square of the distance (in logarithms) at which a solve's weight is half
_OTHER = 0.1  # square of the distance between designs that differ in one choice
_PAUSE = 2  # solves of the sampler for each step that failed since the last good one
_AROUND, _DAMPING = 0.1, 0.02  # of the model of failures: like `_NEAR` and `_RIDGE`
_LIKELY = 0.4  # a candidate that fails more likely is left out
_RIDGE = 1e-3
_FAILS = 1e3  # cost of a candidate that is expected to fail
_VIOLATION = 10.0  # weight of a violated constraint against the objective, both relative


def next_step(
    study: Study,
    trials: Sequence[StudyTrial],
    budget: int,
    fits: Callable[[Mapping[str, Number]], bool],
) -> dict[str, Number] | None:
    """Return the best new step that `fits`, for every other design in the second half of the
    budget; else None.
    """
    half, spec = budget / 2, study.sampler
    solves = sum(trial.kind in ("solved", "failed") for trial in trials)
    if spec.kind != "tpe" or not spec.steps or solves < half or len(trials) % 2:
        return None
    # After failed steps the sampler gets more turns, for the model is wrong around here.
    if _solves_since_a_step(trials) <= _PAUSE * _failed_steps(study, trials):
        return None
    spread = _WIDEST * (1 - (solves - half) / half) + _NARROWEST
    pick = random.Random(f"{study.study}/{spec.seed}/{len(trials)}")
    for design in steps(study, trials, spread, pick):
        if is_new(design, trials) and fits(design):
            return design
    return None


def _solves_since_a_step(trials: Sequence[StudyTrial]) -> int:
    """Return how many designs of the sampler were solved since the last step."""
    solves = 0
    for trial in sorted(trials, key=lambda trial: trial.number, reverse=True):
        if trial.source == STEP:
            break
        solves += trial.kind in ("solved", "failed")
    return solves


def _failed_steps(study: Study, trials: Sequence[StudyTrial]) -> int:
    """Return how many steps failed since the one that gave the best design, or of all."""
    best = next(iter(ranked(study, trials)), None)
    failed = 0
    for trial in sorted(trials, key=lambda trial: trial.number, reverse=True):
        if trial.source != STEP:
            continue
        if best is not None and trial.number == best.number:
            break
        failed += trial.kind == "failed"
    return failed


def steps(
    study: Study, trials: Sequence[StudyTrial], spread: float, pick: random.Random
) -> list[dict[str, Number]]:
    """Return designs near the best one, best first; [] if no design is feasible or objectives
    compete.
    """
    import numpy as np  # noqa: PLC0415  slow

    numeric = []
    for name, item in study.variables.items():
        if not item.choices:
            numeric.append(name)
    best = next(iter(ranked(study, trials)), None)
    if best is None or len(study.objectives) > 1 or not numeric:
        return []
    # A linear model cannot step between choices: they stay those of the best design.
    choices = {name: best.params[name] for name in sorted(study.variables.keys() - numeric)}
    solved = []
    for trial in trials:
        if trial.kind == "solved" and choices.items() <= trial.params.items():
            solved.append(trial)
    centre = np.array(_place(study, numeric, best.params))
    places = np.array([_place(study, numeric, trial.params) for trial in solved]) - centre
    # Solves far away say little about the slope at the best design.
    weights = np.sqrt(_NEAR / (_NEAR + (places**2).sum(axis=1)))[:, None]
    # The objective becomes relative, so that its weight against violations needs no unit.
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

    candidates = []
    for _ in range(_CANDIDATES):
        candidates.append(nearby_design(study, best.params, spread, pick) | choices)
    points = np.array([_place(study, numeric, item) for item in candidates]) - centre
    expected: Any = np.column_stack([np.ones(len(points)), points]) @ model
    costs = expected[:, 0] + _VIOLATION * np.maximum(0, expected[:, 1:]).sum(axis=1)
    failed = [trial for trial in trials if trial.kind == "failed"]
    if failed:
        failed_places = (
            np.array([_place(study, numeric, trial.params) for trial in failed]) - centre
        )
        farther = _OTHER * np.array([_differing(trial, choices) for trial in failed])
        costs += _FAILS * (_nearest(points, failed_places, farther) < _nearest(points, places))
        costs += _FAILS * (_fails(points, places, failed_places, farther) > _LIKELY)
    rejecting = _rules(study, trials)
    features = Features.of(study)
    # Costs are added, not removed: if all candidates look bad, the least bad is tried.
    for number, candidate in enumerate(candidates):
        measured = features(study.values(candidate))
        costs[number] += _FAILS * any(rule.matches(measured) for rule in rejecting)
    return [candidates[n] for n in np.argsort(costs)]


def _rules(study: Study, trials: Sequence[StudyTrial]) -> list[FailureRule]:
    """Return rules on the failures of this study so far; unlike distances, they know choices."""
    features = Features.of(study)
    rows = []
    for trial in trials:
        if trial.kind in ("solved", "failed"):
            rows.append(SolveRow(features(study.values(trial.params)), trial.failure))
    return learn(rows)


def _fails(points: Any, solved: Any, failed: Any, farther: Any) -> Any:
    """Return about how likely each point fails, by a linear model of the solves around the origin.

    Args:
        farther: added to the squares of the distances of the failed ones.
    """
    import numpy as np  # noqa: PLC0415  slow

    places = np.concatenate([solved, failed])
    squares = (places**2).sum(axis=1) + np.concatenate([np.zeros(len(solved)), farther])
    weights = np.sqrt(_AROUND / (_AROUND + squares))[:, None]
    outcomes = np.concatenate([np.zeros(len(solved)), np.ones(len(failed))])[:, None]
    matrix = weights * np.column_stack([np.ones(len(places)), places])
    ridge = _DAMPING * np.eye(places.shape[1] + 1)
    model = np.linalg.solve(matrix.T @ matrix + ridge, matrix.T @ (weights * outcomes))
    return (np.column_stack([np.ones(len(points)), points]) @ model)[:, 0]


def _nearest(points: Any, neighbours: Any, farther: Any = 0.0) -> Any:
    """Return the square of each point's distance from the nearest of others.

    Args:
        farther: added to the squares, for each of the others.
    """
    squares = ((points[:, None, :] - neighbours[None, :, :]) ** 2).sum(axis=2)
    return (squares + farther).min(axis=1)


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


def _differing(trial: StudyTrial, choices: Mapping[str, Number]) -> int:
    """Return in how many choices a trial differs from the best design."""
    return sum(trial.params.get(name) != choice for name, choice in choices.items())
