"""Rules on failing designs, learned from the solves of related studies, as sentences and as tests.

A rule is on ratios and on dimensionless features of a study, so that it also holds for parts of
another size. Rules are found by sequential covering: the next rule is the one that explains most
unexplained failures, among those with a sufficient precision (Wilson's lower bound on rows that are
not yet covered).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.studies.expression import Formula
from transom.studies.study import Constant, Number, Study

CERTAIN = 0.75
"""Least precision of a rule, with a confidence of 90 %."""
_Z = 1.2816
_COST = 4.0  # failures that a rule must explain for each success that it rejects
_FEWEST = 6  # failures that a rule explains, at least
_SEEDS = 12  # first conditions that are tried with a second one


IS = " is "
"""In the name of a feature that is 1 for one choice of a variable and 0 for the others."""


def choice_features(name: str, value: Any, choices: Iterable[Any]) -> dict[str, float]:
    """Return a feature for each choice of a variable: 1 if it is the value, else 0."""
    features = {}
    for choice in choices:
        features[f"{name}{IS}{choice}"] = float(choice == value)
    return features


def wilson(hits: Any, total: Any) -> Any:
    """Return the lower bound of a share of which `hits` of `total` (above 0) were seen; numbers
    or arrays.
    """
    share, square = hits / total, _Z * _Z
    spread = _Z * (share * (1 - share) / total + square / (4 * total * total)) ** 0.5
    return (share + square / (2 * total) - spread) / (1 + square / total)


@dataclass(frozen=True, order=True)
class FeatureCondition:
    """A feature at or beyond a threshold."""

    feature: str
    above: bool
    threshold: float

    def holds(self, features: Mapping[str, float]) -> bool:
        value = features.get(self.feature, math.nan)
        return value >= self.threshold if self.above else value <= self.threshold

    def __str__(self) -> str:
        if IS in self.feature:
            return self.feature if self.above else self.feature.replace(IS, f"{IS}not ", 1)
        return f"{self.feature} {'≥' if self.above else '≤'} {self.threshold:.3g}"


@dataclass(frozen=True)
class FailureRule:
    """A rule: a design that meets all conditions fails so, on `hits` of `total` rows."""

    conditions: tuple[FeatureCondition, ...]
    failure: str
    hits: int
    total: int

    def matches(self, features: Mapping[str, float]) -> bool:
        return all(condition.holds(features) for condition in self.conditions)

    @property
    def key(self) -> tuple[object, ...]:
        """Identity of a rule, without thresholds and counts."""
        return self.failure, tuple(
            sorted((condition.feature, condition.above) for condition in self.conditions)
        )

    def stands(self, rows: Sequence[SolveRow]) -> bool:
        """Whether all rows known today still confirm the rule."""
        covered = []
        for row in rows:
            if self.matches(row.features):
                covered.append(row.failure is not None)
        # A rule that is half refuted may go on for a while, or it would come and go with each row.
        return not covered or wilson(sum(covered), len(covered)) >= CERTAIN - 0.1

    @property
    def sentence(self) -> str:
        """For example: hole / width ≥ 0.48 → geometry error, 392 of 392."""
        conditions = " and ".join(map(str, self.conditions))
        return f"{conditions} → {self.failure.replace('_', ' ')}, {self.hits} of {self.total}"

    def to_data(self) -> dict[str, Any]:
        conditions = []
        for condition in self.conditions:
            conditions.append([condition.feature, condition.above, condition.threshold])
        return {
            "conditions": conditions,
            "failure": self.failure,
            "hits": self.hits,
            "total": self.total,
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> FailureRule:
        conditions = tuple(
            FeatureCondition(str(name), bool(above), float(threshold))
            for name, above, threshold in data["conditions"]
        )
        return FailureRule(conditions, data["failure"], data["hits"], data["total"])


@dataclass(frozen=True)
class Features:
    """Features of a study's designs: declared ones, ratios of numbers with the same unit, and
    choices.
    """

    formulas: Mapping[str, Formula] = field(default_factory=dict)
    choices: Mapping[str, tuple[Number, ...]] = field(default_factory=dict)

    @property
    def carry_over(self) -> bool:
        """Whether a feature relates numbers to each other, so that designs carry over."""
        return any(len(formula.names) > 1 for formula in self.formulas.values())

    @staticmethod
    def of(study: Study) -> Features:
        """Return all features of a study; a variable with a unit of its own is a feature itself."""
        formulas = {name: Formula.parse(text) for name, text in study.features.items()}
        units = {}
        for name, item in study.variables.items():
            if not item.choices:
                units[name] = item.unit
        units |= {
            name: item.unit
            for name, item in study.constants.items()
            if isinstance(item, Constant) and item.unit
        }
        for first, second in itertools.combinations(sorted(units), 2):
            # A ratio of two constants is the same for all designs.
            has_variable = bool({first, second} & study.variables.keys())
            if units[first] == units[second] and units[first] and has_variable:
                formulas[f"{first} / {second}"] = Formula.parse(f"{first} / {second}")
        for name in sorted(study.variables.keys() & units.keys()):
            if not any(name in formula.names for formula in formulas.values()):
                formulas[name] = Formula.parse(name)
        choices = {}
        for name, item in study.variables.items():
            if item.choices:
                choices[name] = item.choices
        return Features(formulas, choices)

    def __call__(self, values: Mapping[str, Number]) -> dict[str, float]:
        """Return feature -> value, for features that are defined here."""
        numbers = {name: formula(values) for name, formula in self.formulas.items()}
        features = {}
        for name, value in numbers.items():
            if math.isfinite(value):
                features[name] = value
        for name, choices in self.choices.items():
            if name in values:
                features |= choice_features(name, values[name], choices)
        return features


@dataclass(frozen=True)
class SolveRow:
    """One solve: its features, and the class of its failure or None."""

    features: Mapping[str, float]
    failure: str | None


def measured(
    conditions: tuple[FeatureCondition, ...], rows: Sequence[SolveRow]
) -> tuple[FailureRule | None, str]:
    """Return a rule with its counts in the rows, or None and the reason if they do not confirm
    it.
    """
    known_features = set().union(*(row.features for row in rows)) if rows else set()
    if unknown := next(
        (condition.feature for condition in conditions if condition.feature not in known_features),
        None,
    ):
        return None, f"unknown feature {unknown}"
    covered = []
    for row in rows:
        if all(condition.holds(row.features) for condition in conditions):
            covered.append(row)
    kinds = Counter(row.failure for row in covered if row.failure)
    hits, total = kinds.total(), len(covered)
    if hits < _FEWEST or wilson(hits, total) < CERTAIN:
        return None, f"{hits} of {total} solves failed"
    return FailureRule(conditions, kinds.most_common(1)[0][0], hits, total), ""


def learn(rows: Sequence[SolveRow], limit: int = 12) -> list[FailureRule]:
    """Find rules that explain the failures among rows, the best first."""
    import numpy as np  # noqa: PLC0415  slow

    # Studies of a scope may differ in their variables: rules use what all rows have.
    names = sorted(set.intersection(*(set(row.features) for row in rows))) if rows else []
    failed = np.array([row.failure is not None for row in rows])
    if not names or not failed.any():
        return []
    table = np.array([[row.features[name] for name in names] for row in rows], dtype=float)
    open_rows = np.ones(len(rows), dtype=bool)
    rules: list[FailureRule] = []
    # Each rule explains failures that the ones before it left open.
    while len(rules) < limit and (best := _best(table, failed, open_rows, names)):
        explained = best.covered & open_rows
        kinds = Counter(
            row.failure
            for row, inside in zip(rows, explained, strict=True)
            if inside and row.failure
        )
        hits, total = int((best.covered & failed).sum()), int(best.covered.sum())
        rules.append(FailureRule(best.conditions, str(kinds.most_common(1)[0][0]), hits, total))
        open_rows &= ~best.covered
    return rules


@dataclass(frozen=True)
class _Cut:
    """Conditions and their coverage of the rows that no rule explains yet."""

    conditions: tuple[FeatureCondition, ...]
    covered: Any
    hits: int
    total: int

    @property
    def score(self) -> float:
        # A second condition must be worth the longer sentence.
        return self.hits - _COST * (self.total - self.hits) - 2 * (len(self.conditions) - 1)


def _best(table: Any, failed: Any, open_rows: Any, names: list[str]) -> _Cut | None:
    """Return the rule of one or two conditions with the best score: explained failures against
    rejected successes.
    """
    everything = _Cut((), open_rows | True, 0, 0)
    candidates = _cuts(table, failed, open_rows, names, everything)
    base = float((open_rows & failed).sum()) / max(1, int(open_rows.sum()))
    # A first condition may be too weak by itself: take the most informative ones (information
    # gain).
    seeds = _cuts(table, failed, open_rows, names, everything, base)
    for seed in sorted(
        seeds, key=lambda cut: -cut.hits * math.log2(max(cut.hits / cut.total, base) / base)
    )[:_SEEDS]:
        candidates += _cuts(table, failed, open_rows, names, seed)
    best = max(candidates, key=lambda cut: cut.score, default=None)
    return best if best and best.score > 0 else None


def _cuts(
    table: Any, failed: Any, open_rows: Any, names: list[str], within: _Cut, base: float = 0.0
) -> list[_Cut]:
    """Return the best further condition for each feature and direction.

    Args:
        base: if above 0, the best one by information gain against this share of failures,
            regardless of precision; otherwise the one with the best score among those with
            sufficient precision.
    """
    import numpy as np  # noqa: PLC0415  slow

    inside = open_rows & within.covered
    used_features = {condition.feature for condition in within.conditions}
    cuts = []
    for column, name in enumerate(names):
        order = np.argsort(table[inside, column], kind="stable")
        values, bad = table[inside, column][order], failed[inside][order]
        ends = np.flatnonzero(np.diff(values)) + 1  # a cut is between two different values
        if name in used_features or not len(ends):
            continue
        below, all_bad = np.concatenate(([0], np.cumsum(bad)))[ends], int(bad.sum())
        for above in (True, False):
            hits = all_bad - below if above else below
            total = len(values) - ends if above else ends
            share = hits / total
            if base:
                worth = hits * np.log2(np.maximum(share, base) / base)
            else:
                worth = np.where(
                    wilson(hits, total) >= CERTAIN, hits - _COST * (total - hits), -np.inf
                )
            worth = np.where(hits >= _FEWEST, worth, -np.inf)
            cut = int(np.argmax(worth))
            if worth[cut] > 0:
                threshold = _between(float(values[ends[cut] - 1]), float(values[ends[cut]]))
                covered = within.covered & (
                    table[:, column] >= threshold if above else table[:, column] <= threshold
                )
                conditions = tuple(
                    sorted((*within.conditions, FeatureCondition(name, above, threshold)))
                )
                cuts.append(_Cut(conditions, covered, int(hits[cut]), int(total[cut])))
    return cuts


def _between(low: float, high: float) -> float:
    """Return a number between two, with as few digits as possible."""
    for digits in range(2, 17):
        middle = float(f"{(low + high) / 2:.{digits}g}")
        if low < middle < high:
            return middle
    return high
