"""Judges each criterion of a stage by measured values; estimates, plans and placeholders are not
measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from transom.formats.measurements import Observation, Reading
from transom.investigator.criterion_parts import Part, SourcedObservation, of_measure, quoted_state
from transom.investigator.decision_rules import (
    parts_of_approvals,
    parts_of_decision,
    parts_of_validity,
)
from transom.investigator.document_rules import names_document, part_of_document
from transom.investigator.figure_rules import part_of_known, part_of_limits, part_of_rule
from transom.investigator.ledger import Ledger
from transom.investigator.policy import Criterion, DocumentRule
from transom.investigator.result import CriterionResult, CriterionStatus, Doubt
from transom.investigator.subject import RequiredSubject

_STANDS: Mapping[str, tuple[CriterionStatus, Doubt]] = {
    "fail": ("fail", ""),
    "absent": ("unknown", "absent"),
    "not_measured": ("unknown", "not_measured"),
    "mixed": ("unknown", "mixed"),
    "pass": ("pass", ""),
    # The last: a criterion of which any part was judged applies.
    "not_applicable": ("not_applicable", ""),
}
_GRAVITY = [*_STANDS]
_MOST_EVIDENCE = 6


class Judge:
    """Judges criteria by readings, and adds their evidence to the ledger."""

    def __init__(
        self,
        readings: Sequence[Reading],
        ledger: Ledger,
        required_subject: RequiredSubject,
        unread: Sequence[str] = (),
    ) -> None:
        self._readings = readings
        self._ledger = ledger
        self._wanted = required_subject
        self._unread = unread

    def judge(self, criterion: Criterion) -> CriterionResult:
        """Judge one criterion."""
        parts = (
            [self._document(criterion.document)] if criterion.document else self._parts(criterion)
        )
        worst = min(parts, key=lambda part: _GRAVITY.index(part.outcome))
        # One bad part decides: five good reports do not make up for a failed one.
        status, doubt = _STANDS[worst.outcome]
        # A missing document fails, and the reader is still told that it is missing.
        if status == "fail" and criterion.document is not None:
            doubt = "absent"
        worst_parts = []
        for part in parts:
            if part.outcome == worst.outcome:
                worst_parts.append(part)
        evidence = self._evidence(worst_parts)
        why = "; ".join(dict.fromkeys(part.why.rstrip(".") for part in worst_parts if part.why))
        return CriterionResult(
            **criterion.model_dump(include={"id", "name", "required", "owner", "source"}),
            status=status,
            evidence=evidence,
            why=why,
            doubt=doubt,
        )

    def _evidence(self, parts: Iterable[Part]) -> list[str]:
        ids: dict[str, None] = {}
        for part in parts:
            for entries in part.rests_on[:_MOST_EVIDENCE]:
                ids[self._ledger.add(entries.observation, entries.reading)] = None
                limit = (
                    self._ledger.add_limit(entries.observation, entries.reading)
                    if part.limits
                    else None
                )
                if limit:
                    ids[limit] = None
        return list(ids)

    def _parts(self, criterion: Criterion) -> list[Part]:
        readings = [entry for entry in self._readings if entry.name == criterion.source]
        usable = [reading for reading in readings if reading.usable]
        # Reports that cannot be read are named, or the reader would look for a missing file.
        if not usable:
            missing = self._missing(criterion.source)
            why = "; ".join(f"{reading.source} {reading.why}" for reading in readings) or missing
            return [Part("absent", why)]
        entries = list[SourcedObservation]()
        for reading in usable:
            for observation in reading.observations:
                entries.append(SourcedObservation(observation, reading))
        parts = self._rule_parts(criterion, entries, usable)
        # A report that judges itself ("incomplete") is believed if that is bad news.
        for entry in of_measure(entries, "source.outcome"):
            if entry.observation.nature == "measured":
                state = quoted_state(entry, "")
                parts.append(Part("mixed", f"the report says of itself: {state}", [entry]))
        parts += self._subject_parts(usable)
        parts += _parts_of_gaps(readings, usable)
        reasons = "; ".join(f"{reading.source} {reading.why}" for reading in usable if reading.why)
        return parts or [Part("absent", reasons or f"{usable[0].source} says nothing of it")]

    def _rule_parts(
        self,
        criterion: Criterion,
        entries: Sequence[SourcedObservation],
        usable: Sequence[Reading],
    ) -> list[Part]:
        """Return the results of the rules that the policy has for a criterion."""
        parts = list[Part]()
        for rule in criterion.rules:
            if (part := part_of_rule(rule, entries)) is not None:
                parts.append(part)
        if criterion.known:
            parts.append(part_of_known(criterion.known, entries))
        if criterion.limits is not None:
            parts.append(part_of_limits(criterion.limits, entries))
        if criterion.decision:
            parts += parts_of_decision(entries, usable)
            parts += parts_of_validity(entries, self._wanted.as_of)
        if criterion.approvals is not None:
            parts += parts_of_approvals(criterion.approvals, entries)
        return parts

    def _missing(self, source: str) -> str:
        """Return that a source is not there, which nobody knows while a file is unread."""
        if self._unread:
            label = source
            if source == "jira":
                label = "the Jira issue"
            return f"no file was recognised as {label}; not read: {', '.join(self._unread[:3])}"
        if source == "jira":
            return "there is no Jira issue"
        return f"there is no file {source}"

    def _subject_parts(self, readings: Iterable[Reading]) -> list[Part]:
        """Return the parts for sources of another subject, or of long ago."""
        parts = list[Part]()
        for reading in readings:
            for problem in self._wanted.problems(reading):
                fact = Observation(
                    measure=f"subject.{problem.fact.facet}",
                    value=problem.fact.text,
                    locator=problem.fact.locator,
                    quote=problem.fact.text,
                )
                parts.append(Part("mixed", problem.text, [SourcedObservation(fact, reading)]))
        return parts

    def _document(self, rule: DocumentRule) -> Part:
        documents = []
        for reading in self._readings:
            if reading.kind == "document" and names_document(rule, reading):
                documents.append(reading)
        # A file that nobody could read may be the document that is asked for.
        if not documents and self._unread:
            return Part("absent", self._missing(f"a document named {rule.names[0].upper()}"))
        if not documents:
            return Part("fail", f"there is no document named {rule.names[0].upper()} or alike")
        part = part_of_document(rule, documents)
        # A complete plan of another feature is no plan of this one.
        if part.outcome == "pass":
            of_another = self._subject_parts(entry.reading for entry in part.rests_on)
            return next(iter(of_another), part)
        return part


def _parts_of_gaps(readings: Sequence[Reading], usable: Sequence[Reading]) -> list[Part]:
    """Return the parts for reports beside the usable ones that may hold anything."""
    parts = list[Part]()
    silent = [reading for reading in usable if not reading.observations and reading.why]
    # If all are silent, the criterion's own rules say that nothing is told.
    if silent and len(silent) < len(usable):
        parts.append(Part("mixed", "; ".join(f"{entry.source} {entry.why}" for entry in silent)))
    broken = [reading for reading in readings if not reading.usable]
    if broken:
        parts.append(Part("mixed", "; ".join(f"{entry.source} {entry.why}" for entry in broken)))
    return parts
