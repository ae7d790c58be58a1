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
        what = f"an evaluation of {current.suite} cannot be compared with one of {baseline.suite}"
        raise InputError(what, where=name, hint="name two evaluations of the same suite")
    pairs, apart = _pairs(current, baseline)
    if not pairs:
        return Comparison(
            baseline=name, warnings=(*apart, "nothing can be compared; save a new baseline")
        )
    sampled = current.fingerprint.sampled or baseline.fingerprint.sampled
    result = _sampled(pairs, current, baseline) if sampled else _named(pairs)
    return result.model_copy(update={"baseline": name, "warnings": (*result.warnings, *apart)})


def _pairs(current: Evaluation, baseline: Evaluation) -> tuple[list[Pair], list[str]]:
    """Return scenarios with one definition in both, as (old, new), and messages on those not
    compared.
    """
    old = {row.id: row for row in baseline.scenarios}
    new = {row.id: row for row in current.scenarios}
    common = [one for one in new if one in old]
    changed = [one for one in common if new[one].details.definition != old[one].details.definition]
    pairs = [(old[one], new[one]) for one in common if one not in changed]
    groups = (
        ("changed since the baseline, not compared", changed),
        ("not in the baseline", [one for one in new if one not in old]),
        ("only in the baseline", [one for one in old if one not in new]),
    )
    return pairs, [f"{what}: {', '.join(names)}" for what, names in groups if names]


def _named(pairs: Sequence[Pair]) -> Comparison:
    """Compare deterministic models: each scenario counts by itself."""
    fell = [new.id for old, new in pairs if old.status == "pass" and new.status != "pass"]
    rose = [new.id for old, new in pairs if old.status != "pass" and new.status == "pass"]
    drops, gains = _moved(_changes(pairs, None, None))
    return Comparison(
        regressions=tuple(f"{one}: passed, and no longer does" for one in fell),
        improvements=(*(f"{one}: passes now" for one in rose), *gains),
        warnings=tuple(drops),
    )


def _sampled(pairs: Sequence[Pair], current: Evaluation, baseline: Evaluation) -> Comparison:
    """Compare sampled models: only changes beyond chance are regressions."""
    old_epochs = min(old.epochs for old, _ in pairs) if baseline.fingerprint.sampled else None
    new_epochs = min(new.epochs for _, new in pairs) if current.fingerprint.sampled else None
    epochs = min(one for one in (old_epochs, new_epochs) if one is not None)
    # With equal numbers of epochs the differences are symmetric if nothing changed, so that t keeps
    # its level.
    cut = (epochs if old_epochs else None, epochs if new_epochs else None)
    changes = _changes(pairs, *cut)
    drops, gains = _moved(changes)
    gone = [new.id for old, new in pairs if all(old.passes) and not any(new.passes)]
    warnings = [
        *drops,
        *([f"passed in every epoch, and in none now: {', '.join(gone)}"] if gone else []),
    ]
    if epochs < LEAST_EPOCHS or len(pairs) < LEAST_SCENARIOS:
        too_few = (
            f"{len(pairs)} scenarios, {epochs} epochs: a regression of a sampled model can be told"
            " from "
        )
        warnings.append(f"{too_few}{LEAST_SCENARIOS} scenarios with {LEAST_EPOCHS} epochs on")
        return Comparison(improvements=tuple(gains), warnings=tuple(warnings))
    tested = {
        name: paired_change(list(found.values()), 1 / epochs)
        for name, found in changes.items()
        if len(found) >= LEAST_SCENARIOS
    }
    rate = tested.pop(PASS_RATE)
    regressions = []
    if rate.high < 0:
        worst = ", ".join(sorted(changes[PASS_RATE], key=changes[PASS_RATE].__getitem__)[:3])
        regressions.append(
            f"{PASS_RATE} down {_points(-rate.mean)} (95 % bound {rate.high:+.3f}), most in {worst}"
        )
    for name in holm({name: one.p for name, one in tested.items()}, DIMENSION_LEVEL):
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
                had, has = _score(before, name), _score(after, name)
                if had is not None and has is not None:
                    changes.setdefault(name, {})[new.id] = has - had
    return changes


def _passed(epochs: Sequence[EpochRow]) -> float:
    return sum(one.status == "pass" for one in epochs) / len(epochs)


def _score(epochs: Sequence[EpochRow], name: str) -> float | None:
    found = [one.dimensions[name] for one in epochs if name in one.dimensions]
    return math.fsum(found) / len(found) if found else None


def _moved(changes: dict[str, dict[str, float]]) -> tuple[list[str], list[str]]:
    """Return messages on means that moved by more than 5 points: those down, those up."""
    means = {name: math.fsum(found.values()) / len(found) for name, found in changes.items()}
    down = [f"{name} down {_points(-mean)}" for name, mean in means.items() if mean < -DROP]
    return down, [f"{name} up {_points(mean)}" for name, mean in means.items() if mean > DROP]


def _points(change: float) -> str:
    return f"{100 * change:.1f} points"
