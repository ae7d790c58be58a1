"""Entries against patterns: what matches is found, a pattern left over is missing, an entry left over is extra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from transom.checklist.atoms import AnyOf, Entry, ValidationItem
from transom.checklist.patterns import is_split_regex, parts
from transom.checklist.run.logic import Answer, Comparison, Logic
from transom.checklist.run.nearest import nearest_entry
from transom.checklist.run.verdict import CheckedItem, Violation
from transom.errors import InputError

Pattern: TypeAlias = str | AnyOf
Matching: TypeAlias = Literal["any", "ordered", "one_to_one"]


@dataclass(frozen=True)
class Candidate:
    """Something to compare.

    Attributes:
        entry: None for a file that should have had one and was silent.
        why_not: why the entry does not fulfil the item's own condition, None if it does.
        violation: how it is reported should it be one.
    """

    item: ValidationItem
    entry: Entry | None
    why_not: str | None
    violation: Violation


@dataclass(frozen=True)
class Compared:
    """The outcome of the comparison."""

    found: tuple[CheckedItem, ...] = ()
    missing: tuple[Violation, ...] = ()
    extra: tuple[Violation, ...] = ()


@dataclass(frozen=True)
class Table:
    """Every answer of atom B: `hits[candidate][pattern]`."""

    candidates: tuple[Candidate, ...]
    patterns: tuple[Pattern, ...]
    hits: tuple[tuple[Answer, ...], ...]

    def first_hit(self, row: int, among: Sequence[int]) -> int | None:
        return next((column for column in among if self.hits[row][column].is_match), None)


async def compare(
    items: Sequence[ValidationItem],
    candidates: Sequence[Candidate],
    patterns: Sequence[Pattern],
    matching: Matching,
    logic: Logic,
) -> Compared:
    """Compare what the pattern items saw with the patterns.

    `any`: every entry must match some pattern, every pattern some entry. `ordered`: the i-th pattern belongs to the
    i-th item. `one_to_one`: an entry consumes the first pattern that is left and matches. What a `forbid` item sees
    must match none.

    Raises:
        InputError: a pattern that could never match stands where matching is forbidden.
        AtomFailed: an own atom B failed.
    """
    if not items:
        return Compared()
    _refuse_toothless(items, patterns)
    speaking = [candidate for candidate in candidates if candidate.entry is not None]
    table = await _table(speaking, patterns, logic)
    pairs, used = _pair(items, table, matching)
    found: list[CheckedItem] = []
    missing: list[Violation] = []
    extra: list[Violation] = []
    for row, candidate in enumerate(table.candidates):
        column = pairs[row]
        if candidate.item.mode == "forbid":
            if column is not None and candidate.why_not is None:
                extra.append(_because(candidate, f"must not appear: {table.hits[row][column].reason}"))
        elif column is None:
            extra.append(_because(candidate, _unmatched(table, row, matching)))
        elif candidate.why_not is not None:
            missing.append(_because(candidate, candidate.why_not))
        else:
            found.append(_found(candidate.violation, table.hits[row][column].reason))
    silent = [candidate.violation for candidate in candidates if candidate.entry is None]
    missing += _left_over(items, table, used, silent, matching)
    return Compared(tuple(found), tuple(missing), tuple(extra))


def _refuse_toothless(items: Sequence[ValidationItem], patterns: Sequence[Pattern]) -> None:
    """`regex:a|b` compares with literal texts. Where a match is a violation it would pass whatever is there."""
    if any(item.mode == "forbid" for item in items):
        for pattern in patterns:
            if any(is_split_regex(part) for part in parts(pattern)):
                raise InputError(
                    f"the pattern {str(pattern)!r} is compared as literal texts and would forbid nothing",
                    hint='write any_of: ["regex:...", "regex:..."]',
                )


async def _table(candidates: Sequence[Candidate], patterns: Sequence[Pattern], logic: Logic) -> Table:
    """Ask atom B about every entry and every part of every pattern, in one batch."""
    questions = [
        Comparison(candidate.entry, part)
        for candidate in candidates
        if candidate.entry is not None
        for pattern in patterns
        for part in parts(pattern)
    ]
    answers = iter(await logic.match(questions))
    hits = tuple(tuple(_any([next(answers) for _ in parts(pattern)]) for pattern in patterns) for _ in candidates)
    return Table(tuple(candidates), tuple(patterns), hits)


def _any(answers: Sequence[Answer]) -> Answer:
    return next((answer for answer in answers if answer.is_match), answers[0])


def _pair(items: Sequence[ValidationItem], table: Table, matching: Matching) -> tuple[list[int | None], set[int]]:
    """For each candidate the pattern that it matches, and all patterns that something matches."""
    every = range(len(table.patterns))
    rows = range(len(table.candidates))
    if matching == "one_to_one":
        pairs: list[int | None] = []
        used: set[int] = set()
        for row in rows:
            column = table.first_hit(row, [index for index in every if index not in used])
            pairs.append(column)
            used |= {column} if column is not None else set()
        return pairs, used
    allowed = [
        [items.index(candidate.item)] if matching == "ordered" else list(every) for candidate in table.candidates
    ]
    pairs = [table.first_hit(row, allowed[row]) for row in rows]
    return pairs, {column for row in rows for column in allowed[row] if table.hits[row][column].is_match}


def _unmatched(table: Table, row: int, matching: Matching) -> str:
    if matching == "one_to_one" and table.first_hit(row, range(len(table.patterns))) is not None:
        return "the pattern that it matches is taken by an earlier entry"
    if len(table.patterns) == 1:
        return table.hits[row][0].reason
    return f"it matches none of the {len(table.patterns)} patterns"


def _left_over(
    items: Sequence[ValidationItem],
    table: Table,
    used: set[int],
    silent: Sequence[Violation],
    matching: Matching,
) -> list[Violation]:
    """A missing entry for each pattern that nothing matched, told together with a file that was silent, if one was."""
    required = [item for item in items if item.mode == "require"]
    if not required:
        return []
    left = [index for index in range(len(table.patterns)) if index not in used]
    if matching == "ordered":
        left = [index for index in left if items[index].mode == "require"]
    spare = list(silent)
    missing: list[Violation] = []
    for index in left:
        item = items[index] if matching == "ordered" else required[0]
        about = next((one for one in spare if matching != "ordered" or one.id == item.id), None)
        if about is not None:
            spare.remove(about)
        missing.append(_missing_pattern(item, index, table, about))
    # A file that had nothing to compare is no reason to pass, even if the other files' entries fit every pattern.
    return missing + spare


def _missing_pattern(item: ValidationItem, index: int, table: Table, silent: Violation | None) -> Violation:
    pattern = table.patterns[index]
    if silent is not None:
        return silent.model_copy(update={"value": str(pattern), "reason": f"nothing matches it: {silent.reason}"})
    rows = [row for row, candidate in enumerate(table.candidates) if candidate.item.mode == "require"]
    entries = [entry for row in rows if (entry := table.candidates[row].entry) is not None]
    nearest = nearest_entry(pattern, entries, [table.hits[row][index].reason for row in rows])
    return Violation(
        id=item.id, name=item.name, value=str(pattern), source_file=None, line_number=None, matched_content="",
        parsed_fields={}, reason=f"nothing matches it among {len(entries)} compared", nearest=nearest,
    )  # fmt: skip


def _because(candidate: Candidate, reason: str) -> Violation:
    nearest = candidate.violation.nearest
    return candidate.violation.model_copy(
        update={"reason": reason, "nearest": nearest.model_copy(update={"why_not": reason}) if nearest else None}
    )


def _found(violation: Violation, reason: str) -> CheckedItem:
    fields = violation.model_dump(mode="python", exclude={"nearest", "severity", "reason"})
    return CheckedItem(**fields, reason=reason)
