"""From outcomes to insights: candidates are collected first, and added to the playbook on
request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from transom.learning.insight import Insight, InsightCategory, Source
from transom.learning.patterns import ErrorPatterns
from transom.learning.playbook import Playbook
from transom.llm.turns import Egress

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_QUOTED = 160  # characters of a quoted message, at most
_WELL, _BADLY = 0.8, 0.5  # shares of a study's trials that converged


@dataclass(frozen=True)
class OptimizationOutcome:
    """The outcome of one trial, or of other work, which has no trial number; messages are verbatim.

    `egress` is `local` if the messages must not reach a remote provider.
    """

    trial_number: int | None
    success: bool
    objective_value: float | None = None
    constraint_violations: Sequence[str] = ()
    solver_errors: Sequence[str] = ()
    design_variables: Mapping[str, float] = field(default_factory=dict)
    source: Source = field(default_factory=Source)
    egress: Egress = "any"

    @property
    def messages(self) -> list[str]:
        """All messages: solver errors, then constraint violations."""
        return [*self.solver_errors, *self.constraint_violations]


@dataclass(frozen=True)
class InsightCandidate:
    """A proposed insight, its evidence in words, and its confidence from 0 to 1."""

    category: InsightCategory
    content: str
    confidence: float
    tags: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)
    evidence: str = ""
    egress: Egress = "any"


class Reflector:
    """Analyses outcomes by rules; equal outcomes give equal candidates, which are `pending`
    until committed.
    """

    def __init__(self, playbook: Playbook, patterns: ErrorPatterns | None = None) -> None:
        self.playbook = playbook
        self.patterns = patterns or ErrorPatterns()
        self.pending: list[InsightCandidate] = []

    def analyze_trial(self, outcome: OptimizationOutcome) -> list[InsightCandidate]:
        """Return the candidates of one outcome, now pending: a mistake for each message of a
        failure.
        """
        if outcome.success:
            return []
        source = replace(outcome.source, trial=outcome.trial_number)
        tried = ", ".join(
            f"{name}={value:g}" for name, value in sorted(outcome.design_variables.items())
        )
        kinds = [(self.patterns.classify(message), message) for message in outcome.solver_errors]
        mistakes = [
            (f"{kind.insight}: {_quoted(message)}", 0.7, (kind.kind, *kind.tags))
            for kind, message in kinds
        ]
        violated = [
            f"A constraint was violated: {_quoted(message)}"
            for message in outcome.constraint_violations
        ]
        mistakes += [(content, 0.5, ("constraint",)) for content in violated]
        candidates = [
            InsightCandidate(
                InsightCategory.MISTAKE, content, sure, tags, source, tried, outcome.egress
            )
            for content, sure, tags in dict.fromkeys(mistakes)
        ]
        self.pending += candidates
        return candidates

    def analyze_study_completion(
        self,
        study_name: str,
        total_trials: int,
        best_value: float | None = None,
        convergence_rate: float = 0.0,
        method: str = "",
    ) -> list[InsightCandidate]:
        """Return the candidates of a whole study, on its method. `convergence_rate` is a share
        from 0 to 1.
        """
        source, how, part = (
            Source(study=study_name),
            method or "The method",
            f"{convergence_rate:.0%}",
        )
        evidence = (
            f"{total_trials}"
            f" trials{'' if best_value is None else f'; the best value was {best_value:g}'}"
        )
        if total_trials and convergence_rate >= _WELL:
            text = f"{how} suits studies like {study_name}: {part} of its trials converged"
            found = InsightCandidate(
                InsightCategory.STRATEGY, text, 0.8, ("study",), source, evidence
            )
        elif total_trials and convergence_rate < _BADLY:
            text = (
                f"{how} with these bounds failed in studies like {study_name}: only {part} of its"
                " trials converged"
            )
            found = InsightCandidate(
                InsightCategory.MISTAKE, text, 0.6, ("study", "bounds"), source, evidence
            )
        else:
            return []
        self.pending.append(found)
        return [found]

    def learn(
        self, outcome: OptimizationOutcome, cited: Iterable[str], attempt: int = 1
    ) -> list[str]:
        """Count an outcome for the cited insights, and analyse its errors; returns the ids that
        were counted.
        """
        self.analyze_trial(outcome)
        kinds = self.patterns.tags_of(outcome.solver_errors)
        return self.playbook.record(
            cited, outcome.success, outcome.source, attempt=attempt, kinds=kinds
        )

    def commit_insights(self, min_confidence: float = 0.0) -> int:
        """Add the pending candidates with at least that confidence, drop the rest; returns the
        number of new ones.
        """
        pending, self.pending = self.pending, []
        return sum(self._commit(one)[1] for one in pending if one.confidence >= min_confidence)

    def _commit(self, one: InsightCandidate) -> tuple[Insight, bool]:
        scope = f"domain/{self.playbook.view.domain}" if self.playbook.view.domain else "global"
        tags = one.tags or self.patterns.tags_in(one.content)
        return self.playbook.add(
            Insight(
                "",
                one.category,
                one.content,
                tags=tags,
                sources=(one.source,),
                scope=scope,
                egress=one.egress,
            )
        )


def _quoted(message: str) -> str:
    """Shorten a message to one line, and replace its numbers, which differ between trials."""
    lines = message.strip().splitlines() or ["no message"]
    plain = " ".join(_NUMBER.sub("N", lines[0]).split())
    return plain if len(plain) <= _QUOTED else f"{plain[:_QUOTED].rsplit(' ', 1)[0]} ..."
