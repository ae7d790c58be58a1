"""Judges each criterion of a stage by measured values; estimates, plans and placeholders are not
measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import PurePosixPath

from transom.evidence.dates import PrintedDate, is_over, read_date
from transom.formats.measurements import Observation, Reading
from transom.investigator.ledger import Ledger
from transom.investigator.measures import words_of
from transom.investigator.policy import ApprovalRule, Criterion, DocumentRule, Rule
from transom.investigator.reading.quoting import plain_number
from transom.investigator.reading.words import key_words, word_set
from transom.investigator.result import CriterionResult, CriterionStatus, Doubt
from transom.investigator.subject import RequiredSubject

_STANDS: Mapping[str, tuple[CriterionStatus, Doubt]] = {
    "fail": ("fail", ""),
    "absent": ("unknown", "absent"),
    "not_measured": ("unknown", "not_measured"),
    "mixed": ("unknown", "mixed"),
    "pass": ("pass", ""),
}
_GRAVITY = [*_STANDS]
_MOST_EVIDENCE = 6
_MOST_SAID = 60
_GENERIC = word_set(
    "doc document documentation overview plan guide note spec specification system technical"
    " detailed high level final draft feature project v version the of and for"
)


@dataclass(frozen=True)
class SourcedObservation:
    """An observation with its reading."""

    observation: Observation
    reading: Reading

    @property
    def number(self) -> float | None:
        return self.observation.number


@dataclass
class Part:
    """The result of one rule of a criterion: `pass | fail | mixed | not_measured | absent`."""

    outcome: str
    why: str
    rests_on: list[SourcedObservation] = field(default_factory=list)
    limits: bool = False


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
        status, doubt = _STANDS[worst.outcome]
        if status == "fail" and criterion.document is not None:
            doubt = "absent"
        worst_parts = [part for part in parts if part.outcome == worst.outcome]
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
        readings = [reading for reading in self._readings if reading.name == criterion.source]
        usable = [reading for reading in readings if reading.usable]
        if not usable:
            missing = self._missing(criterion.source)
            why = "; ".join(f"{reading.source} {reading.why}" for reading in readings) or missing
            return [Part("absent", why)]
        entries = [
            SourcedObservation(observation, reading)
            for reading in usable
            for observation in reading.observations
        ]
        parts = [part for rule in criterion.rules if (part := _of_rule(rule, entries)) is not None]
        if criterion.known:
            parts.append(_known(criterion.known, entries))
        if criterion.limits is not None:
            parts.append(_of_limits(criterion.limits, entries))
        if criterion.decision:
            parts += _of_decision(entries, usable)
            parts += _of_validity(entries, self._wanted.as_of)
        if criterion.approvals is not None:
            parts += _of_approvals(criterion.approvals, entries)
        parts += [
            Part("mixed", f"the report says of itself: {_quoted_state(entry, '')}", [entry])
            for entry in entries
            if entry.observation.measure == "source.outcome"
            and entry.observation.nature == "measured"
        ]
        parts += self._subject_parts(usable)
        # A further report that no reader understands may hold anything.
        silent = [reading for reading in usable if not reading.observations and reading.why]
        if silent and len(silent) < len(usable):
            text = "; ".join(f"{reading.source} {reading.why}" for reading in silent)
            parts.append(Part("mixed", text))
        broken = [reading for reading in readings if not reading.usable]
        if broken:
            parts.append(
                Part("mixed", "; ".join(f"{reading.source} {reading.why}" for reading in broken))
            )
        reasons = "; ".join(f"{reading.source} {reading.why}" for reading in usable if reading.why)
        return parts or [Part("absent", reasons or f"{usable[0].source} says nothing of it")]

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
        documents = [
            reading
            for reading in self._readings
            if reading.kind == "document" and names_document(rule, reading)
        ]
        if not documents and self._unread:
            return Part("absent", self._missing(f"a document named {rule.names[0].upper()}"))
        if not documents:
            return Part("fail", f"there is no document named {rule.names[0].upper()} or alike")
        best = max(documents, key=lambda document: (document.usable, document.words))
        entries = [
            SourcedObservation(observation, best)
            for observation in best.observations
            if observation.measure in ("document.words", "document.hollow")
        ]
        if best.state == "unreadable":
            return Part("absent", f"{best.source} {best.why}")
        if not best.usable or best.words < rule.least_words:
            return Part(
                "fail",
                f"{best.source} is a placeholder: {best.words} words of substance",
                entries[:1],
            )
        hollow = next(
            (
                entry.number or 0.0
                for entry in entries
                if entry.observation.measure == "document.hollow"
            ),
            0.0,
        )
        if hollow * 25 > best.words:
            return Part(
                "fail", f"{best.source} is mostly unwritten: {hollow:g} open passages", entries
            )
        states = [
            SourcedObservation(observation, best)
            for observation in best.observations
            if observation.measure == "document.status"
        ]
        for state in states:
            if state.observation.value != "pass":
                outcome = "mixed"
                if state.observation.value == "fail":
                    outcome = "fail"
                text = f"{best.source} says of itself: {_quoted_state(state, 'status')}"
                return Part(outcome, text, [state])
        for part in self._subject_parts([best]):
            return part
        return Part("pass", f"{best.source} has {best.words} words of substance", entries[:1])


def names_document(rule: DocumentRule, reading: Reading) -> bool:
    """Whether a document's file name or title matches one of a rule's names."""
    stem = {word for word in key_words(PurePosixPath(reading.source).stem) if not word.isdigit()}
    title = set(key_words(reading.title.partition(":")[0]))
    for name in rule.names:
        words = set(key_words(name))
        if any(
            words <= title_words and title_words - words <= _GENERIC
            for title_words in (stem, title)
        ):
            return True
    return any(len(key_words(name)) > 1 and set(key_words(name)) <= stem for name in rule.names)


def _measured(rule: Rule, entries: Sequence[SourcedObservation]) -> list[SourcedObservation]:
    return [
        entry
        for entry in entries
        if entry.observation.measure == rule.measure and entry.observation.nature == "measured"
    ]


def _of_rule(rule: Rule, entries: Sequence[SourcedObservation]) -> Part | None:
    """Return the result of a rule; None if it is optional and the sources do not mention it."""
    measured = _measured(rule, entries)
    if not measured:
        if (
            rule.otherwise is not None
            and (part := _of_rule(rule.otherwise, entries)) is not None
            and part.outcome != "absent"
        ):
            return part
        family = rule.measure.partition(".")[0]
        hoped = [entry for entry in entries if entry.observation.measure.startswith(f"{family}.")]
        planned = [item for item in hoped if item.observation.nature in ("planned", "estimate")]
        if planned and not any(item.observation.nature == "measured" for item in hoped):
            nature = planned[0].observation.nature
            return Part(
                "not_measured", f"the figures are {_NATURES[nature]}, no measurement", planned[:2]
            )
        if rule.optional:
            return None
        return Part("absent", f"no {words_of(rule.measure)} is told")
    if rule.equal is not None:
        return _of_status(rule, measured)
    return _of_number(rule, measured)


_NATURES = {"planned": "planned", "estimate": "estimated"}


def _of_number(rule: Rule, observations: Sequence[SourcedObservation]) -> Part:
    at_most = rule.at_most is not None
    bound = rule.at_most if rule.at_most is not None else rule.at_least or 0.0
    worst = (max if at_most else min)(observations, key=lambda entry: entry.number or 0.0)
    value = worst.number or 0.0
    stated = worst.observation.limit if rule.stated == "tightens" else None
    tight = stated is not None and (stated < bound if at_most else stated > bound)
    limit = bound
    if tight and stated is not None:
        limit = stated
    unit = worst.observation.unit
    if unit:
        unit = f" {unit}"
    value_text = f"{words_of(rule.measure)} {plain_number(round(value, 2))}{unit}"
    why = f"{value_text} ({'at most' if at_most else 'at least'} {plain_number(limit)}{unit})"
    entries = [worst]
    if rule.at_least is not None and rule.measure.endswith(".executed") and value < bound:
        return Part("not_measured", "no test was executed", entries)
    if value <= limit if at_most else value >= limit:
        return Part("pass", why, entries, limits=tight)
    if rule.judge_from is not None and (
        value <= rule.judge_from if at_most else value >= rule.judge_from
    ):
        return Part("mixed", why, entries, limits=tight)
    return Part("fail", why, entries, limits=tight)


def _of_status(rule: Rule, observations: Sequence[SourcedObservation]) -> Part:
    for entry in observations:
        if entry.observation.value != rule.equal:
            outcome = "mixed"
            if entry.observation.value == "fail":
                outcome = "fail"
            return Part(outcome, _quoted_state(entry, words_of(rule.measure)), [entry])
    return Part("pass", _quoted_state(observations[0], words_of(rule.measure)), [observations[0]])


def _quoted_state(entry: SourcedObservation, label: str) -> str:
    """Quote a source on a state, at most 60 characters."""
    state_text = entry.observation.said or str(entry.observation.value)
    if state_text == entry.observation.label:
        return state_text
    return f'{entry.observation.label or label}: "{state_text[:_MOST_SAID]}"'


def _known(measure: str, entries: Sequence[SourcedObservation]) -> Part:
    observations = [
        entry
        for entry in entries
        if entry.observation.measure == measure and entry.observation.value
    ]
    if observations:
        return Part("pass", "", observations[:1])
    return Part("absent", f"no {words_of(measure)} is told")


def _of_limits(limits: dict[str, float], entries: Sequence[SourcedObservation]) -> Part:
    """Check every measured figure that has a target against it."""
    figures = [entry for entry in entries if entry.observation.measure.startswith("performance.")]
    measured = [
        figure
        for figure in figures
        if figure.observation.nature == "measured" and figure.number is not None
    ]
    flags = [figure for figure in figures if figure.observation.measure == "performance.flag"]
    unclear = [observation for observation in measured if observation.observation.unit == "?"]
    measured = [figure for figure in measured if figure not in unclear]
    checked = [
        (figure, bound)
        for figure in measured
        if (bound := _bound(figure.observation, limits)) is not None
    ]
    missed = [figure for figure, bound in checked if not _holds(figure.observation, bound)]
    missed += [figure for figure in flags if figure.observation.value == "fail"]
    if missed:
        first = missed[0].observation
        bound = _bound(first, limits)
        text = (
            f"{first.label} {plain_number(first.number)} {first.unit}"
            if first.number is not None
            else first.label
        )
        if bound is not None:
            text += (
                f" ({'at most' if first.at_most else 'at least'} {plain_number(bound)}"
                f" {first.unit})"
            )
        addition = ""
        if len(missed) > 1:
            addition = f", and {len(missed) - 1} more"
        return Part("fail", f"{text.strip()}{addition}", missed, limits=True)
    hoped = [figure for figure in figures if figure.observation.nature in ("estimate", "planned")]
    if hoped:
        reason = (
            f"{len(hoped)} of {len(hoped) + len(measured)} figures are estimated or planned, no"
            " measurement"
        )
        return Part("not_measured", reason, hoped[:3])
    doubted = [figure for figure in flags if figure.observation.value != "pass"]
    if doubted:
        return Part("mixed", _quoted_state(doubted[0], "the report"), doubted[:3])
    high = [
        figure for figure in unclear if 100 * (figure.number or 0) > limits.get("error_rate", 0)
    ]
    if high:
        first = high[0].observation
        return Part(
            "mixed", f"{first.label} {plain_number(first.number or 0)}: the unit is not told", high
        )
    if not checked and not flags:
        text = "no figure is told"
        if measured:
            text = "no figure has a target"
        return Part("mixed" if measured else "absent", text, measured[:2])
    tightest = sorted(checked, key=lambda figure: _slack(figure[0].observation, figure[1]))
    rests = [figure for figure, _ in tightest[:3]] or flags[:3]
    return Part(
        "pass", f"{len(checked) or len(flags)} figures meet their targets", rests, limits=True
    )


def _bound(observation: Observation, limits: dict[str, float]) -> float | None:
    if observation.limit is not None:
        return observation.limit
    kind = observation.measure.partition(".")[2]
    if kind == "latency" and observation.label.rpartition(" ")[2] in ("max", "min", "p99", "p999"):
        return None
    return limits.get(kind)


def _holds(observation: Observation, bound: float) -> bool:
    value = Decimal(str(observation.value))
    if observation.at_most:
        return value <= Decimal(str(bound))
    return value >= Decimal(str(bound))


def _slack(observation: Observation, bound: float) -> float:
    value = observation.number or 0.0
    return (bound - value if observation.at_most else value - bound) / (abs(bound) or 1.0)


def _of_validity(entries: Sequence[SourcedObservation], as_of: date) -> list[Part]:
    """Return the parts for approvals whose last day is over, or unknown."""
    parts = list[Part]()
    for entry in entries:
        if entry.observation.measure != "review.valid_until":
            continue
        printed = read_date(str(entry.observation.value))
        if not isinstance(printed, PrintedDate):
            parts.append(Part("mixed", f"its last day is unclear: {printed.message}", [entry]))
        elif is_over(printed.day, as_of):
            parts.append(Part("mixed", f"the approval was valid until {printed.day}", [entry]))
    return parts


def _of_approvals(rule: ApprovalRule, entries: Sequence[SourcedObservation]) -> list[Part]:
    """Return the parts for approvals that a policy asks for and that nobody gave."""
    approvals = [
        entry
        for entry in entries
        if entry.observation.measure == "review.approver" and entry.observation.value == "pass"
    ]
    parts = list[Part]()
    for role in rule.roles:
        required_words = set(key_words(role))
        if not any(
            required_words <= set(key_words(approval.observation.said)) for approval in approvals
        ):
            parts.append(Part("mixed", f"no approval by the role {role} was found", approvals))
    names = {approval.observation.label.casefold() for approval in approvals}
    least = max(rule.least, 2) if rule.four_eyes else rule.least
    if len(names) < least:
        text = f"{len(names)} of {least} different people approved by name"
        parts.append(Part("mixed", text, approvals))
    authors = [approval for approval in entries if approval.observation.measure == "review.author"]
    for author in authors if rule.four_eyes else ():
        if author.observation.label.casefold() in names:
            text = f"{author.observation.label} approved their own work"
            parts.append(Part("mixed", text, [author]))
    return parts


def _of_decision(entries: Sequence[SourcedObservation], usable: Sequence[Reading]) -> list[Part]:
    """Return the parts for reviewers' decisions, each person's and the review's as a whole."""
    decisions = [entry for entry in entries if entry.observation.measure == "review.decision"]
    people = [entry for entry in entries if entry.observation.measure == "review.person"]
    checks = [entry for entry in entries if entry.observation.measure == "review.checks"]
    # "Not applicable" leaves a person out; of the whole review it decides nothing.
    people = [person for person in people if person.observation.value != "skipped"]
    every = [*people, *decisions]
    parts = [_decided(entry) for entry in every]
    pending = [entry for entry in every if entry.observation.value == "pending"]
    if pending and len(pending) == len(every):
        return [Part("fail", "it is not decided yet: " + _named(pending), pending)]
    for measure, outcome, text in (
        ("review.condition", "mixed", "a condition is open: {}"),
        ("review.check", "fail", "{} is not met"),
    ):
        observations = [entry for entry in entries if entry.observation.measure == measure]
        parts += [
            Part(outcome, text.format(entry.observation.label), [entry]) for entry in observations
        ]
    for reading in usable:
        for remark in reading.remarks:
            if remark.kind == "doubt":
                doubt = Observation(
                    measure="review.doubt",
                    value=remark.text,
                    locator=remark.locator,
                    quote=remark.quote,
                )
                parts.append(
                    Part(
                        "mixed",
                        f"a doubt is raised: {remark.text}",
                        [SourcedObservation(doubt, reading)],
                    )
                )
    if every:
        return parts
    if checks:
        return [
            *parts,
            Part("mixed", "the checks of the review are met, and nobody decided", checks),
        ]
    return [*parts, Part("absent", "no decision is told")]


def _named(people: Sequence[SourcedObservation]) -> str:
    return ", ".join(dict.fromkeys(person.observation.label for person in people[:4]))


def _decided(entry: SourcedObservation) -> Part:
    value, label = str(entry.observation.value), entry.observation.label or "the review"
    if value == "pass":
        return Part("pass", f"{label} approved", [entry])
    if value == "fail":
        quoted = entry.observation.said
        text = f"{label} did not approve"
        if quoted and quoted != label:
            text = f'{text}: "{quoted[:_MOST_SAID]}"'
        return Part("fail", text, [entry])
    sentence = {"pending": f"{label} has not decided yet", "progress": f"{label} is still at it"}
    return Part("mixed", sentence.get(value) or _quoted_state(entry, label), [entry])
