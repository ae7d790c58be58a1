"""Entries against patterns: what matches is found, a pattern left over is missing, an entry left over is extra."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from transom.checklist.atoms import AnyOf, Entry, ValidationItem
from transom.checklist.patterns import is_split_regex, parts
from transom.checklist.run.logic import Answer, Logic
from transom.checklist.run.nearest import nearest_entry
from transom.checklist.run.verdict import CheckedItem, Outcome, Violation
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
class Table:
    """Every answer of atom B: `hits[candidate][pattern]`."""

    candidates: Sequence[Candidate]
    patterns: Sequence[Pattern]
    hits: Sequence[Sequence[Answer]]

    def first_hit(self, row: int, among: Iterable[int]) -> int | None:
        return next((column for column in among if self.hits[row][column].is_match), None)


def blank(item: ValidationItem, reason: str, **more: Any) -> dict[str, Any]:
    """The fields of a checked item that shows no entry; `more` are those that are known all the same."""
    empty: dict[str, Any] = {
        "value": "",
        "source_file": None,
        "line_number": None,
        "matched_content": "",
        "parsed_fields": {},
    }
    return {"id": item.id, "name": item.name, "mode": item.mode, "reason": reason, **empty, **more}


async def compare(
    items: Sequence[ValidationItem],
    candidates: Sequence[Candidate],
    patterns: Sequence[Pattern],
    matching: Matching,
    logic: Logic,
) -> Outcome:
    """Compare what the pattern items saw with the patterns.

    `any`: every entry must match some pattern, every pattern some entry. `ordered`: the i-th pattern belongs to the
    i-th item. `one_to_one`: an entry consumes the first pattern that is left and matches. What a `forbid` item sees
    must match none.

    Raises:
        InputError: a pattern that could never match stands where matching is forbidden.
        AtomFailed: an own atom B failed.
    """
    if not items:
        return Outcome()
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
    return Outcome(tuple(found), tuple(missing), tuple(extra))


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
    every = [part for pattern in patterns for part in parts(pattern)]
    entries = [candidate.entry for candidate in candidates if candidate.entry is not None]
    answers = iter(await logic.match([(entry, part) for entry in entries for part in every]))
    hits = [[_any([next(answers) for _ in parts(pattern)]) for pattern in patterns] for _ in candidates]
    return Table(candidates, patterns, hits)


def _any(answers: Sequence[Answer]) -> Answer:
    return next((answer for answer in answers if answer.is_match), answers[0])


def _pair(items: Sequence[ValidationItem], table: Table, matching: Matching) -> tuple[list[int | None], set[int]]:
    """For each candidate the pattern that it matches, and all patterns that something matches."""
    every, rows = range(len(table.patterns)), range(len(table.candidates))
    if matching == "one_to_one":
        pairs: list[int | None] = []
        for row in rows:
            pairs.append(table.first_hit(row, (column for column in every if column not in pairs)))
        return pairs, {column for column in pairs if column is not None}
    own = [[items.index(one.item)] if matching == "ordered" else every for one in table.candidates]
    used = {column for row in rows for column in own[row] if table.hits[row][column].is_match}
    return [table.first_hit(row, own[row]) for row in rows], used


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
    reason = f"nothing matches it among {len(entries)} compared"
    return Violation(**blank(item, reason, value=str(pattern)), nearest=nearest)


def _because(candidate: Candidate, reason: str) -> Violation:
    near = candidate.violation.nearest
    near = near.model_copy(update={"why_not": reason}) if near else None
    return candidate.violation.model_copy(update={"reason": reason, "nearest": near})


def _found(violation: Violation, reason: str) -> CheckedItem:
    fields = violation.model_dump(mode="python", exclude={"nearest", "severity", "reason"})
    return CheckedItem(**fields, reason=reason)
