"""From outcomes to insights: candidates are gathered first, and added to the playbook when somebody says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from transom.learning.insight import Insight, InsightCategory, Source
from transom.learning.patterns import ErrorPatterns
from transom.learning.playbook import Playbook
from transom.llm.turns import Egress

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_QUOTED = 160  # characters of a message that an insight quotes
_WELL, _BADLY = 0.8, 0.5  # parts of a study's trials that converged


@dataclass(frozen=True)
class OptimizationOutcome:
    """What came of one trial, or of another piece of work, which has no number. Messages stand as they came.

    `egress` is `local` where they must not reach a remote provider.
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
        """All of them."""
        return [*self.solver_errors, *self.constraint_violations]


@dataclass(frozen=True)
class InsightCandidate:
    """What may become an insight, what it rests on in words, and from 0 to 1 how sure it is."""

    category: InsightCategory
    content: str
    confidence: float
    tags: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)
    evidence: str = ""
    egress: Egress = "any"


class Reflector:
    """Analyses outcomes by rules, the same candidates for the same outcomes; they are `pending` until committed."""

    def __init__(self, playbook: Playbook, patterns: ErrorPatterns | None = None) -> None:
        self.playbook = playbook
        self.patterns = patterns or ErrorPatterns()
        self.pending: list[InsightCandidate] = []

    def analyze_trial(self, outcome: OptimizationOutcome) -> list[InsightCandidate]:
        """The candidates of one outcome, pending from now on: of a failure a mistake for each of its messages."""
        if outcome.success:
            return []
        source = replace(outcome.source, trial=outcome.trial_number)
        tried = ", ".join(f"{name}={value:g}" for name, value in sorted(outcome.design_variables.items()))
        kinds = [(self.patterns.classify(message), message) for message in outcome.solver_errors]
        told = [(f"{kind.insight}: {_quoted(message)}", 0.7, (kind.kind, *kind.tags)) for kind, message in kinds]
        violated = [f"A constraint was violated: {_quoted(message)}" for message in outcome.constraint_violations]
        told += [(content, 0.5, ("constraint",)) for content in violated]
        found = [
            InsightCandidate(InsightCategory.MISTAKE, content, sure, tags, source, tried, outcome.egress)
            for content, sure, tags in dict.fromkeys(told)
        ]
        self.pending += found
        return found

    def analyze_study_completion(
        self,
        study_name: str,
        total_trials: int,
        best_value: float | None = None,
        convergence_rate: float = 0.0,
        method: str = "",
    ) -> list[InsightCandidate]:
        """The candidates of a whole study: how its method did. `convergence_rate` is a part of 1."""
        source, how, part = Source(study=study_name), method or "The method", f"{convergence_rate:.0%}"
        evidence = f"{total_trials} trials{'' if best_value is None else f'; the best value was {best_value:g}'}"
        if total_trials and convergence_rate >= _WELL:
            text = f"{how} suits studies like {study_name}: {part} of its trials converged"
            found = InsightCandidate(InsightCategory.STRATEGY, text, 0.8, ("study",), source, evidence)
        elif total_trials and convergence_rate < _BADLY:
            text = f"{how} with these bounds failed in studies like {study_name}: only {part} of its trials converged"
            found = InsightCandidate(InsightCategory.MISTAKE, text, 0.6, ("study", "bounds"), source, evidence)
        else:
            return []
        self.pending.append(found)
        return [found]

    def learn(self, outcome: OptimizationOutcome, cited: Iterable[str], attempt: int = 1) -> list[str]:
        """Count an outcome for what was relied on, and analyse what was wrong; returns the ids that were counted."""
        self.analyze_trial(outcome)
        kinds = self.patterns.tags_of(outcome.solver_errors)
        return self.playbook.record(cited, outcome.success, outcome.source, attempt=attempt, kinds=kinds)

    def commit_insights(self, min_confidence: float = 0.0) -> int:
        """Add the pending candidates of at least that confidence, drop the others; returns how many are new."""
        pending, self.pending = self.pending, []
        return sum(self._commit(one)[1] for one in pending if one.confidence >= min_confidence)

    def _commit(self, one: InsightCandidate) -> tuple[Insight, bool]:
        scope = f"domain/{self.playbook.view.domain}" if self.playbook.view.domain else "global"
        tags = one.tags or self.patterns.tags_in(one.content)
        return self.playbook.add(
            Insight("", one.category, one.content, tags=tags, sources=(one.source,), scope=scope, egress=one.egress)
        )


def _quoted(message: str) -> str:
    """A message without its numbers, which differ from trial to trial, and no longer than is useful."""
    lines = message.strip().splitlines() or ["no message"]
    plain = " ".join(_NUMBER.sub("N", lines[0]).split())
    return plain if len(plain) <= _QUOTED else f"{plain[:_QUOTED].rsplit(' ', 1)[0]} ..."
