"""Judge every validation item, and sort the results into found, missing and extra.

An item is judged in cases: one case for each entry, each file or the whole run, as its quantifier
says. Items marked `existence` are judged by their fields alone. Items marked `pattern` are compared
with the patterns of the run (`compare`); in a run without patterns they are judged like the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from transom.checklist.atoms import (
    CheckerConfig,
    Entry,
    ValidationItem,
    checker_type,
)
from transom.checklist.judging.compare import Candidate, compare, patterned_items
from transom.checklist.judging.conclusions import (
    ItemCase,
    absent_as_wanted,
    conclude,
    nothing_seen,
    violation_of,
)
from transom.checklist.judging.entries import (
    Subject,
    asks_for_contents,
    deciding_entries,
    field_of,
    is_empty,
    shortfall,
    subjects,
)
from transom.checklist.judging.gather import File, GatheredEvidence, reference_of
from transom.checklist.judging.logic import Logic
from transom.checklist.judging.verdict import Outcome
from transom.checklist.judging.verdict_rows import AnsweredBy, CheckedItem, Note, Violation


async def evaluate(config: CheckerConfig, evidence: GatheredEvidence, logic: Logic) -> Outcome:
    """Judge every validation item by the configuration that counts in this run.

    Raises:
        InputError: the patterns do not fit this checker.
        AtomFailed: an own atom B or C failed.
    """
    applicable, skipped = applicable_items(config.items, evidence)
    with_patterns = [item for item in patterned_items(config) if item in applicable]
    cases: list[ItemCase] = []
    for item in applicable:
        if item not in with_patterns:
            cases += _cases(item, evidence)
    # One call for all cases, since an own atom C runs in another process.
    answers = await logic.exist([case.holding for case in cases])
    candidates: list[Candidate] = []
    for item in with_patterns:
        candidates += _candidates(item, evidence)
    # A claim of which nothing was measured is a question; another checker knows what absence means.
    is_claim = config.claim is not None
    unmeasured = _unmeasured(candidates) if is_claim and with_patterns else []
    if unmeasured:
        with_patterns, candidates = [], []
    # Also without candidates: a pattern that nothing was compared with is missing.
    patterns = config.requirements.pattern_items
    compared = await compare(with_patterns, candidates, patterns, config.matching, logic)
    found_items = list(compared.found_items)
    missing_items = list(compared.missing_items)
    extra_items = list(compared.extra_items)
    # In a value check without waivers, a line that must not appear is reported as extra.
    is_value_check = checker_type(config.requirements.value, None) == 2
    forbidden_items = extra_items if is_value_check else missing_items
    for case, answer in zip(cases, answers, strict=True):
        checked = conclude(case, answer, evidence)
        if is_claim and _is_silent(case):
            unmeasured.append(Note(source_file=checked.source_file, message=checked.reason))
            continue
        if not isinstance(checked, Violation):
            found_items.append(checked)
        elif case.item.mode == "forbid":
            forbidden_items.append(checked)
        else:
            missing_items.append(checked)
    # A forbidding item that found nothing holds, and a verdict shows what holds.
    violated = {violation.id for violation in compared.extra_items}
    for item in with_patterns:
        if item.mode == "forbid" and item.id not in violated:
            found_items.append(absent_as_wanted(item, evidence))
    found_items = _without_absences(found_items, config)
    _sort_by_checker(config, found_items, missing_items, extra_items)
    return Outcome(
        found_items=tuple(found_items),
        missing_items=tuple(missing_items),
        extra_items=tuple(extra_items),
        sources=_sources(config.items, evidence),
        unmeasured=tuple(unmeasured),
        warnings=(*skipped, *_contradictions(config.items, evidence)),
    )


def _sort_by_checker(config: CheckerConfig, *lists: list[Any]) -> None:
    """Sort lists of judged items: reports have the checker's order, whatever was judged first."""
    positions = {item.id: index for index, item in enumerate(config.items)}
    for entries in lists:
        entries.sort(key=lambda entry: positions[entry.id])


def _without_absences(found_items: list[CheckedItem], config: CheckerConfig) -> list[CheckedItem]:
    """Return what was found without the absence of what refutes a claim: nobody asked for that."""
    if config.claim is None:
        return found_items
    forbidden = set()
    for item in config.items:
        if item.mode == "forbid":
            forbidden.add(item.id)
    return [checked for checked in found_items if checked.id not in forbidden]


def _is_silent(case: ItemCase) -> bool:
    """Return whether nothing was measured of what a case asks for.

    A file that another one names, and that is not there, is a violation.
    """
    # Nothing forbidden in a file is an answer; nothing measured is none.
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
    items: Sequence[ValidationItem], evidence: GatheredEvidence
) -> tuple[list[ValidationItem], tuple[Note, ...]]:
    """Return the items that these files can answer, and a warning for each other item.

    If none applies, all of them do. A file whose name reveals no kind may be of any kind.
    """
    kinds = set()
    for file in evidence.files:
        if file.is_input:
            kinds.add(file.kind)
    applicable = []
    warnings = []
    for item in items:
        if item.only_with is None or item.only_with in kinds or None in kinds:
            applicable.append(item)
        else:
            message = f"{item.id} {item.name} was not asked: no {item.only_with} was given"
            warnings.append(Note(message=message))
    # Asking everything gives at least a reason; asking nothing would pass.
    if not applicable:
        return list(items), ()
    return applicable, tuple(warnings)


# -- the cases of an item


def _cases(item: ValidationItem, evidence: GatheredEvidence) -> list[ItemCase]:
    """Return the judgements to make for an item, at least one."""
    cases = []
    for subject, entries in _questions(item, evidence):
        case = _case(item, entries, subject)
        if item.mode == "forbid":
            # Each entry that fulfils the item is a violation of its own.
            for entry in case.holding:
                cases.append(ItemCase(item, (entry,), (), subject))
        elif item.quantifier == "per_file" and not item.count and case.failing:
            # A file holds by all of its entries. Each entry that does not is a violation of its
            # own, so that it can be waived by itself.
            for failing in case.failing:
                cases.append(ItemCase(item, (), (failing,), subject))
        else:
            cases.append(case)
    return cases or [ItemCase(item)]


def _questions(
    item: ValidationItem, evidence: GatheredEvidence
) -> list[tuple[Subject, Sequence[Entry]]]:
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
    with_entries = []
    for subject in item_subjects:
        if subject.entries:
            with_entries.append(subject)
    return [(subject, entries) for subject in (with_entries or item_subjects)[:1]]


def _case(item: ValidationItem, entries: Sequence[Entry], subject: Subject) -> ItemCase:
    holding = []
    failing = []
    for entry in entries:
        reason = shortfall(item, entry.parsed_fields)
        if reason is None:
            holding.append(entry)
        else:
            failing.append((entry, reason))
    return ItemCase(item, tuple(holding), tuple(failing), subject)


def _candidates(item: ValidationItem, evidence: GatheredEvidence) -> list[Candidate]:
    """Return what is compared with the patterns: the entries of an item that decide.

    A file that should have had an entry and has none is a candidate without an entry.
    """
    item_subjects = subjects(item, evidence)
    candidates = []
    for subject in item_subjects:
        for entry in deciding_entries(item, subject):
            reason = shortfall(item, entry.parsed_fields)
            violation = violation_of(item, entry, reason or "", evidence)
            # A field that is present but empty says as little as no entry.
            has_value = not is_empty(field_of(entry.parsed_fields, item.select))
            candidates.append(Candidate(item, entry if has_value else None, reason, violation))
        # One file without an entry is no fault if an entry of any file suffices.
        if not subject.entries and item.quantifier != "exists":
            candidates.append(Candidate(item, None, None, nothing_seen(item, subject, evidence)))
    # Something must stand for the item, or a run without entries would pass it.
    if not candidates:
        subject_or_none = item_subjects[0] if item_subjects else None
        violation = nothing_seen(item, subject_or_none, evidence)
        candidates.append(Candidate(item, None, None, violation))
    # What is not there cannot be forbidden.
    if item.mode == "forbid":
        return [candidate for candidate in candidates if candidate.entry is not None]
    return candidates


# -- what a reader of the verdict must know about the files


def unreported_files(
    items: Iterable[ValidationItem], evidence: GatheredEvidence
) -> list[tuple[File, str]]:
    """Return the given files that do not report on a category as others of their kind do.

    One run that reads a file proves nothing about another run that does not mention it, so a check
    must not pass on the first alone.

    Returns:
        Each file with the category that it does not report on.
    """
    # Only items about the use of a file: its contents are read from the file itself.
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
        kinds = set()
        for name in names:
            if evidence.by_name[name].is_input:
                kinds.add(evidence.by_name[name].kind)
        for file in evidence.files:
            if file.is_input and file.shown_name not in names and file.kind in kinds:
                unreported.append((file, category))
    return unreported


def _sources(items: Iterable[ValidationItem], evidence: GatheredEvidence) -> tuple[AnsweredBy, ...]:
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


def _contradictions(
    items: Iterable[ValidationItem], evidence: GatheredEvidence
) -> tuple[Note, ...]:
    """Return a note for each entry that contradicts the entry that counts."""
    notes: dict[str, Note] = {}
    for item in items:
        # Entries that are judged one by one do not contradict each other.
        if item.quantifier != "per_file":
            continue
        for subject in subjects(item, evidence):
            for entry in subject.contradicting:
                # The other answers are of other sources and agree with this one or were reported
                # before.
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
