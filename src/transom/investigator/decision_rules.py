"""Judge the decisions of people: approvals, conditions, doubts, and how long they are valid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from transom.evidence.dates import PrintedDate, is_over, read_date
from transom.formats.measurements import Observation, Reading
from transom.investigator.criterion_parts import (
    MOST_STATE,
    Part,
    SourcedObservation,
    of_measure,
    quoted_state,
)
from transom.investigator.policy import ApprovalRule
from transom.investigator.reading.vocabulary import key_words


def parts_of_validity(entries: Sequence[SourcedObservation], as_of: date) -> list[Part]:
    """Return the parts for approvals whose last day is over, or unknown."""
    parts = list[Part]()
    for entry in of_measure(entries, "review.valid_until"):
        # A day that can be read in two ways is not guessed.
        printed = read_date(str(entry.observation.value))
        if not isinstance(printed, PrintedDate):
            parts.append(Part("mixed", f"its last day is unclear: {printed.message}", [entry]))
        elif is_over(printed.day, as_of):
            parts.append(Part("mixed", f"the approval was valid until {printed.day}", [entry]))
    return parts


def parts_of_approvals(rule: ApprovalRule, entries: Sequence[SourcedObservation]) -> list[Part]:
    """Return the parts for approvals that a policy asks for and that nobody gave."""
    approvals = []
    for entry in of_measure(entries, "review.approver"):
        if entry.observation.value == "pass":
            approvals.append(entry)
    parts = list[Part]()
    for role in rule.roles:
        required_words = set(key_words(role))
        if not any(
            required_words <= set(key_words(approval.observation.said)) for approval in approvals
        ):
            parts.append(Part("mixed", f"no approval by the role {role} was found", approvals))
    # The same person in two roles is one pair of eyes.
    names = {approval.observation.label.casefold() for approval in approvals}
    least = max(rule.least, 2) if rule.four_eyes else rule.least
    if len(names) < least:
        text = f"{len(names)} of {least} different people approved by name"
        parts.append(Part("mixed", text, approvals))
    # Four eyes: whoever did the work cannot be the one who approves it.
    authors = of_measure(entries, "review.author") if rule.four_eyes else ()
    for author in authors:
        if author.observation.label.casefold() in names:
            text = f"{author.observation.label} approved their own work"
            parts.append(Part("mixed", text, [author]))
    return parts


def parts_of_decision(
    entries: Sequence[SourcedObservation], usable: Sequence[Reading]
) -> list[Part]:
    """Return the parts for reviewers' decisions, each person's and the review's as a whole."""
    every = []
    for entry in of_measure(entries, "review.person"):
        # "Not applicable" leaves a person out; of the whole review it decides nothing.
        if entry.observation.value != "skipped":
            every.append(entry)
    every += of_measure(entries, "review.decision")
    parts = [_decided(entry) for entry in every]
    pending = [entry for entry in every if entry.observation.value == "pending"]
    # If nobody decided, that is all there is to say; one person who is late is a doubt.
    if pending and len(pending) == len(every):
        return [Part("fail", "it is not decided yet: " + _named(pending), pending)]
    for entry in of_measure(entries, "review.condition"):
        parts.append(Part("mixed", f"a condition is open: {entry.observation.label}", [entry]))
    for entry in of_measure(entries, "review.check"):
        parts.append(Part("fail", f"{entry.observation.label} is not met", [entry]))
    for reading in usable:
        parts += _doubts_of(reading)
    if every:
        return parts
    checks = of_measure(entries, "review.checks")
    if checks:
        text = "the checks of the review are met, and nobody decided"
        return [*parts, Part("mixed", text, checks)]
    return [*parts, Part("absent", "no decision is told")]


def _doubts_of(reading: Reading) -> list[Part]:
    """Return the doubts that the texts of a review raise beside its decision."""
    parts = []
    for remark in reading.remarks:
        if remark.kind == "doubt":
            doubt = Observation(
                measure="review.doubt",
                value=remark.text,
                locator=remark.locator,
                quote=remark.quote,
            )
            sourced = SourcedObservation(doubt, reading)
            parts.append(Part("mixed", f"a doubt is raised: {remark.text}", [sourced]))
    return parts


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
