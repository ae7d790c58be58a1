"""From outcomes to insights: candidates are gathered first, and added to the playbook when somebody says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from transom.learning.insight import Draft, Insight, InsightCategory, Source
from transom.learning.patterns import ErrorPatterns
from transom.learning.playbook import Outcome, Playbook
from transom.llm.turns import Egress

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_QUOTED = 160  # characters of a message that an insight quotes
_WELL, _BADLY = 0.8, 0.5  # parts of a study's trials that converged


@dataclass(frozen=True)
class OptimizationOutcome:
    """What came of one trial, or of another piece of work.

    Attributes:
        trial_number: which one; None for other work.
        success: whether it went well.
        objective_value: what was reached; None where nothing was.
        constraint_violations, solver_errors: messages, as they came.
        design_variables: what was tried.
        source: where it happened; the trial's number is added.
        egress: `local` where the messages must not reach a remote provider.
    """

    trial_number: int | None
    success: bool
    objective_value: float | None = None
    constraint_violations: Sequence[str] = ()
    solver_errors: Sequence[str] = ()
    design_variables: Mapping[str, float] = field(default_factory=dict)
    source: Source = field(default_factory=Source)
    egress: Egress = "any"


@dataclass(frozen=True)
class InsightCandidate:
    """What may become an insight.

    Attributes:
        category, content, tags, egress: see `Insight`.
        confidence: from 0 to 1, how sure it is; not the confidence that outcomes give it later.
        source: where it was learned.
        evidence: what it rests on, in words.
    """

    category: InsightCategory
    content: str
    confidence: float
    tags: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)
    evidence: str = ""
    egress: Egress = "any"


class Reflector:
    """Analyses outcomes by rules, the same candidates for the same outcomes.

    Args:
        playbook: what the insights are added to.
        patterns: kinds of errors.

    Attributes:
        pending: the candidates so far.
    """

    def __init__(self, playbook: Playbook, patterns: ErrorPatterns | None = None) -> None:
        self.playbook = playbook
        self.patterns = patterns or ErrorPatterns()
        self.pending: list[InsightCandidate] = []

    def analyze_trial(self, outcome: OptimizationOutcome) -> list[InsightCandidate]:
        """The candidates of one outcome, pending from now on: of a failure a mistake for each of its messages."""
        if outcome.success:
            return []
        known = outcome.source
        source = Source(known.run, known.stage, outcome.trial_number, known.study, known.by)
        tried = ", ".join(f"{name}={value:g}" for name, value in sorted(outcome.design_variables.items()))
        kinds = [(self.patterns.classify(message), message) for message in outcome.solver_errors]
        told = [(f"{kind.insight}: {_quoted(message)}", 0.7, (kind.kind, *kind.tags)) for kind, message in kinds]
        violated = [f"A constraint was violated: {_quoted(message)}" for message in outcome.constraint_violations]
        told += [(content, 0.5, ("constraint",)) for content in violated]
        found = [
            InsightCandidate(InsightCategory.MISTAKE, content, sure, tags, source, tried, outcome.egress)
            for content, sure, tags in dict.fromkeys(told)
        ]
        return self._pend(found)

    def analyze_study_completion(
        self,
        study_name: str,
        total_trials: int,
        best_value: float | None = None,
        convergence_rate: float = 0.0,
        method: str = "",
    ) -> list[InsightCandidate]:
        """The candidates of a whole study: how its method did.

        Args:
            study_name: its name.
            total_trials: how many there were.
            best_value: what was reached.
            convergence_rate: the part of them that converged, from 0 to 1.
            method: of optimisation.
        """
        source = Source(study=study_name)
        how, part = method or "The method", f"{convergence_rate:.0%}"
        reached = "" if best_value is None else f"; the best value was {best_value:g}"
        evidence = f"{total_trials} trials{reached}"
        found = []
        if total_trials and convergence_rate >= _WELL:
            text = f"{how} suits studies like {study_name}: {part} of its trials converged"
            found.append(InsightCandidate(InsightCategory.STRATEGY, text, 0.8, ("study",), source, evidence))
        elif total_trials and convergence_rate < _BADLY:
            text = f"{how} with these bounds failed in studies like {study_name}: only {part} of its trials converged"
            found.append(InsightCandidate(InsightCategory.MISTAKE, text, 0.6, ("study", "bounds"), source, evidence))
        return self._pend(found)

    def learn(self, outcome: OptimizationOutcome, cited: Iterable[str], attempt: int = 1) -> list[str]:
        """Count an outcome for or against the insights that were relied on, and analyse what was wrong.

        Returns:
            The ids that were counted.
        """
        source, kinds = outcome.source, self.patterns.tags_of(outcome.solver_errors)
        told = Outcome(outcome.success, source.run, source.stage, attempt, kinds, source)
        self.analyze_trial(outcome)
        return self.playbook.record(told, cited)

    def commit_insights(self, min_confidence: float = 0.0) -> int:
        """Add the pending candidates of at least that confidence, and drop the others.

        Returns:
            How many insights are new; the others were known and got one more source.
        """
        pending, self.pending = self.pending, []
        return sum(self._commit(one)[1] for one in pending if one.confidence >= min_confidence)

    def _commit(self, one: InsightCandidate) -> tuple[Insight, bool]:
        view = self.playbook.view
        scope = f"domain/{view.domain}" if view.domain else "global"
        tags = one.tags or self.patterns.tags_in(one.content)
        return self.playbook.add(Draft(one.category, one.content, tags, one.source, scope, egress=one.egress))

    def _pend(self, found: list[InsightCandidate]) -> list[InsightCandidate]:
        self.pending += found
        return found


def _quoted(message: str) -> str:
    """A message without its numbers, which differ from trial to trial, and no longer than is useful."""
    lines = message.strip().splitlines() or ["no message"]
    plain = " ".join(_NUMBER.sub("N", lines[0]).split())
    return plain if len(plain) <= _QUOTED else f"{plain[:_QUOTED].rsplit(' ', 1)[0]} ..."
