"""The guide of a study: it applies the insights of earlier studies and leaves new ones.

Before each solve, requirements and rules reject designs. The first designs are good ones of related
studies, transferred by their dimensionless features. At the end new rules, designs and numerical
margins go to the advice.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from transom.studies.advice import DESIGN, NUMERICS, RULE, Advice, StudyInsight
from transom.studies.control import learnable
from transom.studies.failure_rules import Features, SolveRow
from transom.studies.study import Number, Study, nearby_design, random_design
from transom.studies.taxonomy import Taxonomy, load_taxonomy
from transom.studies.trials import StudyTrial, ranked
from transom.studies.verify import Verification

_HANDED_ON = 2
_UNRELATED = 1  # designs of other studies that are tried if no feature says how they carry over
_SAME = 1.005  # smaller changes by a finer mesh are ignored
_SEARCHED, _REFINED = 300, 200  # candidates for a transferred design


@dataclass(frozen=True)
class Rejection:
    """A rejected design: the reason, and the ids of the rules; none for a requirement."""

    reason: str
    rules: tuple[str, ...] = ()
    failure: str = "requirement"


@dataclass
class StudyGuide:
    """The knowledge of a scope that the study began with, as the playbook has it today."""

    study: Study
    advice: Advice
    taxonomy: Taxonomy = field(default_factory=load_taxonomy)
    features: Features = field(init=False)
    rules: list[StudyInsight] = field(init=False)
    insights: list[StudyInsight] = field(init=False)
    acting_at_start: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.features = Features.of(self.study)
        self._version = (-1, -1)
        self.insights = self.advice.insights(self.study.scope)
        self.refresh()
        self.acting_at_start = frozenset(item.id for item in self.insights if item.acts)

    def refresh(self) -> None:
        """Take over what the playbook says of the insights today.

        A rule that a person retires, that outcomes refute, or whose trials are forgotten, ends at
        once. Insights that came
        since the start wait for the next study.
        """
        # Each design asks for this, so nothing is read if nothing was said or forgotten.
        version = self.advice.version
        if version == self._version:
            return
        self._version = version
        # The study file is the nearest word of a person: it overrides the playbook's marks.
        marks = {
            **dict.fromkeys(self.study.learning.pin, "pin"),
            **dict.fromkeys(self.study.learning.veto, "veto"),
        }
        started_with = {insight.id for insight in self.insights}
        self.insights = []
        # Insights of a study that runs at the same time would make this one depend on chance.
        for insight in self.advice.insights(self.study.scope):
            if insight.id in started_with:
                mark = marks.get(insight.id, insight.mark)
                self.insights.append(replace(insight, mark=mark))
        rows = self.advice.rows(self.study.scope)
        rules = []
        for insight in self._acting(RULE):
            if insight.mark == "pin" or insight.rule.stands(rows):
                rules.append(insight)
        self.rules = rules if self.study.learning.rules else []

    def _acting(self, kind: str) -> list[StudyInsight]:
        acting = []
        for insight in self.insights:
            if insight.kind == kind and insight.acts:
                acting.append(insight)
        return acting

    @property
    def margin(self) -> dict[str, float]:
        """Output -> factor between finer and coarse settings, if that makes designs worse."""
        return next((dict(insight.data["factors"]) for insight in self._acting(NUMERICS)), {})

    def judge(self, values: Mapping[str, Number]) -> Rejection | None:
        """Reject a design before it is solved, or return None."""
        if unmet := self.study.unmet(values):
            return Rejection(f"it does not meet the requirement {unmet}")
        features = self.features(values)
        matching = []
        for insight in self.rules:
            if insight.rule.matches(features):
                matching.append(insight)
        return (
            Rejection(
                matching[0].content,
                tuple(insight.id for insight in matching),
                matching[0].rule.failure,
            )
            if matching
            else None
        )

    def in_words(self, sentence: str) -> str:
        """Return a rule's sentence with the titles of variables and constants."""
        described = {**self.study.variables, **self.study.constants}
        titles = {}
        for name, item in described.items():
            if title := getattr(item, "title", ""):
                titles[name] = title
        return re.sub(r"\b\w+\b", lambda match: titles.get(match[0], match[0]), sentence)

    def score(self, trial: StudyTrial) -> None:
        """Count the outcome of a design that rules had rejected, or that came from another
        study.

        A failure that the machine may have caused counts at the end, if it does.
        """
        if trial.kind == "failed" and self.taxonomy.leaves_cause_open(trial.failure):
            return
        self._score(trial)

    def _score(self, trial: StudyTrial) -> None:
        origin: dict[str, Any] = {"study": self.study.study, "trial": trial.number}
        # Being tried all the same is a test of the rule: a failure confirms it.
        for rule in trial.audit:
            self.advice.outcome(rule, helpful=trial.kind == "failed", **origin)
        if trial.source in {insight.id for insight in self.insights}:
            self.advice.outcome(trial.source, helpful=trial.feasible, **origin)

    def take_back(self, numbers: Sequence[int]) -> None:
        """Take back the outcomes of trials of this study."""
        self.advice.withdraw(self.study.study, numbers)

    def designs(self) -> list[tuple[str, dict[str, Number]]]:
        """Return the first designs, and the insights that they come from."""
        good_insights = sorted(
            self._acting(DESIGN), key=lambda item: (item.harmful - item.helpful, item.id)
        )
        pick = random.Random(len(good_insights))
        designs: list[tuple[str, dict[str, Number]]] = []
        # Without a ratio, designs of another size are guesses: one of them is enough.
        most = self.study.learning.warm_start
        if not self.features.carry_over:
            most = min(most, _UNRELATED)
        for insight in good_insights:
            if len(designs) == most:
                break
            design = self._carried_over(insight.data["features"], insight.data["params"], pick)
            if design and self.judge(self.study.values(design)) is None:
                designs.append((insight.id, design))
        return designs

    def _carried_over(
        self, target: Mapping[str, float], params: Mapping[str, Number], pick: random.Random
    ) -> dict[str, Number] | None:
        """Return the design whose features are nearest to those of another study's design."""
        chosen = {}
        for name, variable in self.study.variables.items():
            if params.get(name) in variable.choices:
                chosen[name] = params[name]

        def distance(design: Mapping[str, Number]) -> float:
            values = self.study.values(design)
            if self.study.unmet(values):
                return math.inf
            # Among designs with equal features, prefer the one nearest in size.
            size = sum(_apart(values[name], params[name]) for name in design.keys() & params.keys())
            features = self.features(values)
            shared = features.keys() & target.keys()
            return (
                sum(_apart(features[name], target[name]) for name in shared) + 1e-3 * size
                if shared
                else math.inf
            )

        # A coarse search over the whole space, then smaller and smaller steps.
        best = min(
            (random_design(self.study, pick) | chosen for _ in range(_SEARCHED)), key=distance
        )
        for step in range(_REFINED):
            spread = 0.2 * (1 - step / _REFINED) + 0.002
            best = min(best, nearby_design(self.study, best, spread, pick) | chosen, key=distance)
        return best if math.isfinite(distance(best)) else None

    def learn(self, trials: Sequence[StudyTrial], verification: Verification) -> list[str]:
        """Store this study's findings for the next; returns the ids of new insights."""
        self.keep_rows(trials)
        for trial in learnable(trials, self.taxonomy):
            if trial.kind == "failed" and trial.same_as is None:
                self._score(trial)
        ids = self.advice.learn(self.study.scope, self.study.study, self.in_words)
        # A design that only coarse settings made feasible is no example for others.
        good = ranked(self.study, trials)
        if verification.asked:
            verified = {item.number for item in verification.held}
            good = [trial for trial in good if trial.number in verified]
        ids += [self._keep(*self._design(trial)) for trial in good[:_HANDED_ON]]
        self._learn_margin(verification.factors())
        return sorted(set(ids) - {item.id for item in self.insights})

    def keep_rows(self, trials: Sequence[StudyTrial]) -> None:
        """Store what the solves say of their designs, in place of what was stored before."""
        rows = []
        for trial in learnable(trials, self.taxonomy):
            if _counts(trial):
                rows.append(SolveRow(self.features(self.study.values(trial.params)), trial.failure))
        if not any(row.failure is None for row in rows):  # the set-up fails, not the designs
            rows = []
        self.advice.keep(self.study.scope, self.study.study, rows)

    def _keep(self, kind: str, content: str, data: Mapping[str, object]) -> str:
        return self.advice.add(
            StudyInsight(self.study.scope, kind, content, data), self.study.study
        )

    def _design(self, trial: StudyTrial) -> tuple[str, str, dict[str, object]]:
        names = ", ".join(f"{name} = {_short(value)}" for name, value in trial.params.items())
        reached_values = zip(self.study.objectives, trial.values, strict=True)
        reached = ", ".join(f"{objective.name} {value:.4g}" for objective, value in reached_values)
        features = self.features(self.study.values(trial.params))
        key = design_key(self.study, trial.number)
        data = {
            "features": features,
            "params": dict(trial.params),
            "values": list(trial.values),
            "key": key,
        }
        return DESIGN, f"{self.study.study}: {names} is feasible with {reached}", data

    def _learn_margin(self, ratios: Mapping[str, Sequence[float]]) -> None:
        """Store the effect of finer settings on outputs: the upper end of the observed factors."""
        factors: dict[str, float] = {}
        for name, values in ratios.items():
            # The upper quartile: one odd design must not make all later ones needlessly heavy.
            if max(values) > _SAME:
                upper = max(1.0, sorted(values)[round(0.75 * (len(values) - 1))])
                factors[name] = round((upper + self.margin.get(name, upper)) / 2, 4)
        if factors:
            changes = ", ".join(f"{name} {factor:.2f} times" for name, factor in factors.items())
            content = f"on a finer mesh: {changes} what the study's settings give"
            self._keep(NUMERICS, content, {"key": NUMERICS, "factors": factors})


def design_key(study: Study, number: int) -> str:
    """Return the key of the design that a trial hands on to other studies."""
    return f"{study.study}/{number}"


def _counts(trial: StudyTrial) -> bool:
    """Whether the outcome of a solve depends on the design."""
    says_something = trial.kind == "solved" or (
        trial.kind == "failed" and trial.failure not in ("timeout", "output_flood")
    )
    return says_something and trial.same_as is None


def _apart(value: Number, other: Number) -> float:
    """Square of the logarithm of a ratio; 0 if there is no ratio."""
    numbers = (
        isinstance(value, int | float) and isinstance(other, int | float) and value > 0 < other
    )
    return math.log(float(value) / float(other)) ** 2 if numbers else 0.0


def _short(value: Number) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
