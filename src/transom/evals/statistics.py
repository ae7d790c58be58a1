"""Significance of paired differences of a few scenarios: Student's t, without a library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

LEVEL, POWER = 0.95, 0.80
# Errors and means below this are zero but for the rounding of floats.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PairedChange:
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


def paired_change(differences: Sequence[float], resolution: float) -> PairedChange:
    """Compute the paired t statistics of at least two differences.

    Args:
        differences: one per scenario, averaged over its epochs.
        resolution: the smallest step of one difference; it bounds the detectable drop if all
            differences are equal.
    """
    count = len(differences)
    mean = math.fsum(differences) / count
    freedom = count - 1
    squares = math.fsum([(difference - mean) ** 2 for difference in differences])
    error = math.sqrt(squares / freedom) / math.sqrt(count)
    width = t_quantile(LEVEL, freedom)
    # If all differences are equal there is no error to divide by, and the mean is certain.
    if error > _ROUNDING:
        p = t_cdf(mean / error, freedom)
    elif mean < -_ROUNDING:
        p = 0.0
    else:
        p = 0.5 if mean < _ROUNDING else 1.0
    smallest_error = max(error, resolution / count)
    detectable = (width + t_quantile(POWER, freedom)) * smallest_error
    return PairedChange(mean, mean - width * error, mean + width * error, p, detectable)


def holm(p_values: Mapping[str, float], level: float) -> list[str]:
    """Return the names of significant changes by Holm's method.

    A false alarm among all of them has a probability below `level`.
    """
    significant: list[str] = []
    for name, p in sorted(p_values.items(), key=lambda entry: entry[1]):
        if p * (len(p_values) - len(significant)) >= level:
            break
        significant.append(name)
    return significant


def t_cdf(t: float, freedom: int) -> float:
    """Return Student's distribution function for whole degrees of freedom.

    Source: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(t, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = total = math.cos(angle) if odd else 1.0
    for step in range(3 if odd else 2, freedom, 2):
        term *= square * (step - 1) / step
        total += term
    # The probability of a value between -t and t. For one degree of freedom the series is empty.
    inside = sine * total
    if odd:
        inside = 2 / math.pi * (angle + (inside if freedom > 1 else 0.0))
    return 0.5 + inside / 2


@lru_cache(maxsize=1024)
def t_quantile(level: float, freedom: int) -> float:
    """Return the quantile of Student's t for a probability from 0.5 to 0.9999."""
    low, high = 0.0, 10_000.0
    # By bisection: 80 halvings are finer than a float.
    for _ in range(80):
        middle = (low + high) / 2
        if t_cdf(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return high
