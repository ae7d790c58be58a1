"""Fit the points by which text that tries to steer a reader is told from honest text.

`python -m benchmarks.steering` measures the shipped points on the texts of the tests, and by
cross-validation; with `--fit` it writes new points into steering.yaml. Files named on the command
line (lists `attempts` and `honest`) are measured, too: texts that were written after the last fit
show what to expect of unseen ones.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import yaml

from transom.investigator.reading.steering import passages_of, steering_in_text

ROOT: Final = Path(__file__).parent.parent
SCALE: Final = ROOT / "src" / "transom" / "investigator" / "reading" / "steering.yaml"
TEXTS: Final = ROOT / "tests" / "investigator" / "data"
_RAREST: Final = 4
_RIDGE: Final = 2.0
_MOST_FALSE: Final = 0.02
_PARTS: Final = 5
Passages = list[set[str]]
Matrix = npt.NDArray[np.float64]


def main() -> None:
    """Measure, and fit if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="write new points")
    parser.add_argument("files", nargs="*", type=Path, help="other texts to measure")
    options = parser.parse_args()
    shipped = sorted(TEXTS.glob("steering*.yaml"))
    if options.fit:
        _fit(shipped)
        return
    for path in [*shipped, *options.files]:
        texts = yaml.safe_load(path.read_text("utf-8"))
        reported = sum(map(_is_reported, texts["attempts"]))
        false = sum(map(_is_reported, texts["honest"]))
        print(
            f"{path.name}: {reported} of {len(texts['attempts'])} attempts reported, "
            f"{false} of {len(texts['honest'])} honest texts"
        )


def _is_reported(text: str) -> bool:
    return any(steering_in_text(text, "line:1"))


def _fit(paths: list[Path]) -> None:
    attempts: list[Passages] = []
    honest: list[Passages] = []
    for path in paths:
        texts = yaml.safe_load(path.read_text("utf-8"))
        attempts += [_passages(text) for text in texts["attempts"]]
        honest += [_passages(text) for text in texts["honest"]]
    # The bound is taken where texts that the points were not fitted to are seldom false alarms.
    random.Random(3).shuffle(attempts)
    random.Random(3).shuffle(honest)
    unseen_attempts: list[float] = []
    unseen_honest: list[float] = []
    for part in range(_PARTS):
        points, base = _points(_without(attempts, part), _without(honest, part))
        unseen_attempts += [_score(text, points, base) for text in attempts[part::_PARTS]]
        unseen_honest += [_score(text, points, base) for text in honest[part::_PARTS]]
    bound = sorted(unseen_honest)[-int(_MOST_FALSE * len(unseen_honest)) - 1]
    reported = sum(score > bound for score in unseen_attempts)
    print(
        f"cross-validation: {reported} of {len(attempts)} reported, "
        f"{_MOST_FALSE:.1%} of {len(honest)} honest texts"
    )
    points, base = _points(attempts, honest)
    kept = {
        name: round(float(value), 1) for name, value in sorted(points.items()) if abs(value) >= 0.05
    }
    head, _, _ = SCALE.read_text("utf-8").partition("bound: ")
    lines = "".join(f"  {name}: {value}\n" for name, value in kept.items())
    SCALE.write_text(f"{head}bound: {bound - base:.1f}\npoints:\n{lines}", "utf-8")


def _without(texts: list[Passages], part: int) -> list[Passages]:
    return [text for number, text in enumerate(texts) if number % _PARTS != part]


def _passages(text: str) -> Passages:
    return [features for _, features in passages_of(text)] or [set()]


def _score(text: Passages, points: dict[str, float], base: float) -> float:
    return max(base + sum(points.get(name, 0.0) for name in passage) for passage in text)


def _points(attempts: list[Passages], honest: list[Passages]) -> tuple[dict[str, float], float]:
    """Return the points of each feature by a logistic regression, and its constant.

    A text stands for its most suspicious passage; which one that is follows from the points, so
    they are fitted in rounds, first to the passage with most features.
    """
    texts = attempts + honest
    target = np.array([1.0] * len(attempts) + [0.0] * len(honest))
    counts = Counter(name for text in texts for name in set().union(*text))
    names = sorted(name for name, count in counts.items() if count >= _RAREST)
    place = {name: number for number, name in enumerate(names)}
    points: dict[str, float] = {}
    base = 0.0
    for _ in range(4):
        matrix = np.zeros((len(texts), len(names) + 1))
        matrix[:, -1] = 1.0
        for row, text in enumerate(texts):
            passage = max(
                text, key=lambda features: (_score([features], points, base), len(features))
            )
            for name in passage:
                if name in place:
                    matrix[row, place[name]] = 1.0
        weights = _regression(matrix, target)
        points, base = dict(zip(names, weights[:-1], strict=True)), float(weights[-1])
    return points, base


def _regression(matrix: Matrix, target: Matrix) -> Matrix:
    """Return the weights of a ridge logistic regression, by Newton's method."""
    weights = np.zeros(matrix.shape[1])
    ridge = np.full(matrix.shape[1], _RIDGE)
    ridge[-1] = 1e-6
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        slope = matrix.T @ (chance - target) + ridge * weights
        curve = (matrix.T * (chance * (1 - chance))) @ matrix + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


if __name__ == "__main__":
    main()
