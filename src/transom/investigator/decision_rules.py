"""Judge the decisions of people: approvals, conditions, doubts, and how long they are valid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from transom.evidence.dates import PrintedDate, is_over, read_date
from transom.formats.measurements import Observation, Reading
from transom.investigator.criterion_parts import MOST_STATE, Part, SourcedObservation, quoted_state
from transom.investigator.policy import ApprovalRule
from transom.investigator.reading.vocabulary import key_words


def parts_of_validity(entries: Sequence[SourcedObservation], as_of: date) -> list[Part]:
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


def parts_of_approvals(rule: ApprovalRule, entries: Sequence[SourcedObservation]) -> list[Part]:
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


def parts_of_decision(
    entries: Sequence[SourcedObservation], usable: Sequence[Reading]
) -> list[Part]:
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
            text = f'{text}: "{quoted[:MOST_STATE]}"'
        return Part("fail", text, [entry])
    sentence = {"pending": f"{label} has not decided yet", "progress": f"{label} is still at it"}
    return Part("mixed", sentence.get(value) or quoted_state(entry, label), [entry])
