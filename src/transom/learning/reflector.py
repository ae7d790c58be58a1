"""From outcomes to insights: candidates are collected, and added to the playbook on request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from transom.learning.insight import Insight, InsightCategory, InsightSource
from transom.learning.patterns import ErrorPatterns
from transom.learning.playbook import Playbook
from transom.llm.turns import Egress

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_MOST_QUOTED = 160  # characters of a message
# Shares of converged trials, from which a method suits a study, and below which it does not.
# Between them nothing is learned.
_GOOD_RATE = 0.8
_BAD_RATE = 0.5
# How sure the candidates of each kind are.
_BY_ERROR = 0.7
_BY_VIOLATION = 0.5
_BY_GOOD_STUDY = 0.8
_BY_BAD_STUDY = 0.6


@dataclass(frozen=True)
class OptimizationOutcome:
    """The outcome of one trial, or of other work.

    Attributes:
        trial_number: None for other work.
        success: whether the outcome was good.
        objective_value: value of the objective; None if there is none.
        constraint_violations, solver_errors: messages, word for word.
        design_variables: name -> value.
        source: run and stage.
        egress: `local` if the messages must not reach a remote provider.
    """

    trial_number: int | None
    success: bool
    objective_value: float | None = None
    constraint_violations: Sequence[str] = ()
    solver_errors: Sequence[str] = ()
    design_variables: Mapping[str, float] = field(default_factory=dict)
    source: InsightSource = field(default_factory=InsightSource)
    egress: Egress = "any"

    @property
    def messages(self) -> list[str]:
        """Return all messages: solver errors, then constraint violations."""
        return [*self.solver_errors, *self.constraint_violations]


@dataclass(frozen=True)
class InsightCandidate:
    """A proposed insight, its evidence in words, and its confidence from 0 to 1."""

    category: InsightCategory
    content: str
    confidence: float
    tags: tuple[str, ...] = ()
    source: InsightSource = field(default_factory=InsightSource)
    evidence: str = ""
    egress: Egress = "any"


class Reflector:
    """Finds insights in outcomes by rules, and adds them to a playbook.

    Equal outcomes give equal candidates.

    Attributes:
        playbook: the playbook that gets the candidates.
        patterns: the known kinds of errors.
        pending: candidates that are not in the playbook yet.
    """

    def __init__(self, playbook: Playbook, patterns: ErrorPatterns | None = None) -> None:
        self.playbook = playbook
        self.patterns = patterns or ErrorPatterns()
        self.pending: list[InsightCandidate] = []

    def analyze_trial(self, outcome: OptimizationOutcome) -> list[InsightCandidate]:
        """Add a mistake for each message of a failure to the pending candidates; return them.

        Errors come before violations, and a repeated message counts once.
        """
        if outcome.success:
            return []
        source = replace(outcome.source, trial=outcome.trial_number)
        variables = sorted(outcome.design_variables.items())
        evidence = ", ".join(f"{name}={value:g}" for name, value in variables)
        mistakes: list[tuple[str, float, tuple[str, ...]]] = []
        for message in outcome.solver_errors:
            pattern = self.patterns.classify(message)
            content = f"{pattern.insight}: {_quote(message)}"
            mistakes.append((content, _BY_ERROR, (pattern.kind, *pattern.tags)))
        for message in outcome.constraint_violations:
            content = f"A constraint was violated: {_quote(message)}"
            mistakes.append((content, _BY_VIOLATION, ("constraint",)))
        candidates = []
        # A solver often repeats a message.
        for content, confidence, tags in dict.fromkeys(mistakes):
            candidate = InsightCandidate(
                InsightCategory.MISTAKE,
                content,
                confidence,
                tags,
                source,
                evidence,
                outcome.egress,
            )
            candidates.append(candidate)
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
        """Add a candidate about the method of a whole study, and return it.

        Nothing is learned of a study in which between 50 % and 80 % of the trials converged.

        Args:
            study_name: name of the study.
            total_trials: number of its trials.
            best_value: the best objective; None if there is none.
            convergence_rate: share of the trials that converged, 0 to 1.
            method: the optimisation method, in words.
        """
        source = InsightSource(study=study_name)
        method = method or "The method"
        percentage = f"{convergence_rate:.0%}"
        evidence = f"{total_trials} trials"
        if best_value is not None:
            evidence += f"; the best value was {best_value:g}"
        if total_trials and convergence_rate >= _GOOD_RATE:
            text = f"{method} suits studies like {study_name}: {percentage} of its trials converged"
            candidate = InsightCandidate(
                InsightCategory.STRATEGY, text, _BY_GOOD_STUDY, ("study",), source, evidence
            )
        elif total_trials and convergence_rate < _BAD_RATE:
            text = (
                f"{method} with these bounds failed in studies like {study_name}: only"
                f" {percentage} of its trials converged"
            )
            candidate = InsightCandidate(
                InsightCategory.MISTAKE, text, _BY_BAD_STUDY, ("study", "bounds"), source, evidence
            )
        else:
            return []
        self.pending.append(candidate)
        return [candidate]

    def learn(
        self, outcome: OptimizationOutcome, cited: Iterable[str], attempt: int = 1
    ) -> list[str]:
        """Count an outcome for the cited insights, and analyse its errors.

        Returns:
            The ids of the insights for which it counted.
        """
        self.analyze_trial(outcome)
        kinds = self.patterns.tags_of(outcome.solver_errors)
        return self.playbook.record(
            cited, outcome.success, outcome.source, attempt=attempt, kinds=kinds
        )

    def commit_insights(self, min_confidence: float = 0.0) -> int:
        """Add the pending candidates with at least this confidence, and drop the others.

        Returns:
            The number of insights that are new.
        """
        pending, self.pending = self.pending, []
        new_insights = 0
        for candidate in pending:
            if candidate.confidence >= min_confidence:
                _, is_new = self._commit(candidate)
                new_insights += is_new
        return new_insights

    def _commit(self, candidate: InsightCandidate) -> tuple[Insight, bool]:
        # What fails in one domain may be right in another.
        scope = f"domain/{self.playbook.view.domain}" if self.playbook.view.domain else "global"
        tags = candidate.tags or self.patterns.tags_in(candidate.content)
        return self.playbook.add(
            Insight(
                "",
                candidate.category,
                candidate.content,
                tags=tags,
                sources=(candidate.source,),
                scope=scope,
                egress=candidate.egress,
            )
        )


def _quote(message: str) -> str:
    """Return the first line of a message, shortened, without its numbers, which differ between
    trials.
    """
    # The other lines are often a traceback, which differs between trials, too.
    lines = message.strip().splitlines() or ["no message"]
    plain = " ".join(_NUMBER.sub("N", lines[0]).split())
    if len(plain) <= _MOST_QUOTED:
        return plain
    return f"{plain[:_MOST_QUOTED].rsplit(' ', 1)[0]} ..."
