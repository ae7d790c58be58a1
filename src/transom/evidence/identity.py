"""Say what a reading or a file is about, and compare it with what a question or a policy names.

    identity = Identity((
        IdentityFact("tool", "Acme Router 21.1", "route.rpt", 2),
        IdentityFact("stage", "routed", "route.rpt", 9),
    ))
    question = (IdentityRequirement("stage", "routed", asked_by="the question"),)
    for match in compare_identity(identity, question):
        match.outcome   # "matches", "differs", "silent" or "not_asked"

A file that says otherwise is the wrong file (`wrong_file`); one that says nothing caps a PASS
(`caps.caps_of_identity`); what nobody asked for is reported only. A section of a file has an
identity of its own: `Identity.of_section` adds what the file says where the section is silent.

A person may state a fact that the file does not say (`Identity.with_statement`). What the file says
outranks it, also where it is stated of a section, and each message repeats who stated it. Names are
compared as `subject_names` says, dates as `dates` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from transom.evidence.dates import PrintedDate, UnknownDate, freshness_of, is_before, read_date
from transom.evidence.subject_names import FACETS, Facet, Sameness, Synonyms, same_name

IdentityOutcome = Literal["matches", "differs", "silent", "not_asked"]
"""`matches`: the file says so; `differs`: it says otherwise, it is the wrong file; `silent`: it
says nothing certain, which caps a PASS; `not_asked`: nobody asked, it is reported only.
"""


@dataclass(frozen=True)
class IdentityFact:
    """A statement of what something is about.

    Attributes:
        text: the name or date, as it is written.
        source_file: the file that says so, or "" if it is not known.
        line_number: its line, 1-based, or None.
        stated_by: the person who stated it for this input; "" if the file says so itself.
    """

    facet: Facet
    text: str
    source_file: str = ""
    line_number: int | None = None
    stated_by: str = ""

    def __str__(self) -> str:
        """Return the fact with its origin: `routed (line 9)`, `routed (stated by Ada)`."""
        if self.stated_by:
            return f"{self.text} (stated by {self.stated_by})"
        return f"{self.text} (line {self.line_number})" if self.line_number else self.text

    def to_json(self) -> dict[str, str | int]:
        """Return the fact as a part of a verdict's `identity`."""
        document: dict[str, str | int] = {"text": self.text}
        if self.source_file:
            document["source_file"] = self.source_file
        if self.line_number:
            document["line_number"] = self.line_number
        if self.stated_by:
            document["stated_by"] = self.stated_by
        return document


@dataclass(frozen=True)
class Identity:
    """All statements of what a file, a section or a reading is about."""

    facts: tuple[IdentityFact, ...] = ()

    def of(self, facet: Facet) -> tuple[IdentityFact, ...]:
        """Return the facts of a facet, each name once.

        What a person stated counts only if the file says nothing of the facet itself.
        """
        by_file = dict[str, IdentityFact]()
        by_person = dict[str, IdentityFact]()
        for fact in self.facts:
            if fact.facet == facet:
                facts = by_person if fact.stated_by else by_file
                facts.setdefault(fact.text, fact)
        return tuple((by_file or by_person).values())

    def with_fact(self, fact: IdentityFact) -> Identity:
        """Return this identity with one more fact."""
        return Identity((*self.facts, fact))

    def with_statement(self, facet: Facet, text: str, by: str) -> Identity:
        """Return this identity with a fact that a person states for the input.

        Raises:
            ValueError: the statement is empty, or nobody is named who makes it.
        """
        if not text.strip() or not by.strip():
            raise ValueError(f"a statement of the {facet} needs a text and who states it")
        return self.with_fact(IdentityFact(facet, text.strip(), stated_by=by.strip()))

    def of_section(self, section: Identity) -> Identity:
        """Return the identity of a section of this file.

        What the section itself says of a facet replaces what the file says of it. What a person
        stated of the section replaces only what a person stated of the file.
        """
        by_section = set[Facet]()
        by_person = set[Facet]()
        for fact in section.facts:
            facets = by_person if fact.stated_by else by_section
            facets.add(fact.facet)
        facts = list[IdentityFact]()
        for fact in self.facts:
            is_replaced = fact.facet in by_section or (
                bool(fact.stated_by) and fact.facet in by_person
            )
            if not is_replaced:
                facts.append(fact)
        return Identity((*facts, *section.facts))

    def to_json(self) -> dict[str, list[dict[str, str | int]]]:
        """Return the facts by facet, as the `identity` of an input in a verdict."""
        document = dict[str, list[dict[str, str | int]]]()
        for facet in FACETS:
            facts = self.of(facet)
            if facts:
                document[facet] = [fact.to_json() for fact in facts]
        return document


@dataclass(frozen=True)
class IdentityRequirement:
    """A facet that a question or a policy names.

    Attributes:
        text: the name that is asked for; "" for a date that has only an age or a bound.
        asked_by: who names it: "the question", "policy.yaml:12".
        max_age: for `date`: how old it may be at most.
        not_before: for `date`: it must not be older than this, such as the date of the netlist.
    """

    facet: Facet
    text: str = ""
    asked_by: str = "the question"
    max_age: timedelta | None = None
    not_before: PrintedDate | None = None

    def __post_init__(self) -> None:
        is_dated = self.max_age is not None or self.not_before is not None
        if is_dated and self.facet != "date":
            raise ValueError(f"only a date has an age, not the {self.facet}")
        if not is_dated and not self.text.strip():
            raise ValueError(f"the requirement names no {self.facet}")


@dataclass(frozen=True)
class IdentityMatch:
    """The result of comparing one facet.

    Attributes:
        message: one sentence with the names, the line and who stated or asked what.
        facts: the facts that were compared; empty if nothing is said of the facet.
    """

    facet: Facet
    outcome: IdentityOutcome
    message: str
    facts: tuple[IdentityFact, ...] = ()
    requirement: IdentityRequirement | None = None


@dataclass(frozen=True)
class _Comparison:
    """The moment of a comparison and the names that mean the same."""

    now: datetime | None
    synonyms: Mapping[Facet, Synonyms] = field(default_factory=dict)


def compare_identity(
    identity: Identity,
    requirements: Iterable[IdentityRequirement],
    *,
    now: datetime | None = None,
    synonyms: Mapping[Facet, Synonyms] | None = None,
) -> tuple[IdentityMatch, ...]:
    """Compare an identity with each facet that somebody names.

    Args:
        now: the moment, with a zone, that an age counts from; without it no age is certain.
        synonyms: names that mean the same by the knowledge of a field, by facet.

    Returns:
        One match for each requirement, in order; then one for each facet that nobody asked for.
    """
    comparison = _Comparison(now, synonyms or {})
    matches = list[IdentityMatch]()
    asked_facets = set[Facet]()
    for requirement in requirements:
        asked_facets.add(requirement.facet)
        matches.append(_match(identity, requirement, comparison))
    # What nobody asked for is reported, and caps nothing.
    for facet in FACETS:
        facts = identity.of(facet)
        if facts and facet not in asked_facets:
            message = f"the {facet} is {_listed(facts)}; nobody asked for it"
            matches.append(IdentityMatch(facet, "not_asked", message, facts))
    return tuple(matches)


def _match(
    identity: Identity, requirement: IdentityRequirement, comparison: _Comparison
) -> IdentityMatch:
    """Return how an identity meets one requirement."""
    facet = requirement.facet
    facts = identity.of(facet)
    wish = _wish(requirement)
    # Silence is neither a match nor the wrong file: a person may state the fact.
    if not facts:
        message = f"the file does not say its {facet}; {requirement.asked_by} asks for {wish}"
        return IdentityMatch(facet, "silent", message, (), requirement)
    # A file may name several designs or corners, so each of them is compared.
    outcomes = [_sameness(fact, requirement, comparison) for fact in facts]
    if all(outcome == "same" for outcome in outcomes):
        message = f"the {facet} is {_listed(facts)}, as {requirement.asked_by} asks"
        return IdentityMatch(facet, "matches", message, facts, requirement)
    if all(outcome == "different" for outcome in outcomes):
        message = f"the {facet} is {_listed(facts)}; {requirement.asked_by} asks for {wish}"
        return IdentityMatch(facet, "differs", message, facts, requirement)
    # Several designs in one log, of which one is the right one; or a name that says less.
    message = (
        f"the {facet} is {_listed(facts)}, which does not show that it is {wish}, "
        f"as {requirement.asked_by} asks"
    )
    return IdentityMatch(facet, "silent", message, facts, requirement)


def _sameness(
    fact: IdentityFact, requirement: IdentityRequirement, comparison: _Comparison
) -> Sameness:
    """Return whether one fact is what a requirement names."""
    if requirement.facet == "date":
        return _same_date(fact, requirement, comparison.now)
    synonyms = comparison.synonyms.get(requirement.facet, ())
    return same_name(requirement.facet, requirement.text, fact.text, synonyms)


def _same_date(
    fact: IdentityFact, requirement: IdentityRequirement, now: datetime | None
) -> Sameness:
    """Return whether a date is the one that is named, not too old, and not before another."""
    printed = read_date(fact.text)
    if isinstance(printed, UnknownDate):
        return "unclear"
    answers = list[Sameness]()
    if requirement.text:
        answers.append(_lies_within(read_date(requirement.text), printed))
    if requirement.max_age is not None:
        # Without the present moment an age is unknown, never fresh.
        freshness = freshness_of(printed, now, requirement.max_age) if now else "unknown"
        by_freshness: dict[str, Sameness] = {"fresh": "same", "stale": "different"}
        answers.append(by_freshness.get(freshness, "unclear"))
    if requirement.not_before is not None:
        answers.append(_same_or_later(printed, requirement.not_before))
    # One bound that is certainly broken decides, whatever is unclear beside it.
    if "different" in answers:
        return "different"
    if "unclear" in answers:
        return "unclear"
    return "same"


def _same_or_later(printed: PrintedDate, bound: PrintedDate) -> Sameness:
    """Return whether a date is certainly not before another."""
    is_earlier = is_before(printed, bound)
    if is_earlier is None:
        return "unclear"
    if is_earlier:
        return "different"
    return "same"


def _lies_within(wish: PrintedDate | UnknownDate, printed: PrintedDate) -> Sameness:
    """Return whether a printed date lies within the one that is asked for."""
    if isinstance(wish, UnknownDate):
        return "unclear"
    if not wish.has_time:
        # A person names the day that is written, whatever its zone.
        return "same" if printed.day == wish.day else "different"
    if wish.earliest <= printed.earliest and printed.latest <= wish.latest:
        return "same"
    if wish.latest <= printed.earliest or printed.latest <= wish.earliest:
        return "different"
    return "unclear"


def _wish(requirement: IdentityRequirement) -> str:
    """Return what a requirement asks for, in words."""
    parts = [requirement.text] if requirement.text else []
    if requirement.max_age is not None:
        parts.append(f"a date at most {_age_in_words(requirement.max_age)} old")
    if requirement.not_before is not None:
        parts.append(f"a date not before {requirement.not_before.text}")
    return " and ".join(parts)


def _age_in_words(age: timedelta) -> str:
    if age % timedelta(days=1) == timedelta():
        return f"{age.days} day{'' if age.days == 1 else 's'}"
    return f"{age / timedelta(hours=1):g} hours"


def _listed(facts: Sequence[IdentityFact]) -> str:
    return " and ".join(str(fact) for fact in facts)


def wrong_file(matches: Iterable[IdentityMatch]) -> str | None:
    """Return why a file is the wrong one, or None: `wrong file: the stage is placed (line 3); ...`.

    A wrong file is no evidence for any verdict, neither for a good one nor for a bad one.
    """
    messages = [match.message for match in matches if match.outcome == "differs"]
    return f"wrong file: {'; '.join(messages)}" if messages else None
