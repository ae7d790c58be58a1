"""The result of a case: a violation with what came closest, or what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transom.canonical import Json
from transom.checklist.atoms import (
    Count,
    Entry,
    Operator,
    ValidationItem,
)
from transom.checklist.judging.compare import blank
from transom.checklist.judging.entries import (
    Subject,
    achievement,
    judge_count,
)
from transom.checklist.judging.gather import File, GatheredEvidence
from transom.checklist.judging.logic import AtomAnswer
from transom.checklist.judging.nearest import line_of, nearest_line
from transom.checklist.judging.verdict_rows import CheckedItem, DecidedBy, Nearest, Violation


@dataclass(frozen=True)
class ItemCase:
    """One judgement to make.

    Attributes:
        item: the validation item.
        holding: the entries that fulfil it.
        failing: the entries that do not, each with the reason.
        subject: the file that the judgement is about, if it is about one.
    """

    item: ValidationItem
    holding: tuple[Entry, ...] = ()
    failing: tuple[tuple[Entry, str], ...] = ()
    subject: Subject | None = None


def conclude(case: ItemCase, answer: AtomAnswer, evidence: GatheredEvidence) -> CheckedItem:
    """Return the result of a case: a violation, or what was found.

    Args:
        case: the case.
        answer: what atom C says of its holding entries.
        evidence: the files and entries of the run.
    """
    item, holding = case.item, case.holding
    if item.mode == "forbid":
        if not answer.is_match:
            return absent_as_wanted(item, evidence)
        reason = f"must not appear: {achievement(item, holding[0].parsed_fields)}"
        return violation_of(item, holding[0], reason, evidence)
    # A count judges the group; atom C only says whether there is something.
    if item.count:
        return _conclude_count(case, item.count, evidence)
    if answer.is_match:
        reason = achievement(item, holding[0].parsed_fields)
        fields = _shown_fields(item, holding[0], evidence)
        if item.quantifier == "exists" or len(holding) == 1:
            return CheckedItem(**fields, reason=reason)
        reason = f"all {len(holding)} hold; the first: {reason}"
        return CheckedItem(**fields, reason=reason, decided_by=_decided_by(holding))
    # An entry that fails says more than the absence of one that holds.
    if case.failing:
        entries = [entry for entry, _ in case.failing]
        reason = case.failing[0][1]
        if len(entries) == 1:
            return violation_of(item, entries[0], reason, evidence)
        reason = f"none of {len(entries)} holds; the first: {reason}"
        violation = violation_of(item, entries[0], reason, evidence)
        return violation.model_copy(update={"decided_by": _decided_by(entries)})
    if holding:
        return violation_of(item, holding[0], answer.reason, evidence)
    return nothing_seen(item, case.subject, evidence)


def _conclude_count(case: ItemCase, count: Count, evidence: GatheredEvidence) -> CheckedItem:
    """Return the result of an item that counts entries, in one file or in all.

    The number is the value, so no entry's waiver fits.
    """
    item, counted = case.item, case.holding
    empty = nothing_seen(item, case.subject, evidence)
    place = counted[0] if counted else empty
    reason, holds = judge_count(item, count, len(counted))
    fields = blank(
        item,
        reason,
        value=str(len(counted)),
        source_file=place.source_file,
        line_number=place.line_number,
        matched_content=place.matched_content,
        decided_by=_decided_by(counted),
    )
    if holds:
        return CheckedItem(**fields)
    return Violation(**fields, nearest=None if counted else empty.nearest)


def _decided_by(entries: Sequence[Entry]) -> tuple[DecidedBy, ...]:
    return tuple(DecidedBy.model_validate(entry, from_attributes=True) for entry in entries)


def _shown_fields(
    item: ValidationItem, entry: Entry, evidence: GatheredEvidence
) -> dict[str, Json]:
    """Return an entry as it is reported, with a file that could not be read marked as such."""
    fields = dict(entry.parsed_fields)
    subject = evidence.by_name.get(evidence.subject(entry))
    category = fields.get(item.category)
    # The log says that the file was read, but the file itself is not there to prove it.
    if subject is not None and subject.absent is not None and isinstance(category, dict):
        fields[item.category] = {**category, "available": False}
    entry_fields = entry.model_dump(mode="json")
    return {
        "id": item.id,
        "name": item.name,
        "mode": item.mode,
        **entry_fields,
        "parsed_fields": fields,
    }


def violation_of(
    item: ValidationItem, entry: Entry, reason: str, evidence: GatheredEvidence
) -> Violation:
    """Return the violation that an entry shows, with the nearest line."""
    file = evidence.by_name.get(entry.source_file)
    # An entry without a line was computed; the nearest line shows where to look.
    if entry.line_number is None and file is not None:
        nearest = nearest_line(item, file)
    else:
        nearest = line_of(entry, reason)
    return Violation(**_shown_fields(item, entry, evidence), reason=reason, nearest=nearest)


def absent_as_wanted(item: ValidationItem, evidence: GatheredEvidence) -> CheckedItem:
    """Return the result of a forbidding item that found nothing; it stands at the first file."""
    first = evidence.files[0].shown_name if evidence.files else None
    return CheckedItem(**blank(item, "nothing that is forbidden appears", source_file=first))


def nothing_seen(
    item: ValidationItem, subject: Subject | None, evidence: GatheredEvidence
) -> Violation:
    """Return the violation of an item for which the atoms emitted no entry.

    It stands at the file that should have had an entry, or else at the first input.
    """
    file = subject.file if subject else None
    if file is not None and file.absent is not None:
        return _file_absent(item, file, file.absent)
    # A reader needs some place to begin looking.
    if file is None and evidence.files:
        file = evidence.files[0]
    name = file.shown_name if file else None
    reason = f"no {item.category} with {item.select} was seen"
    nearest = nearest_line(item, file) if file else None
    nearest = nearest or Nearest(source_file=name or "", why_not=reason)
    fields = blank(item, reason, source_file=name, parsed_fields=_empty_fields(item))
    return Violation(**fields, nearest=nearest)


def _file_absent(item: ValidationItem, file: File, reason: str) -> Violation:
    """Return the violation of an item about a file that could not be read."""
    fields = blank(item, reason, value=file.shown_name, parsed_fields=_empty_fields(item))
    if file.named_at is None:
        nearest = Nearest(source_file=file.shown_name, why_not=reason)
    else:
        nearest = line_of(file.named_at, reason)
        fields |= file.named_at.model_dump(
            include={"source_file", "line_number", "matched_content"}
        )
    return Violation(**fields, nearest=nearest)


def _empty_fields(item: ValidationItem) -> dict[str, Json]:
    """Return the item's fields as absent; a flag that had to be true is false."""
    names = [item.select, *item.required]
    if item.condition is not None:
        names.append(item.condition.field)
    fields: dict[str, Json] = {}
    for name in names:
        category, _, field = name.partition(".")
        if category == item.category and field and "." not in field:
            fields[field] = None
    # Waivers and reports may ask for the flag, so it must not be absent.
    condition = item.condition
    if condition is not None and condition.op is Operator.EQUALS and condition.value is True:
        _, _, field = condition.field.partition(".")
        if field:
            fields[field] = False
    return {item.category: fields}
