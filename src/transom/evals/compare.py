"""Comparison with a baseline: regressions beyond chance, improvements, and drops as warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from transom.errors import InputError
from transom.evals.document import Comparison, EpochRow, Evaluation, ScenarioRow
from transom.evals.scorers import DIMENSIONS
from transom.evals.statistics import holm, paired_change

DROP = 0.05
"""A larger drop is a warning, even if chance explains it."""

LEAST_EPOCHS = 5
LEAST_SCENARIOS = 5
"""Least numbers for telling a sampled model's regressions from chance."""

DIMENSION_LEVEL = 0.005
"""Probability of a false regression in any dimension, beside the 5 % of the pass rate."""

Pair = tuple[ScenarioRow, ScenarioRow]


def compare(current: Evaluation, baseline: Evaluation, name: str) -> Comparison:
    """Compare two evaluations of a suite, scenario by scenario.

    With a deterministic model on both sides, every scenario that no longer passes is a regression.
    Otherwise the pass rate regresses if the one-sided 95 % bound of its paired change is below 0,
    and a dimension if its change has a probability below 0.5 % over all dimensions.

    Args:
        current, baseline: the new evaluation and the old one.
        name: the baseline's name, for messages.

    Raises:
        InputError: the evaluations are of different suites.
    """
    if current.suite != baseline.suite:
        problem = (
            f"an evaluation of {current.suite} cannot be compared with one of {baseline.suite}"
        )
        raise InputError(problem, place=name, hint="name two evaluations of the same suite")
    pairs, unpaired = _pairs(current, baseline)
    if not pairs:
        return Comparison(
            baseline=name, warnings=(*unpaired, "nothing can be compared; save a new baseline")
        )
    if current.fingerprint.sampled or baseline.fingerprint.sampled:
        result = _compare_sampled(pairs, current, baseline)
    else:
        result = _compare_deterministic(pairs)
    return result.model_copy(update={"baseline": name, "warnings": (*result.warnings, *unpaired)})


def _pairs(current: Evaluation, baseline: Evaluation) -> tuple[list[Pair], list[str]]:
    """Return the scenarios that can be compared, as (old, new), and messages on the others."""
    old_rows = {row.id: row for row in baseline.scenarios}
    pairs, changed, added = list[Pair](), list[str](), list[str]()
    for new in current.scenarios:
        old = old_rows.pop(new.id, None)
        if old is None:
            added.append(new.id)
        elif old.details.definition != new.details.definition:
            # Another question or another right answer: a change says nothing about the program.
            changed.append(new.id)
        else:
            pairs.append((old, new))
    messages = []
    if changed:
        messages.append(f"changed since the baseline, not compared: {', '.join(changed)}")
    if added:
        messages.append(f"not in the baseline: {', '.join(added)}")
    if old_rows:
        messages.append(f"only in the baseline: {', '.join(old_rows)}")
    return pairs, messages


def _compare_deterministic(pairs: Sequence[Pair]) -> Comparison:
    """Compare deterministic models: each scenario counts by itself."""
    regressions, improvements = list[str](), list[str]()
    for old, new in pairs:
        if old.status == "pass" and new.status != "pass":
            regressions.append(f"{new.id}: passed, and no longer does")
        elif old.status != "pass" and new.status == "pass":
            improvements.append(f"{new.id}: passes now")
    drops, gains = _large_changes(_changes(pairs, None, None))
    return Comparison(
        regressions=tuple(regressions),
        improvements=(*improvements, *gains),
        warnings=tuple(drops),
    )


def _compare_sampled(
    pairs: Sequence[Pair], current: Evaluation, baseline: Evaluation
) -> Comparison:
    """Compare sampled models: only changes beyond chance are regressions."""
    counts = []
    for old, new in pairs:
        if baseline.fingerprint.sampled:
            counts.append(old.epochs)
        if current.fingerprint.sampled:
            counts.append(new.epochs)
    epochs = min(counts)
    # With equal numbers of epochs the differences are symmetric if nothing changed, so that t keeps
    # its level.
    old_cut = epochs if baseline.fingerprint.sampled else None
    new_cut = epochs if current.fingerprint.sampled else None
    changes = _changes(pairs, old_cut, new_cut)
    warnings, gains = _large_changes(changes)
    failing = [new.id for old, new in pairs if all(old.passes) and not any(new.passes)]
    if failing:
        warnings.append(f"passed in every epoch, and in none now: {', '.join(failing)}")
    if epochs < LEAST_EPOCHS or len(pairs) < LEAST_SCENARIOS:
        warnings.append(
            f"{len(pairs)} scenarios, {epochs} epochs: a regression of a sampled model can be told"
            f" from {LEAST_SCENARIOS} scenarios with {LEAST_EPOCHS} epochs on"
        )
        return Comparison(improvements=tuple(gains), warnings=tuple(warnings))
    tested = {}
    for name, by_scenario in changes.items():
        if len(by_scenario) >= LEAST_SCENARIOS:
            tested[name] = paired_change(list(by_scenario.values()), 1 / epochs)
    rate = tested.pop(PASS_RATE)
    regressions = []
    if rate.high < 0:
        worst = ", ".join(sorted(changes[PASS_RATE], key=changes[PASS_RATE].__getitem__)[:3])
        regressions.append(
            f"{PASS_RATE} down {_points(-rate.mean)} (95 % bound {rate.high:+.3f}), most in {worst}"
        )
    # Six dimensions are six chances of a false alarm, so they share one level.
    for name in holm({name: change.p for name, change in tested.items()}, DIMENSION_LEVEL):
        regressions.append(f"{name} down {_points(-tested[name].mean)}")
    return Comparison(
        regressions=tuple(regressions),
        improvements=tuple(gains),
        warnings=tuple(warnings),
        bound=round(rate.high, 6),
        minimum_detectable_drop=round(rate.detectable, 6),
    )


PASS_RATE = "pass_rate"


def _changes(
    pairs: Sequence[Pair], old_cut: int | None, new_cut: int | None
) -> dict[str, dict[str, float]]:
    """Return pass rate and dimensions -> scenario -> change of its mean over the first epochs,
    up to each cut.
    """
    changes: dict[str, dict[str, float]] = {PASS_RATE: {}}
    for old, new in pairs:
        before, after = old.details.epochs[:old_cut], new.details.epochs[:new_cut]
        changes[PASS_RATE][new.id] = _passed(after) - _passed(before)
        for name in DIMENSIONS:
            if name in old.scores and name in new.scores:
                # The epochs up to the cut may lack a dimension that a later one has.
                old_score, new_score = _score(before, name), _score(after, name)
                if old_score is not None and new_score is not None:
                    changes.setdefault(name, {})[new.id] = new_score - old_score
    return changes


def _passed(epochs: Sequence[EpochRow]) -> float:
    """Return the share of epochs that passed."""
    return sum([epoch.status == "pass" for epoch in epochs]) / len(epochs)


def _score(epochs: Sequence[EpochRow], name: str) -> float | None:
    """Return the mean of a dimension, or None if no epoch has it."""
    values = [epoch.dimensions[name] for epoch in epochs if name in epoch.dimensions]
    return math.fsum(values) / len(values) if values else None


def _large_changes(changes: dict[str, dict[str, float]]) -> tuple[list[str], list[str]]:
    """Return messages on means that moved by more than 5 points: those down, those up."""
    down, up = list[str](), list[str]()
    for name, by_scenario in changes.items():
        mean = math.fsum(by_scenario.values()) / len(by_scenario)
        if mean < -DROP:
            down.append(f"{name} down {_points(-mean)}")
        elif mean > DROP:
            up.append(f"{name} up {_points(mean)}")
    return down, up


def _points(change: float) -> str:
    return f"{100 * change:.1f} points"
