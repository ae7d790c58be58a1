"""Significance of paired differences of a few scenarios: Student's t, without a library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

LEVEL, POWER = 0.95, 0.80


@dataclass(frozen=True)
class Change:
    """The mean of paired differences (new minus old), and its certainty.

    Attributes:
        mean: mean of the differences.
        low, high: one-sided lower and upper 95 % bounds; `high` < 0 is a drop beyond chance.
        p: probability of a mean this low without a change.
        detectable: the drop that is detected with a probability of 80 %.
    """

    mean: float
    low: float
    high: float
    p: float
    detectable: float


def paired_change(differences: Sequence[float], resolution: float) -> Change:
    """Compute the paired t statistics of at least two differences.

    Args:
        differences: one per scenario, averaged over its epochs.
        resolution: the smallest step of one difference; it bounds the detectable drop if all
            differences are equal.
    """
    count = len(differences)
    mean = math.fsum(differences) / count
    deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in differences) / (count - 1))
    error, freedom = deviation / math.sqrt(count), count - 1
    width = t_quantile(LEVEL, freedom)
    p = (
        t_cdf(mean / error, freedom)
        if error > 1e-12
        else 0.0
        if mean < -1e-12
        else 0.5
        if mean < 1e-12
        else 1.0
    )
    least = max(error, resolution / count)
    return Change(
        mean,
        mean - width * error,
        mean + width * error,
        p,
        (width + t_quantile(POWER, freedom)) * least,
    )


def holm(p_values: Mapping[str, float], level: float) -> list[str]:
    """Return the significant names by Holm's method: a false alarm among all has a probability
    below `level`.
    """
    found: list[str] = []
    for name, p in sorted(p_values.items(), key=lambda one: one[1]):
        if p * (len(p_values) - len(found)) >= level:
            break
        found.append(name)
    return found


def t_cdf(t: float, freedom: int) -> float:
    """Return Student's distribution function for whole degrees of freedom (Abramowitz and
    Stegun, 26.7.3-4).
    """
    angle = math.atan2(t, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = total = math.cos(angle) if odd else 1.0
    for step in range(3 if odd else 2, freedom, 2):
        term *= square * (step - 1) / step
        total += term
    inside = (
        sine * total if not odd else 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))
    )
    return 0.5 + inside / 2


@lru_cache(maxsize=1024)
def t_quantile(level: float, freedom: int) -> float:
    """Return the quantile of Student's t for a probability from 0.5 to 0.9999."""
    low, high = 0.0, 10_000.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < level else (low, middle)
    return high
