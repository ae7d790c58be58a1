"""How often `eval compare` raises a false alarm and how often it finds a drop: simulated
comparisons, its own code.

    python -m benchmarks.evals [--comparisons 20000] [--seed 1]

Scenarios have pass chances drawn from a Beta distribution. Each scenario also has six scores a run,
one a dimension, which move with the run's luck. Without a change both sides are drawn alike. With
one, every scenario's chance falls by so many points, or to 0 (the printed drop is the mean that
remains). A row is one kind of suite.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transom.evals.compare import compare
from transom.evals.document import Details, EpochRow, Evaluation, Fingerprint, ScenarioRow, Summary
from transom.evals.scenario_models import Used
from transom.evals.scorers import DIMENSIONS

FALSE_ALARMS = (0.03, 0.065)
DROPS = (0.05, 0.10, 0.20)
FOUND_AT_20 = 0.80

_SAMPLED = Fingerprint(transom="0", model="vendor:model", prompts="0")
_SUMMARY = Summary(
    pass_rate=0, total_scenarios=0, passed=0, failed=0, errors=0, pass_k={}, avg_scores={}
)
_EPOCHS = {passed: EpochRow(status="pass" if passed else "fail") for passed in (True, False)}


@dataclass(frozen=True)
class Kind:
    """A kind of suite: its size, and the Beta distribution of its scenarios' chances to pass."""

    scenarios: int
    epochs: int
    a: float
    b: float
    scored: bool = False

    def __str__(self) -> str:
        mean = self.a / (self.a + self.b)
        scored = ", with scores" if self.scored else ""
        return f"{self.scenarios} scenarios x {self.epochs} epochs, pass rate {mean:.2f}{scored}"


KINDS = (
    Kind(15, 5, 8.5, 1.5),
    Kind(15, 5, 8, 2),
    Kind(15, 5, 17, 3, scored=True),
    Kind(15, 10, 8.5, 1.5),
    Kind(30, 5, 8.5, 1.5),
)


def evaluation(passes: NDArray[np.bool_], scores: NDArray[np.float64] | None) -> Evaluation:
    """An evaluation with these passes and scores: scenario x epoch (x dimension)."""
    rows = []
    for number, one in enumerate(passes):
        if scores is None:
            epochs, means = tuple(_EPOCHS[bool(passed)] for passed in one), {}
        else:
            tables = [
                dict(zip(DIMENSIONS, map(float, values), strict=True)) for values in scores[number]
            ]
            pairs = zip(one, tables, strict=True)
            epochs = tuple(
                EpochRow.model_construct(status="pass" if passed else "fail", dimensions=table)
                for passed, table in pairs
            )
            means = tables[0]
        details = Details.model_construct(epochs=epochs)
        rows.append(
            ScenarioRow.model_construct(
                id=f"s{number}", status="pass", scores=means, epochs=len(one), details=details
            )
        )
    return Evaluation.model_construct(
        suite="simulated",
        summary=_SUMMARY,
        scenarios=tuple(rows),
        fingerprint=_SAMPLED,
        usage=Used(),
        run_id="",
    )


def comparisons(
    kind: Kind, drop: float, count: int, seed: int
) -> Iterator[tuple[Evaluation, Evaluation]]:
    """So many pairs of evaluations, new and old."""
    rng = np.random.default_rng(seed)
    shape = (kind.scenarios, kind.epochs)
    for _ in range(count):
        chance = rng.beta(kind.a, kind.b, kind.scenarios)[:, None]
        sides = []
        for lower in (drop, 0.0):
            passes = rng.random(shape) < np.maximum(chance - lower, 0.0)
            scores = None
            if kind.scored:
                luck = rng.normal(0.0, 0.1, (*shape, 1)) + rng.normal(
                    0.0, 0.1, (*shape, len(DIMENSIONS))
                )
                scores = np.clip(chance[..., None] + luck - lower, 0.0, 1.0)
            sides.append(evaluation(passes, scores))
        yield sides[0], sides[1]


def rate(kind: Kind, drop: float, count: int, seed: int) -> tuple[float, float]:
    """The share of comparisons that are called a regression, and the mean detectable drop that
    they print.
    """
    made = [compare(new, old, "baseline") for new, old in comparisons(kind, drop, count, seed)]
    detectable = [one.minimum_detectable_drop or 0.0 for one in made]
    return sum(bool(one.regressions) for one in made) / count, sum(detectable) / count


def main(arguments: list[str] | None = None) -> int:
    """Print a row a kind of suite; exit 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="benchmarks.evals")
    parser.add_argument("--comparisons", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    missed = False
    for kind in KINDS:
        alarms, detectable = rate(kind, 0.0, given.comparisons, given.seed)
        found = [
            rate(kind, drop, max(1, given.comparisons // 10), given.seed + 1)[0] for drop in DROPS
        ]
        bad = not FALSE_ALARMS[0] <= alarms <= FALSE_ALARMS[1] or found[-1] < FOUND_AT_20
        missed |= bad
        shown = ", ".join(
            f"{100 * drop:.0f} points {share:.0%}" for drop, share in zip(DROPS, found, strict=True)
        )
        line = (
            f"{kind}: false alarms {alarms:.2%}; found: {shown}; detectable drop {detectable:.3f}"
        )
        sys.stdout.write(f"{line}{'  MISSED' if bad else ''}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
