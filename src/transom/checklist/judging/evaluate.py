"""From entries to what is found, missing and extra.

Validation items marked `existence` are judged by their fields alone. Those marked `pattern` are, in
a run with patterns, compared with them (`compare`), and without patterns judged like the others.
Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from transom.canonical import Json
from transom.checklist.atoms import (
    CheckerConfig,
    Count,
    Entry,
    Operator,
    ValidationItem,
    checker_type,
)
from transom.checklist.judging.compare import Candidate, blank, compare
from transom.checklist.judging.files import Evidence
from transom.checklist.judging.judge import achievement, field_of, is_empty, judge_count, shortfall
from transom.checklist.judging.logic import Answer, Logic
from transom.checklist.judging.nearest import line_of, nearest_line
from transom.checklist.judging.subjects import Subject, answered_by, contradictions, subjects
from transom.checklist.judging.verdict import (
    CheckedItem,
    DecidedBy,
    Nearest,
    Note,
    Outcome,
    Violation,
)
from transom.errors import InputError


@dataclass(frozen=True)
class Case:
    """One judgement to be made about a file: entries that hold, and those that do not, each with
    why.
    """

    item: ValidationItem
    holding: tuple[Entry, ...] = ()
    failing: tuple[tuple[Entry, str], ...] = ()
    subject: Subject | None = None


async def evaluate(config: CheckerConfig, evidence: Evidence, logic: Logic) -> Outcome:
    """Judge every validation item by the configuration that counts in this run.

    Raises:
        InputError: the patterns do not fit this checker.
        AtomFailed: an own atom B or C failed.
    """
    asked, unasked = asked_items(config.items, evidence)
    patterned = [item for item in patterned_items(config) if item in asked]
    cases = [case for item in asked if item not in patterned for case in _cases(item, evidence)]
    answers = await logic.exist([case.holding for case in cases])
    candidates = [candidate for item in patterned for candidate in _candidates(item, evidence)]
    compared = await compare(
        patterned, candidates, config.requirements.pattern_items, config.matching, logic
    )
    found, missing, extra = (
        list(compared.found_items),
        list(compared.missing_items),
        list(compared.extra_items),
    )
    forbidden = extra if checker_type(config.requirements.value, None) == 2 else missing
    for case, answer in zip(cases, answers, strict=True):
        judged = _conclude(case, answer, evidence)
        if isinstance(judged, Violation):
            (forbidden if case.item.mode == "forbid" else missing).append(judged)
        else:
            found.append(judged)
    violated = {violation.id for violation in compared.extra_items}
    clean = [item for item in patterned if item.mode == "forbid" and item.id not in violated]
    found += [_absent_as_wanted(item, evidence) for item in clean]
    position = {item.id: index for index, item in enumerate(config.items)}
    for entries in (found, missing, extra):
        entries.sort(key=lambda one: position[one.id])
    return Outcome(
        found_items=tuple(found),
        missing_items=tuple(missing),
        extra_items=tuple(extra),
        sources=answered_by(config.items, evidence),
        warnings=(*unasked, *contradictions(config.items, evidence)),
    )


def asked_items(
    items: Sequence[ValidationItem], evidence: Evidence
) -> tuple[list[ValidationItem], tuple[Note, ...]]:
    """The items that these files can be asked, and a warning for each other one; all of them where
    none would be left.

    A file whose name says no kind may be of any.
    """
    kinds = {file.kind for file in evidence.files if file.given}
    asked = [item for item in items if item.only_with is None or {item.only_with, None} & kinds]
    if not asked:
        return list(items), ()
    left = [item for item in items if item not in asked]
    return asked, tuple(
        Note(message=f"{i.id} {i.name} was not asked: no {i.only_with} was given") for i in left
    )


def patterned_items(config: CheckerConfig) -> list[ValidationItem]:
    """The items that this run compares with patterns.

    Raises:
        InputError: there are patterns but nothing to compare them with, or with `ordered` too many
            of them.
    """
    count = len(config.requirements.pattern_items)
    if config.requirements.value is None or not count:
        return []
    items = [item for item in config.items if item.check == "pattern"]
    ordered = config.matching == "ordered"
    if not items or (ordered and count > len(items)):
        raise InputError(
            f"{count} pattern_items for {len(items)} validation items that are compared with"
            " patterns",
            where=config.item_id,
            hint=(
                "write fewer, or requirements.value: N/A, or build the checker again from this item"
            ),
        )
    return items[:count] if ordered else items


# -- cases


def _cases(item: ValidationItem, evidence: Evidence) -> list[Case]:
    about = subjects(item, evidence)
    if item.quantifier == "exists":
        speaking = [subject for subject in about if subject.entries] or about
        cases = [
            _case(item, [entry for one in about for entry in one.entries], one)
            for one in speaking[:1]
        ]
    elif item.quantifier == "each":
        cases = [_case(item, [entry], one) for one in about for entry in one.entries or (None,)]
    else:
        cases = [_case(item, one.answers, one) for one in about]
    # each entry that fulfils the item is a violation of its own; else it is found once
    if item.mode == "forbid":
        hits = [Case(item, (entry,), (), case.subject) for case in cases for entry in case.holding]
        return hits or [Case(item)]
    if item.quantifier == "per_file" and not item.count:
        # A file holds by all of its entries. Each that does not is a violation of its own, which is
        # waived by itself.
        apart = (
            [replace(case, holding=(), failing=(one,)) for one in case.failing] or [case]
            for case in cases
        )
        cases = list(chain.from_iterable(apart))
    return cases or [Case(item)]


def _case(item: ValidationItem, entries: Sequence[Entry | None], subject: Subject) -> Case:
    judged = [
        (entry, shortfall(item, entry.parsed_fields)) for entry in entries if entry is not None
    ]
    holding = tuple(entry for entry, why in judged if why is None)
    failing = tuple((entry, why) for entry, why in judged if why is not None)
    return Case(item, holding, failing, subject)


# -- conclusions


def _conclude(case: Case, answer: Answer, evidence: Evidence) -> CheckedItem:
    item = case.item
    if item.mode == "forbid":
        if answer.is_match:
            entry = case.holding[0]
            reason = f"must not appear: {achievement(item, entry.parsed_fields)}"
            return _violation(item, entry, reason, evidence)
        return _absent_as_wanted(item, evidence)
    if item.count:
        return _counted(case, item.count, evidence)
    if answer.is_match:
        entry = case.holding[0]
        reason = achievement(item, entry.parsed_fields)
        if item.quantifier == "exists" or len(case.holding) == 1:
            return CheckedItem(**_shown(item, entry, evidence), reason=reason)
        return CheckedItem(
            **_shown(item, entry, evidence),
            reason=f"all {len(case.holding)} hold; the first: {reason}",
            decided_by=_places(case.holding),
        )
    if case.failing:
        entry, why = case.failing[0]
        if len(case.failing) == 1:
            return _violation(item, entry, why, evidence)
        decided_by = _places([one for one, _ in case.failing])
        why = f"none of {len(case.failing)} holds; the first: {why}"
        return _violation(item, entry, why, evidence).model_copy(update={"decided_by": decided_by})
    if case.holding:
        return _violation(item, case.holding[0], answer.reason, evidence)
    return nothing_seen(item, case.subject, evidence)


def _counted(case: Case, count: Count, evidence: Evidence) -> CheckedItem:
    """Number of entries that fulfil the item, in one file or in all. It is the value, so no
    entry's waiver fits.
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
        decided_by=_places(counted),
    )
    return (
        CheckedItem(**fields)
        if holds
        else Violation(**fields, nearest=None if counted else empty.nearest)
    )


def _places(entries: Sequence[Entry]) -> tuple[DecidedBy, ...]:
    return tuple(DecidedBy.model_validate(entry, from_attributes=True) for entry in entries)


def _shown(item: ValidationItem, entry: Entry, evidence: Evidence) -> dict[str, Json]:
    """The fields of an entry as they are reported, with a file that cannot be had marked as
    such.
    """
    fields = dict(entry.parsed_fields)
    subject = evidence.by_name.get(evidence.subject(entry))
    category = fields.get(item.category)
    if subject is not None and subject.absent is not None and isinstance(category, dict):
        fields[item.category] = {**category, "available": False}
    shown = entry.model_dump(mode="json")
    return {"id": item.id, "name": item.name, "mode": item.mode, **shown, "parsed_fields": fields}


def _violation(item: ValidationItem, entry: Entry, reason: str, evidence: Evidence) -> Violation:
    file = evidence.by_name.get(entry.source_file)
    lost = file if entry.line_number is None else None
    nearest = nearest_line(item, lost) if lost else line_of(entry, reason)
    return Violation(**_shown(item, entry, evidence), reason=reason, nearest=nearest)


def _absent_as_wanted(item: ValidationItem, evidence: Evidence) -> CheckedItem:
    first = evidence.files[0].shown if evidence.files else None
    return CheckedItem(**blank(item, "nothing that is forbidden appears", source_file=first))


def nothing_seen(item: ValidationItem, subject: Subject | None, evidence: Evidence) -> Violation:
    """A missing entry where the atoms emitted none: on the file that should have had one, else
    on the first input.
    """
    file, fields = subject.file if subject else None, {"parsed_fields": _empty_fields(item)}
    if file is not None and file.absent is not None:
        named = file.named_at
        at = (
            named.model_dump(include={"source_file", "line_number", "matched_content"})
            if named
            else {}
        )
        nearest = (
            line_of(named, file.absent)
            if named
            else Nearest(source_file=file.shown, why_not=file.absent)
        )
        return Violation(
            **blank(item, file.absent, value=file.shown, **at, **fields), nearest=nearest
        )
    looked_at = file or (evidence.files[0] if evidence.files else None)
    reason, source = (
        f"no {item.category} with {item.select} was seen",
        looked_at.shown if looked_at else None,
    )
    found = nearest_line(item, looked_at) if looked_at else None
    nearest = found or Nearest(source_file=source or "", why_not=reason)
    return Violation(**blank(item, reason, source_file=source, **fields), nearest=nearest)


def _empty_fields(item: ValidationItem) -> dict[str, Json]:
    """The item's fields as absent; one that should have been true (`loaded`) is false."""
    names = [item.select, *item.required, *([item.condition.field] if item.condition else [])]
    fields: dict[str, Json] = {
        name.split(".", 1)[1]: None
        for name in names
        if name.count(".") == 1 and name.startswith(f"{item.category}.")
    }
    wanted = item.condition
    if (
        wanted is not None
        and wanted.op is Operator.EQUALS
        and wanted.value is True
        and "." in wanted.field
    ):
        fields[wanted.field.split(".", 1)[1]] = False
    return {item.category: fields}


# -- patterns


def _candidates(item: ValidationItem, evidence: Evidence) -> list[Candidate]:
    """Candidates of a pattern item: one answer per file, or every entry; a silent file is a
    candidate without one.
    """
    found: list[Candidate] = []
    about = subjects(item, evidence)
    for subject in about:
        for entry in subject.answers if item.quantifier == "per_file" else subject.entries:
            why = shortfall(item, entry.parsed_fields)
            violation = _violation(item, entry, why or "", evidence)
            # A field that is there but empty is a file's way of being silent.
            said = None if is_empty(field_of(entry.parsed_fields, item.select)) else entry
            found.append(Candidate(item, said, why, violation))
        if not subject.entries and item.quantifier != "exists":
            found.append(Candidate(item, None, None, nothing_seen(item, subject, evidence)))
    if not found:
        found.append(
            Candidate(item, None, None, nothing_seen(item, about[0] if about else None, evidence))
        )
    return (
        found
        if item.mode == "require"
        else [candidate for candidate in found if candidate.entry is not None]
    )
