"""Judge the entries of one validation item.

An entry is one thing that atom A saw in a file. `subjects` groups the entries by the file that they
report on and decides which of them count. `shortfall` says whether an entry fulfils its item.
Nothing here opens a file.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from transom.canonical import Json
from transom.checklist.atoms import Condition, Count, Entry, Operator, ValidationItem
from transom.checklist.judging.gather import RANKS, File, GatheredEvidence, reference_of
from transom.checklist.patterns import REGEX

# How a report continues "FIELD is VALUE, ..." for a value that does not fulfil a condition.
_UNFULFILLED = {
    Operator.EQUALS: "not",
    Operator.NOT_EQUALS: "which is excluded:",
    Operator.IN: "not one of",
    Operator.MATCHES: "which does not match",
    Operator.LT: "not less than",
    Operator.LE: "not at most",
    Operator.GT: "not greater than",
    Operator.GE: "not at least",
}
# How a report names the number of entries that an item asks for.
_QUANTITIES = {
    Operator.EQUALS: "exactly",
    Operator.NOT_EQUALS: "not",
    Operator.LT: "fewer than",
    Operator.LE: "at most",
    Operator.GT: "more than",
    Operator.GE: "at least",
}
_COMPARISONS = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}
_VALUE_CHARS = 120


# -- fields of an entry


def field_of(parsed_fields: Mapping[str, Json], dotted: str) -> Json:
    """Return the value at `category.field`, or None if any part of the path is absent."""
    value: Json = dict(parsed_fields)
    for part in dotted.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def has_field(parsed_fields: Mapping[str, Json], dotted: str) -> bool:
    """Return whether the field is present; its value may be None."""
    # A flag that is present and null was looked for; an absent one was not.
    parent, _, last = dotted.rpartition(".")
    holder = field_of(parsed_fields, parent) if parent else parsed_fields
    return isinstance(holder, Mapping) and last in holder


def is_empty(value: Json) -> bool:
    """Return whether a value is None, blank text or an empty container; zero and false are not."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or value in ([], {})


def show(value: Json) -> str:
    """Return a value as it stands in a sentence: JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    # A sentence with a whole netlist in it is no sentence.
    if len(text) <= _VALUE_CHARS:
        return text
    return f"{text[: _VALUE_CHARS - 3]}..."


# -- whether an entry fulfils its item


def shortfall(item: ValidationItem, parsed_fields: Mapping[str, Json]) -> str | None:
    """Return why an entry does not fulfil an item, as one clause, or None if it does."""
    empty = []
    for name in item.required:
        if is_empty(field_of(parsed_fields, name)):
            empty.append(name)
    if empty:
        return f"{_enumerate(empty)} {'is' if len(empty) == 1 else 'are'} empty"
    # The atom's own words are more exact than a comparison of its flag.
    if item.condition is not None:
        reason = _unfulfilled(item.condition, field_of(parsed_fields, item.condition.field))
        return reason and (_why(item, parsed_fields) or reason)
    if not item.required and is_empty(field_of(parsed_fields, item.select)):
        return f"{item.select} is empty"
    return None


def achievement(item: ValidationItem, parsed_fields: Mapping[str, Json]) -> str:
    """Return the proof that an entry fulfils an item, as one clause."""
    if item.condition is not None:
        field = item.condition.field
        why = _why(item, parsed_fields)
        return why or f"{field} is {show(field_of(parsed_fields, field))}"
    names = item.required or (item.select,)
    return f"{_enumerate(names)} {'is' if len(names) == 1 else 'are'} there"


def _why(item: ValidationItem, parsed_fields: Mapping[str, Json]) -> str:
    """Return what atom A itself says why an entry holds or does not, or ""."""
    why = field_of(parsed_fields, f"{item.category}.why")
    if isinstance(why, str):
        return why
    return ""


def judge_count(item: ValidationItem, count: Count, number: int) -> tuple[str, bool]:
    """Return what a number of entries means for an item that counts them, and whether it holds."""
    noun = "entry" if number == 1 else "entries"
    count_text = f"{number} {noun} with {item.select}"
    quantity = f"{_QUANTITIES[count.op]} {count.value}"
    if _holds(count.op, number, count.value):
        return f"{count_text}, {quantity}", True
    return f"{count_text}; must be {quantity}", False


def _enumerate(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _unfulfilled(condition: Condition, value: Json) -> str | None:
    """Return why a value does not fulfil a condition, or None if it does."""
    if is_empty(value):
        return f"{condition.field} is empty"
    if condition.op is Operator.EXISTS or _holds(condition.op, value, condition.value):
        return None
    complaint = _UNFULFILLED[condition.op]
    return f"{condition.field} is {show(value)}, {complaint} {show(condition.value)}"


def _holds(op: Operator, value: Json, expected: Json) -> bool:
    if op is Operator.EQUALS:
        return _equal(value, expected)
    if op is Operator.NOT_EQUALS:
        return not _equal(value, expected)
    if op is Operator.IN:
        return isinstance(expected, list) and any(_equal(value, option) for option in expected)
    # `search`, since a condition names a part of the text more often than all of it.
    if op is Operator.MATCHES:
        text = value if isinstance(value, str) else show(value)
        return re.search(str(expected).removeprefix(REGEX), text) is not None
    # A text that is no number fulfils no comparison, and does not crash one.
    measured, limit = _number(value), _number(expected)
    return measured is not None and limit is not None and bool(_COMPARISONS[op](measured, limit))


def _equal(measured: Json, expected: Json) -> bool:
    """Return whether two values are equal. Numbers may be written as text; true is never 1."""
    # In Python True equals 1; in a report "true" and "1" are different statements.
    if isinstance(measured, bool) or isinstance(expected, bool):
        return measured is expected
    if isinstance(measured, int | float) or isinstance(expected, int | float):
        number = _number(measured)
        return number is not None and number == _number(expected)
    return measured == expected


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    is_nan = number != number  # NaN compares with nothing
    if is_nan:
        return None
    return number


# -- which entries report on which file, and which of them count


@dataclass(frozen=True)
class Subject:
    """A file that an item is about, and the entries that report on it.

    Attributes:
        name: the file's name in entries and reports.
        file: the file, or None if no file of the run has this name.
        entries: all entries that report on it.
        answers: the entries that decide; all of them must hold.
        contradicting: entries that `take` passes over although they report another value.
    """

    name: str
    file: File | None
    entries: tuple[Entry, ...] = ()
    answers: tuple[Entry, ...] = ()
    contradicting: tuple[Entry, ...] = ()


def subjects(item: ValidationItem, evidence: GatheredEvidence) -> list[Subject]:
    """Return every file that an item is about, including files that no entry reports on."""
    groups: dict[str, list[Entry]] = {}
    for entry in evidence.entries:
        if has_field(entry.parsed_fields, item.select):
            groups.setdefault(evidence.subject(entry), []).append(entry)
    # Files without an entry come first, so that they are not forgotten below the others.
    expected = [file.shown_name for file in _expected_files(item, evidence, groups)]
    names = list(dict.fromkeys([*expected, *groups]))
    # Subjects stand in the order of the files; sorting keeps the order of the other names.
    positions = {file.shown_name: index for index, file in enumerate(evidence.files)}
    names.sort(key=lambda name: positions.get(name, len(positions)))
    return [_subject(item, name, groups.get(name, []), evidence) for name in names]


def deciding_entries(item: ValidationItem, subject: Subject) -> tuple[Entry, ...]:
    """Return the entries of a subject that an item judges."""
    if item.quantifier == "per_file":
        return subject.answers
    return subject.entries


def asks_for_contents(item: ValidationItem) -> bool:
    """Return whether an item asks for more than the field of its condition.

    Then the file itself knows best. Otherwise the item asks what became of the file, and a log of
    the program that read it knows better.
    """
    condition_fields = {item.condition.field} if item.condition else set()
    return bool(set(item.required) - condition_fields) or item.check == "pattern"


def _expected_files(
    item: ValidationItem, evidence: GatheredEvidence, reported: Iterable[str]
) -> list[File]:
    """Return the files that some entry must report on, so that a missing report is noticed."""
    files_of_category = []
    for file in evidence.files:
        if file.kind == item.category:
            files_of_category.append(file)
    if files_of_category:
        return files_of_category
    # If the category is no kind of file, every given file is expected that is of the same kind as
    # a file with a report.
    kinds = set()
    for name in reported:
        if name in evidence.by_name:
            kinds.add(evidence.by_name[name].kind)
    files: list[File] = []
    for file in evidence.files:
        if file.is_input and file.kind in kinds:
            files.append(file)
    return files


def _subject(
    item: ValidationItem, name: str, entries: Sequence[Entry], evidence: GatheredEvidence
) -> Subject:
    file = evidence.by_name.get(name)
    if not entries:
        return Subject(name, file)
    answers = _answers(item, name, entries, evidence)
    contradicting = []
    if item.take and asks_for_contents(item):
        # Equal entries may occur twice, so entries are told apart by identity.
        answer_ids = {id(entry) for entry in answers}
        for entry in entries:
            is_passed_over = id(entry) not in answer_ids
            if is_passed_over and all(_contradict(item, entry, answer) for answer in answers):
                contradicting.append(entry)
    return Subject(name, file, tuple(entries), answers, tuple(contradicting))


def _answers(
    item: ValidationItem, name: str, entries: Sequence[Entry], evidence: GatheredEvidence
) -> tuple[Entry, ...]:
    """Return the entries that decide about a file: all, or the first or last if the item says so.

    A source that leaves the selected field empty in all its entries does not count beside a source
    with a value.
    """
    sources_with_value = set()
    for entry in entries:
        if not is_empty(field_of(entry.parsed_fields, item.select)):
            sources_with_value.add(entry.source_file)
    # A file cannot say whether another program read it. If a log of such a program was given, only
    # that log counts, even if it does not mention the file.
    is_about_use = not asks_for_contents(item) and name in sources_with_value
    if is_about_use and _has_better_source(item, name, evidence):
        sources_with_value.remove(name)
        entries = [entry for entry in entries if entry.source_file != name]
    counting = []
    for entry in entries:
        if entry.source_file in sources_with_value:
            counting.append(entry)
    counting = counting or list(entries)
    if item.take:
        return _first_or_last(item.take, name, counting, evidence)
    return tuple(counting)


def _first_or_last(
    take: Literal["first", "last"], name: str, entries: Sequence[Entry], evidence: GatheredEvidence
) -> tuple[Entry, ...]:
    """Return one entry of the file itself, or else one of each source of the best rank."""
    # A file's own words about itself outrank what a log says of it.
    pool = [entry for entry in entries if entry.source_file == name]
    if not pool:
        ranks = [RANKS.index(evidence.rank(entry)) for entry in entries]
        best = min(ranks, default=0)
        pool = [entry for entry, rank in zip(entries, ranks, strict=True) if rank == best]
    # An entry without a line, such as a summary of the file, stands before all others.
    ordered = sorted(pool, key=lambda entry: entry.line_number or 0)
    if take == "first":
        ordered.reverse()
    # A later entry replaces an earlier one of the same source.
    by_source = {entry.source_file: entry for entry in ordered}
    return tuple(by_source.values())


def _has_better_source(item: ValidationItem, name: str, evidence: GatheredEvidence) -> bool:
    """Return whether another given file reports on such files, or ranks above this file."""
    file = evidence.by_name.get(name)
    if file is None:
        return False
    # The kinds that entries refer to tell whether the item is about such files at all.
    kinds = {file.kind}
    reporting_files = set()
    for entry in evidence.entries:
        reference = reference_of(entry)
        if reference is not None:
            kinds.add(reference.kind)
            reporting_files.add(entry.source_file)
    if item.category not in kinds:
        return False
    for other in evidence.files:
        if not other.is_input or other is file:
            continue
        if other.shown_name in reporting_files or RANKS.index(other.rank) < RANKS.index(file.rank):
            return True
    return False


def _contradict(item: ValidationItem, first: Entry, second: Entry) -> bool:
    """Return whether two entries have different values for a field that the item looks at."""
    # An empty field says nothing, so it contradicts nothing.
    for name in (item.select, *item.required):
        values = (field_of(first.parsed_fields, name), field_of(second.parsed_fields, name))
        if values[0] != values[1] and not any(map(is_empty, values)):
            return True
    return False
