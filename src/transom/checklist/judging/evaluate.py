"""Judge every validation item, and sort the results into found, missing and extra.

An item is judged in cases: one case for each entry, each file or the whole run, as its quantifier
says. Items marked `existence` are judged by their fields alone. Items marked `pattern` are compared
with the patterns of the run (`compare`); in a run without patterns they are judged like the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transom.canonical import Json
from transom.checklist.atoms import (
    CheckerConfig,
    Count,
    Entry,
    Operator,
    ValidationItem,
    checker_type,
)
from transom.checklist.judging.compare import Candidate, blank, compare, patterned_items
from transom.checklist.judging.entries import (
    Subject,
    achievement,
    asks_for_contents,
    deciding_entries,
    field_of,
    is_empty,
    judge_count,
    line_of,
    nearest_line,
    shortfall,
    subjects,
)
from transom.checklist.judging.gather import Evidence, File, reference_of
from transom.checklist.judging.logic import Answer, Logic
from transom.checklist.judging.verdict import (
    AnsweredBy,
    CheckedItem,
    DecidedBy,
    Nearest,
    Note,
    Outcome,
    Violation,
)


@dataclass(frozen=True)
class Case:
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


async def evaluate(config: CheckerConfig, evidence: Evidence, logic: Logic) -> Outcome:
    """Judge every validation item by the configuration that counts in this run.

    Raises:
        InputError: the patterns do not fit this checker.
        AtomFailed: an own atom B or C failed.
    """
    applicable, skipped = applicable_items(config.items, evidence)
    with_patterns = [item for item in patterned_items(config) if item in applicable]
    cases: list[Case] = []
    for item in applicable:
        if item not in with_patterns:
            cases += _cases(item, evidence)
    answers = await logic.exist([case.holding for case in cases])
    candidates: list[Candidate] = []
    for item in with_patterns:
        candidates += _candidates(item, evidence)
    # A claim of which nothing was measured is a question; another checker knows what absence means.
    is_claim = config.claim is not None
    unmeasured = _unmeasured(candidates) if is_claim and with_patterns else []
    if unmeasured:
        with_patterns, candidates = [], []
    patterns = config.requirements.pattern_items
    compared = await compare(with_patterns, candidates, patterns, config.matching, logic)
    found_items = list(compared.found_items)
    missing_items = list(compared.missing_items)
    extra_items = list(compared.extra_items)
    # In a value check without waivers, a line that must not appear is reported as extra.
    is_value_check = checker_type(config.requirements.value, None) == 2
    forbidden_items = extra_items if is_value_check else missing_items
    for case, answer in zip(cases, answers, strict=True):
        checked = _conclude(case, answer, evidence)
        if is_claim and _is_silent(case):
            unmeasured.append(Note(source_file=checked.source_file, message=checked.reason))
            continue
        if not isinstance(checked, Violation):
            found_items.append(checked)
        elif case.item.mode == "forbid":
            forbidden_items.append(checked)
        else:
            missing_items.append(checked)
    violated = {violation.id for violation in compared.extra_items}
    for item in with_patterns:
        if item.mode == "forbid" and item.id not in violated:
            found_items.append(_absent_as_wanted(item, evidence))
    found_items = _without_absences(found_items, config)
    positions = {item.id: index for index, item in enumerate(config.items)}
    for entries in (found_items, missing_items, extra_items):
        entries.sort(key=lambda entry: positions[entry.id])
    return Outcome(
        found_items=tuple(found_items),
        missing_items=tuple(missing_items),
        extra_items=tuple(extra_items),
        sources=_sources(config.items, evidence),
        unmeasured=tuple(unmeasured),
        warnings=(*skipped, *_contradictions(config.items, evidence)),
    )


def _without_absences(found_items: list[CheckedItem], config: CheckerConfig) -> list[CheckedItem]:
    """Return what was found without the absence of what refutes a claim: nobody asked for that."""
    if config.claim is None:
        return found_items
    forbidden = {item.id for item in config.items if item.mode == "forbid"}
    return [checked for checked in found_items if checked.id not in forbidden]


def _is_silent(case: Case) -> bool:
    """Return whether nothing was measured of what a case asks for.

    A file that another one names, and that is not there, is a violation.
    """
    if case.item.mode == "forbid" or case.holding or case.failing:
        return False
    file = case.subject.file if case.subject is not None else None
    return file is None or file.absent is None


def _unmeasured(candidates: Sequence[Candidate]) -> list[Note]:
    """Return why patterns cannot be compared, if nothing was measured."""
    if any(candidate.entry for candidate in candidates):
        return []
    notes = list[Note]()
    for candidate in candidates:
        violation = candidate.violation
        notes.append(Note(source_file=violation.source_file, message=violation.reason))
    return notes or [Note(message="nothing was measured that could be compared")]


def applicable_items(
    items: Sequence[ValidationItem], evidence: Evidence
) -> tuple[list[ValidationItem], tuple[Note, ...]]:
    """Return the items that these files can answer, and a warning for each other item.

    If none applies, all of them do. A file whose name reveals no kind may be of any kind.
    """
    kinds = {file.kind for file in evidence.files if file.is_input}
    applicable = []
    warnings = []
    for item in items:
        if item.only_with is None or item.only_with in kinds or None in kinds:
            applicable.append(item)
        else:
            message = f"{item.id} {item.name} was not asked: no {item.only_with} was given"
            warnings.append(Note(message=message))
    if not applicable:
        return list(items), ()
    return applicable, tuple(warnings)


# -- the cases of an item


def _cases(item: ValidationItem, evidence: Evidence) -> list[Case]:
    """Return the judgements to make for an item, at least one."""
    cases = []
    for subject, entries in _questions(item, evidence):
        case = _case(item, entries, subject)
        if item.mode == "forbid":
            # Each entry that fulfils the item is a violation of its own.
            cases += [Case(item, (entry,), (), subject) for entry in case.holding]
        elif item.quantifier == "per_file" and not item.count and case.failing:
            # A file holds by all of its entries. Each entry that does not is a violation of its
            # own, so that it can be waived by itself.
            cases += [Case(item, (), (failing,), subject) for failing in case.failing]
        else:
            cases.append(case)
    return cases or [Case(item)]


def _questions(item: ValidationItem, evidence: Evidence) -> list[tuple[Subject, Sequence[Entry]]]:
    """Return the groups of entries that are judged together, each with the file that it is about.

    A group is empty if the file should have had an entry and has none.
    """
    item_subjects = subjects(item, evidence)
    if item.quantifier == "per_file":
        return [(subject, subject.answers) for subject in item_subjects]
    if item.quantifier == "each":
        groups: list[tuple[Subject, Sequence[Entry]]] = []
        for subject in item_subjects:
            groups += [(subject, (entry,)) for entry in subject.entries] or [(subject, ())]
        return groups
    # "exists": one entry of any file suffices, so there is one group.
    entries: list[Entry] = []
    for subject in item_subjects:
        entries += subject.entries
    with_entries = [subject for subject in item_subjects if subject.entries]
    return [(subject, entries) for subject in (with_entries or item_subjects)[:1]]


def _case(item: ValidationItem, entries: Sequence[Entry], subject: Subject) -> Case:
    holding = []
    failing = []
    for entry in entries:
        reason = shortfall(item, entry.parsed_fields)
        if reason is None:
            holding.append(entry)
        else:
            failing.append((entry, reason))
    return Case(item, tuple(holding), tuple(failing), subject)


def _candidates(item: ValidationItem, evidence: Evidence) -> list[Candidate]:
    """Return what is compared with the patterns: the entries of an item that decide.

    A file that should have had an entry and has none is a candidate without an entry.
    """
    item_subjects = subjects(item, evidence)
    candidates = []
    for subject in item_subjects:
        for entry in deciding_entries(item, subject):
            reason = shortfall(item, entry.parsed_fields)
            violation = _violation(item, entry, reason or "", evidence)
            # A field that is present but empty says as little as no entry.
            has_value = not is_empty(field_of(entry.parsed_fields, item.select))
            candidates.append(Candidate(item, entry if has_value else None, reason, violation))
        if not subject.entries and item.quantifier != "exists":
            candidates.append(Candidate(item, None, None, nothing_seen(item, subject, evidence)))
    if not candidates:
        subject_or_none = item_subjects[0] if item_subjects else None
        violation = nothing_seen(item, subject_or_none, evidence)
        candidates.append(Candidate(item, None, None, violation))
    if item.mode == "forbid":
        return [candidate for candidate in candidates if candidate.entry is not None]
    return candidates


# -- the conclusion from a case


def _conclude(case: Case, answer: Answer, evidence: Evidence) -> CheckedItem:
    """Return the result of a case: a violation, or what was found.

    Args:
        case: the case.
        answer: what atom C says of its holding entries.
        evidence: the files and entries of the run.
    """
    item, holding = case.item, case.holding
    if item.mode == "forbid":
        if not answer.is_match:
            return _absent_as_wanted(item, evidence)
        reason = f"must not appear: {achievement(item, holding[0].parsed_fields)}"
        return _violation(item, holding[0], reason, evidence)
    if item.count:
        return _conclude_count(case, item.count, evidence)
    if answer.is_match:
        reason = achievement(item, holding[0].parsed_fields)
        fields = _shown_fields(item, holding[0], evidence)
        if item.quantifier == "exists" or len(holding) == 1:
            return CheckedItem(**fields, reason=reason)
        reason = f"all {len(holding)} hold; the first: {reason}"
        return CheckedItem(**fields, reason=reason, decided_by=_decided_by(holding))
    if case.failing:
        entries = [entry for entry, _ in case.failing]
        reason = case.failing[0][1]
        if len(entries) == 1:
            return _violation(item, entries[0], reason, evidence)
        reason = f"none of {len(entries)} holds; the first: {reason}"
        violation = _violation(item, entries[0], reason, evidence)
        return violation.model_copy(update={"decided_by": _decided_by(entries)})
    if holding:
        return _violation(item, holding[0], answer.reason, evidence)
    return nothing_seen(item, case.subject, evidence)


def _conclude_count(case: Case, count: Count, evidence: Evidence) -> CheckedItem:
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


def _shown_fields(item: ValidationItem, entry: Entry, evidence: Evidence) -> dict[str, Json]:
    """Return an entry as it is reported, with a file that could not be read marked as such."""
    fields = dict(entry.parsed_fields)
    subject = evidence.by_name.get(evidence.subject(entry))
    category = fields.get(item.category)
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


def _violation(item: ValidationItem, entry: Entry, reason: str, evidence: Evidence) -> Violation:
    file = evidence.by_name.get(entry.source_file)
    if entry.line_number is None and file is not None:
        nearest = nearest_line(item, file)
    else:
        nearest = line_of(entry, reason)
    return Violation(**_shown_fields(item, entry, evidence), reason=reason, nearest=nearest)


def _absent_as_wanted(item: ValidationItem, evidence: Evidence) -> CheckedItem:
    first = evidence.files[0].shown_name if evidence.files else None
    return CheckedItem(**blank(item, "nothing that is forbidden appears", source_file=first))


def nothing_seen(item: ValidationItem, subject: Subject | None, evidence: Evidence) -> Violation:
    """Return the violation of an item for which the atoms emitted no entry.

    It stands at the file that should have had an entry, or else at the first input.
    """
    file = subject.file if subject else None
    if file is not None and file.absent is not None:
        return _file_absent(item, file, file.absent)
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
    condition = item.condition
    if condition is not None and condition.op is Operator.EQUALS and condition.value is True:
        _, _, field = condition.field.partition(".")
        if field:
            fields[field] = False
    return {item.category: fields}


# -- what a reader of the verdict must know about the files


def unreported_files(items: Iterable[ValidationItem], evidence: Evidence) -> list[tuple[File, str]]:
    """Return the given files that do not report on a category as others of their kind do.

    One run that reads a file proves nothing about another run that does not mention it, so a check
    must not pass on the first alone.

    Returns:
        Each file with the category that it does not report on.
    """
    categories = set()
    for item in items:
        if item.condition is not None and not asks_for_contents(item):
            categories.add(item.category)
    reporting_files: dict[str, set[str]] = {}
    for entry in evidence.entries:
        reference = reference_of(entry)
        if reference is not None and reference.kind in categories:
            reporting_files.setdefault(reference.kind, set()).add(entry.source_file)
    unreported = []
    for category, names in reporting_files.items():
        kinds = {evidence.by_name[name].kind for name in names if evidence.by_name[name].is_input}
        for file in evidence.files:
            if file.is_input and file.shown_name not in names and file.kind in kinds:
                unreported.append((file, category))
    return unreported


def _sources(items: Iterable[ValidationItem], evidence: Evidence) -> tuple[AnsweredBy, ...]:
    """Return which files answered each item, with the rank of their answers."""
    sources: dict[tuple[str, str], AnsweredBy] = {}
    for item in items:
        for subject in subjects(item, evidence):
            for entry in deciding_entries(item, subject):
                if (item.id, entry.source_file) not in sources:
                    sources[item.id, entry.source_file] = AnsweredBy(
                        item=item.id,
                        answered_by=evidence.rank(entry),
                        source_file=entry.source_file,
                    )
    return tuple(sources.values())


def _contradictions(items: Iterable[ValidationItem], evidence: Evidence) -> tuple[Note, ...]:
    """Return a note for each entry that contradicts the entry that counts."""
    notes: dict[str, Note] = {}
    for item in items:
        # Entries that are judged one by one do not contradict each other.
        if item.quantifier != "per_file":
            continue
        for subject in subjects(item, evidence):
            for entry in subject.contradicting:
                answer = subject.answers[0]
                message = (
                    f"{answer.source_file}:{answer.line_number} says {_statement(item, answer)} of"
                    f" {subject.name} and counts; {entry.source_file}:{entry.line_number} says"
                    f" {_statement(item, entry)} and is passed over"
                )
                note = Note(
                    source_file=entry.source_file, line_number=entry.line_number, message=message
                )
                notes.setdefault(message, note)
    return tuple(notes.values())


def _statement(item: ValidationItem, entry: Entry) -> str:
    names = dict.fromkeys([item.select, *item.required])
    return ", ".join(f"{name} {field_of(entry.parsed_fields, name)!r}" for name in names)
