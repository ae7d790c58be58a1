"""Judge the entries of one validation item.

An entry is one thing that atom A saw in a file. `subjects` groups the entries by the file that they
report on and decides which of them count. `shortfall` says whether an entry fulfils its item, and
`nearest_line` and `nearest_entry` show what came closest if none does. Nothing here opens a file,
except to show the nearest line.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz import fuzz, process

from transom.canonical import Json
from transom.checklist.atoms import AnyOf, Condition, Count, Entry, Operator, ValidationItem
from transom.checklist.judging.gather import RANKS, Evidence, File, reference_of
from transom.checklist.judging.verdict import Nearest
from transom.checklist.patterns import REGEX, parts

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
_CONTENT_CHARS = 300
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
    if len(text) <= _VALUE_CHARS:
        return text
    return f"{text[: _VALUE_CHARS - 3]}..."


# -- whether an entry fulfils its item


def shortfall(item: ValidationItem, parsed_fields: Mapping[str, Json]) -> str | None:
    """Return why an entry does not fulfil an item, as one clause, or None if it does."""
    empty = [name for name in item.required if is_empty(field_of(parsed_fields, name))]
    if empty:
        return f"{_enumerate(empty)} {'is' if len(empty) == 1 else 'are'} empty"
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
    return why if isinstance(why, str) else ""


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
    if op is Operator.MATCHES:
        text = value if isinstance(value, str) else show(value)
        return re.search(str(expected).removeprefix(REGEX), text) is not None
    measured, right = _number(value), _number(expected)
    return measured is not None and right is not None and bool(_COMPARISONS[op](measured, right))


def _equal(measured: Json, right: Json) -> bool:
    """Return whether two values are equal. Numbers may be written as text; true is never 1."""
    if isinstance(measured, bool) or isinstance(right, bool):
        return measured is right
    if isinstance(measured, int | float) or isinstance(right, int | float):
        number = _number(measured)
        return number is not None and number == _number(right)
    return measured == right


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    is_nan = number != number  # NaN compares with nothing
    return None if is_nan else number


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


def subjects(item: ValidationItem, evidence: Evidence) -> list[Subject]:
    """Return every file that an item is about, including files that no entry reports on."""
    groups: dict[str, list[Entry]] = {}
    for entry in evidence.entries:
        if has_field(entry.parsed_fields, item.select):
            groups.setdefault(evidence.subject(entry), []).append(entry)
    expected = [file.shown_name for file in _expected_files(item, evidence, groups)]
    names = list(dict.fromkeys([*expected, *groups]))
    # Subjects stand in the order of the files; sorting keeps the order of the other names.
    positions = {file.shown_name: index for index, file in enumerate(evidence.files)}
    names.sort(key=lambda name: positions.get(name, len(positions)))
    return [_subject(item, name, groups.get(name, []), evidence) for name in names]


def deciding_entries(item: ValidationItem, subject: Subject) -> tuple[Entry, ...]:
    """Return the entries of a subject that an item judges."""
    return subject.answers if item.quantifier == "per_file" else subject.entries


def asks_for_contents(item: ValidationItem) -> bool:
    """Return whether an item asks for more than the field of its condition.

    Then the file itself knows best. Otherwise the item asks what became of the file, and a log of
    the program that read it knows better.
    """
    condition_fields = {item.condition.field} if item.condition else set()
    return bool(set(item.required) - condition_fields) or item.check == "pattern"


def _expected_files(
    item: ValidationItem, evidence: Evidence, reported: Iterable[str]
) -> list[File]:
    """Return the files that some entry must report on, so that a missing report is noticed."""
    files_of_category = [file for file in evidence.files if file.kind == item.category]
    if files_of_category:
        return files_of_category
    # If the category is no kind of file, every given file is expected that is of the same kind as
    # a file with a report.
    kinds = {evidence.by_name[name].kind for name in reported if name in evidence.by_name}
    return [file for file in evidence.files if file.is_input and file.kind in kinds]


def _subject(
    item: ValidationItem, name: str, entries: Sequence[Entry], evidence: Evidence
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
    item: ValidationItem, name: str, entries: Sequence[Entry], evidence: Evidence
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
    counting = [entry for entry in entries if entry.source_file in sources_with_value]
    counting = counting or list(entries)
    if item.take:
        return _first_or_last(item.take, name, counting, evidence)
    return tuple(counting)


def _first_or_last(
    take: Literal["first", "last"], name: str, entries: Sequence[Entry], evidence: Evidence
) -> tuple[Entry, ...]:
    """Return one entry of the file itself, or else one of each source of the best rank."""
    pool = [entry for entry in entries if entry.source_file == name]
    if not pool:
        ranks = [RANKS.index(evidence.rank(entry)) for entry in entries]
        best = min(ranks, default=0)
        pool = [entry for entry, rank in zip(entries, ranks, strict=True) if rank == best]
    ordered = sorted(pool, key=lambda entry: entry.line_number or 0)
    if take == "first":
        ordered.reverse()
    # A later entry replaces an earlier one of the same source.
    by_source = {entry.source_file: entry for entry in ordered}
    return tuple(by_source.values())


def _has_better_source(item: ValidationItem, name: str, evidence: Evidence) -> bool:
    """Return whether another given file reports on such files, or ranks above this file."""
    file = evidence.by_name.get(name)
    if file is None:
        return False
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


def _contradict(item: ValidationItem, first: Entry, right: Entry) -> bool:
    """Return whether two entries have different values for a field that the item looks at."""
    for name in (item.select, *item.required):
        values = (field_of(first.parsed_fields, name), field_of(right.parsed_fields, name))
        if values[0] != values[1] and not any(is_empty(value) for value in values):
            return True
    return False


# -- what came closest


def nearest_line(item: ValidationItem, file: File) -> Nearest | None:
    """Return the line of a file that comes closest to what an item looks for.

    It is the first line with the item's best hint, or else the first line that is not blank. A
    long log is read once and not kept in memory.
    """
    if file.absent is not None:
        return None
    hints = [_hint_expression(hint) for hint in item.hints]
    # The best line so far, and the rank of its hint; the first line ranks behind all hints.
    best_rank = len(hints) + 1
    nearest = (0, "")
    for number, line in enumerate(file.lines(), 1):
        for rank in range(best_rank):
            matches = hints[rank].search(line) if rank < len(hints) else line.strip()
            if matches:
                best_rank = rank
                nearest = (number, line[:_CONTENT_CHARS])
                break
        if best_rank == 0:
            break
    if best_rank > len(hints):
        return None
    if best_rank < len(hints):
        hint = item.hints[best_rank]
        reason = f"it holds {hint!r}, but nothing for {item.select} could be read from it"
    else:
        expected = ", ".join(map(repr, item.hints)) or item.select
        reason = f"it is the first line; no line of the file holds {expected}"
    return Nearest(
        source_file=file.shown_name, line_number=nearest[0], content=nearest[1], why_not=reason
    )


def _hint_expression(hint: str) -> re.Pattern[str]:
    if hint.startswith(REGEX):
        return re.compile(hint.removeprefix(REGEX))
    return re.compile(re.escape(hint), re.IGNORECASE)


def line_of(entry: Entry, why_not: str) -> Nearest:
    """Return an entry's own line as the nearest, with the reason why it does not hold."""
    return Nearest(
        source_file=entry.source_file,
        line_number=entry.line_number,
        content=entry.matched_content,
        why_not=why_not,
    )


def nearest_entry(
    pattern: str | AnyOf, entries: Sequence[Entry], reasons: Sequence[str]
) -> Nearest | None:
    """Return the entry whose value is most like a pattern that nothing matched.

    Args:
        pattern: the pattern.
        entries: all entries that were compared with it.
        reasons: for each entry, why it does not match.
    """
    if not entries:
        return None
    alternatives = parts(pattern)
    literal_text = " ".join(re.sub(r"^regex:|[*?]", "", part) for part in alternatives)
    values = [entry.value for entry in entries]
    _, _, index = process.extractOne(literal_text, values, scorer=fuzz.ratio)
    entry, reason = entries[index], reasons[index]
    if any(part.lower() in entry.value.lower() for part in alternatives):
        reason = f"{reason}; it differs in upper and lower case only"
    content = (entry.matched_content or entry.value)[:_CONTENT_CHARS]
    return line_of(entry.model_copy(update={"matched_content": content}), reason)
