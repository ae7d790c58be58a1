"""Subjects of items: which entries belong to a validation item, of which files they speak, whose
word counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from transom.checklist.atoms import Entry, ValidationItem
from transom.checklist.judging.files import RANKS, Evidence, File, reference_of
from transom.checklist.judging.judge import field_of, has_field, is_empty
from transom.checklist.judging.verdict import AnsweredBy, Note


@dataclass(frozen=True)
class Subject:
    """A file that an item is about, and the entries that speak of it.

    Attributes:
        answers: those that decide; all of them must hold.
        overruled: those that `take` passes over although they say something else.
    """

    name: str
    file: File | None
    entries: tuple[Entry, ...] = ()
    answers: tuple[Entry, ...] = ()
    overruled: tuple[Entry, ...] = ()


def subjects(item: ValidationItem, evidence: Evidence) -> list[Subject]:
    """Every file that the item is about, those without a single entry included."""
    groups: dict[str, list[Entry]] = {}
    for entry in evidence.entries:
        if has_field(entry.parsed_fields, item.select):
            groups.setdefault(evidence.subject(entry), []).append(entry)
    names = list(
        dict.fromkeys([*(file.shown for file in _expected(item, evidence, groups)), *groups])
    )
    order = {file.shown: index for index, file in enumerate(evidence.files)}
    names.sort(key=lambda name: order.get(name, len(order)))
    return [_subject(item, name, groups.get(name, []), evidence) for name in names]


def silent(items: Iterable[ValidationItem], evidence: Evidence) -> list[tuple[File, str]]:
    """Given files without a word on a category of which another file of their kind speaks, and that
    category.

    One run that reads a file says nothing of another run that does not, so a check cannot pass on
    the first alone.
    """
    asked = {
        item.category for item in items if item.condition is not None and not _about_contents(item)
    }
    speakers: dict[str, set[str]] = {}
    for entry in evidence.entries:
        reference = reference_of(entry)
        if reference is not None and reference.kind in asked:
            speakers.setdefault(reference.kind, set()).add(entry.source_file)
    return [
        (file, category)
        for category, names in speakers.items()
        for file in evidence.files
        if file.given and file.shown not in names
        if file.kind
        in {evidence.by_name[name].kind for name in names if evidence.by_name[name].given}
    ]


def answered_by(items: Iterable[ValidationItem], evidence: Evidence) -> tuple[AnsweredBy, ...]:
    """Files that answered each item, with the rank of their answers."""
    seen: dict[tuple[str, str], AnsweredBy] = {}
    for item in items:
        for subject in subjects(item, evidence):
            for entry in subject.answers if item.quantifier == "per_file" else subject.entries:
                answer = AnsweredBy(
                    item=item.id, answered_by=evidence.rank(entry), source_file=entry.source_file
                )
                seen.setdefault((item.id, entry.source_file), answer)
    return tuple(seen.values())


def contradictions(items: Iterable[ValidationItem], evidence: Evidence) -> tuple[Note, ...]:
    """Notes where files say other things of one subject, and which of them counts."""
    found: dict[str, Note] = {}
    for item in items:
        if item.quantifier != "per_file":
            continue  # entries that are judged one by one do not contradict each other
        for subject in subjects(item, evidence):
            for entry in subject.overruled:
                counted = subject.answers[0]
                message = (
                    f"{counted.source_file}:{counted.line_number} says {_words(item, counted)} of"
                    f" {subject.name} and counts; {entry.source_file}:{entry.line_number} says"
                    f" {_words(item, entry)} and is passed over"
                )
                at = {"source_file": entry.source_file, "line_number": entry.line_number}
                found.setdefault(message, Note(**at, message=message))
    return tuple(found.values())


def _words(item: ValidationItem, entry: Entry) -> str:
    names = dict.fromkeys([item.select, *item.required])
    return ", ".join(f"{name} {field_of(entry.parsed_fields, name)!r}" for name in names)


def _expected(item: ValidationItem, evidence: Evidence, groups: Iterable[str]) -> list[File]:
    """Files that must have something to say, so that a silent one is noticed."""
    of_kind = [file for file in evidence.files if file.kind == item.category]
    if of_kind:
        return of_kind
    # Where the category is no kind of file, the kinds of the files that did speak tell which others
    # should have.
    spoke = {evidence.by_name[name].kind for name in groups if name in evidence.by_name}
    return [file for file in evidence.files if file.kind in spoke and file.given]


def _subject(
    item: ValidationItem, name: str, group: Sequence[Entry], evidence: Evidence
) -> Subject:
    file = evidence.by_name.get(name)
    if not group:
        return Subject(name, file)
    answers = _answers(item, name, group, evidence)
    decide = {id(entry) for entry in answers}
    passed_over = (
        [entry for entry in group if id(entry) not in decide]
        if item.take and _about_contents(item)
        else []
    )
    overruled = tuple(
        entry for entry in passed_over if all(_differs(item, entry, one) for one in answers)
    )
    return Subject(name, file, tuple(group), answers, overruled)


def _answers(
    item: ValidationItem, name: str, group: Sequence[Entry], evidence: Evidence
) -> tuple[Entry, ...]:
    """The entries that decide about one file: all of them, unless the item takes the first or the
    last.

    A source that leaves the field empty in all its entries is silent where another source speaks. A
    file has no say in whether another program read it where such a program's own file was given,
    whatever that one says.
    """
    speaking = {
        entry.source_file
        for entry in group
        if not is_empty(field_of(entry.parsed_fields, item.select))
    }
    if not _about_contents(item) and name in speaking and _is_told_of(item, name, evidence):
        speaking.remove(name)
        group = [entry for entry in group if entry.source_file != name]
    counting = [entry for entry in group if entry.source_file in speaking] or list(group)
    return _taken(item.take, name, counting, evidence) if item.take else tuple(counting)


def _taken(
    take: Literal["first", "last"], name: str, entries: Sequence[Entry], evidence: Evidence
) -> tuple[Entry, ...]:
    """One entry of the file itself where it has any, else one of each of its best-ranked
    sources.
    """
    best = min((RANKS.index(evidence.rank(entry)) for entry in entries), default=0)
    pool = [entry for entry in entries if entry.source_file == name]
    pool = pool or [entry for entry in entries if RANKS.index(evidence.rank(entry)) == best]
    ordered = sorted(pool, key=lambda entry: entry.line_number or 0)
    chosen = {
        entry.source_file: entry for entry in (reversed(ordered) if take == "first" else ordered)
    }
    return tuple(chosen.values())


def _is_told_of(item: ValidationItem, name: str, evidence: Evidence) -> bool:
    """Another file was given that speaks of such files, or that by its rank would know better
    than this one.
    """
    about = evidence.by_name.get(name)
    told = [
        (entry.source_file, reference)
        for entry in evidence.entries
        if (reference := reference_of(entry))
    ]
    if about is None or item.category not in {
        about.kind,
        *(reference.kind for _, reference in told),
    }:
        return False
    speak = {source for source, _ in told}
    others = [other for other in evidence.files if other.given and other is not about]
    return any(
        other.shown in speak or RANKS.index(other.rank) < RANKS.index(about.rank)
        for other in others
    )


def _about_contents(item: ValidationItem) -> bool:
    """Whether an item asks for more than the field of its condition, so that the file itself
    knows best.
    """
    asked = {item.condition.field} if item.condition else set()
    return bool(set(item.required) - asked) or item.check == "pattern"


def _differs(item: ValidationItem, entry: Entry, other: Entry) -> bool:
    """Two entries give different, non-empty values for a field that the item looks at."""
    for name in (item.select, *item.required):
        one, two = field_of(entry.parsed_fields, name), field_of(other.parsed_fields, name)
        if not is_empty(one) and not is_empty(two) and one != two:
            return True
    return False
