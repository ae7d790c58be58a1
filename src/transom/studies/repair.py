"""Repairs designs that don't meet the requirements of a study.

A requirement such as `abs(a + b - 11) < 0.01` holds for so few designs that a sampler would draw
hundreds of them for each that can be solved. The nearest design that meets it is searched instead.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from transom.studies.expression import Formula, shortfalls
from transom.studies.study import Number, Study, Variable, nearby_design

_TRIES = 800
_WIDEST, _NARROWEST = 0.3, 1e-6  # spread of the search, as a share of each variable's range
_WIDER, _SMALLER = 1.6, 0.85  # factors on the spread after a better and after a worse design


def repaired(
    study: Study, design: Mapping[str, Number], pick: random.Random
) -> dict[str, Number] | None:
    """Return a design near another one that meets all requirements, or None if none is found."""
    margins: list[Formula] = []
    for text in study.require:
        margins.extend(shortfalls(text))
    best, missing = dict(design), _missing(study, margins, design)
    spread = 0.05
    for _ in range(_TRIES):
        if study.unmet(study.values(best)) is None:
            return best
        candidate = _moved(study, best, spread, pick)
        short = _missing(study, margins, candidate)
        if short == missing:  # whole numbers may be level: move on, and search as wide as before
            best = candidate
        elif short < missing:
            best, missing = candidate, short
            spread = min(_WIDEST, spread * _WIDER)
        else:
            spread = max(_NARROWEST, spread * _SMALLER)
            # The steps became too small to get anywhere: start the search again from there.
            if spread <= _NARROWEST:
                spread = _WIDEST
    return None


def _moved(
    study: Study, design: Mapping[str, Number], spread: float, pick: random.Random
) -> dict[str, Number]:
    """Return a design with one variable changed, or all of them."""
    candidate = nearby_design(study, design, spread, pick)
    if pick.random() < 0.5:
        name = pick.choice(sorted(candidate))
        return {
            **design,
            name: _next_value(study.variables[name], design[name], candidate[name], pick),
        }
    return candidate


def _next_value(variable: Variable, value: Number, drawn: Number, pick: random.Random) -> Number:
    """Return a value a few steps away if a variable has steps, for these are drawn far away."""
    step = variable.step or (1.0 if variable.integer else None)
    if variable.choices or step is None:
        return drawn
    low, high = variable.bounds
    moved = float(value) + step * pick.choice((-1, 1)) * pick.choice((1, 2, 4, 8, 16))
    moved = min(high, max(low, moved))
    return int(moved) if variable.integer else moved


def _missing(study: Study, margins: list[Formula], design: Mapping[str, Number]) -> float:
    """Return by how much the requirements are missed in sum; infinite if one is undefined."""
    values = study.values(design)
    total = 0.0
    for margin in margins:
        short = margin(values)
        if math.isnan(short):
            return math.inf
        total += max(0.0, short)
    return total
