"""Entries against patterns: what matches is found, a pattern left over is missing, an entry left
over is extra.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from transom.checklist.atoms import AnyOf, Entry, ValidationItem
from transom.checklist.judging.logic import Answer, Logic
from transom.checklist.judging.nearest import nearest_entry
from transom.checklist.judging.verdict import CheckedItem, Outcome, Violation
from transom.checklist.patterns import is_split_regex, parts
from transom.errors import InputError

Pattern: TypeAlias = str | AnyOf
Matching: TypeAlias = Literal["any", "ordered", "one_to_one"]


@dataclass(frozen=True)
class Candidate:
    """An entry to compare, or a file that should have had one and was silent.

    `why_not` says why it does not fulfil the item's own condition, `violation` how it is reported
    should it be one.
    """

    item: ValidationItem
    entry: Entry | None
    why_not: str | None
    violation: Violation


def blank(item: ValidationItem, reason: str, **more: Any) -> dict[str, Any]:
    """The fields of a checked item that shows no entry; `more` are those that are known all the
    same.
    """
    return {"id": item.id, "name": item.name, "mode": item.mode, "reason": reason, **more}


async def compare(
    items: Sequence[ValidationItem],
    candidates: Sequence[Candidate],
    patterns: Sequence[Pattern],
    matching: Matching,
    logic: Logic,
) -> Outcome:
    """Compare what the pattern items saw with the patterns.

    `any`: every entry must match some pattern, every pattern some entry. `ordered`: the i-th
    pattern belongs to the i-th item. `one_to_one`: an entry consumes the first pattern that is left
    and matches. What a `forbid` item sees must match none.

    Raises:
        InputError: a pattern that could never match stands where matching is forbidden.
        AtomFailed: an own atom B failed.
    """
    if not items:
        return Outcome()
    _refuse_toothless(items, patterns)
    speaking = [candidate for candidate in candidates if candidate.entry is not None]
    table = _Table(items, patterns, matching, speaking, await _hits(speaking, patterns, logic))
    pairs, used = table.pairs()
    found: list[CheckedItem] = []
    missing: list[Violation] = []
    extra: list[Violation] = []
    for row, candidate in enumerate(speaking):
        column = pairs[row]
        if candidate.item.mode == "forbid":
            if column is not None and candidate.why_not is None:
                extra.append(
                    _because(candidate, f"must not appear: {table.hits[row][column].reason}")
                )
        elif column is None:
            extra.append(_because(candidate, table.unmatched(row)))
        elif candidate.why_not is not None:
            missing.append(_because(candidate, candidate.why_not))
        else:
            fields = candidate.violation.model_dump(
                mode="python", exclude={"nearest", "severity", "reason"}
            )
            found.append(CheckedItem(**fields, reason=table.hits[row][column].reason))
    silent = [candidate.violation for candidate in candidates if candidate.entry is None]
    missing += table.left_over(used, silent)
    return Outcome(tuple(found), tuple(missing), tuple(extra))


def _refuse_toothless(items: Sequence[ValidationItem], patterns: Sequence[Pattern]) -> None:
    """`regex:a|b` compares with literal texts. Where a match is a violation it would pass
    whatever is there.
    """
    if any(item.mode == "forbid" for item in items):
        for pattern in patterns:
            if any(is_split_regex(part) for part in parts(pattern)):
                raise InputError(
                    f"the pattern {str(pattern)!r} is compared as literal texts and would forbid"
                    " nothing",
                    hint='write any_of: ["regex:...", "regex:..."]',
                )


async def _hits(
    candidates: Sequence[Candidate], patterns: Sequence[Pattern], logic: Logic
) -> Sequence[Sequence[Answer]]:
    """Ask atom B about every entry and every part of every pattern, in one batch."""
    every = [part for pattern in patterns for part in parts(pattern)]
    entries = [candidate.entry for candidate in candidates if candidate.entry is not None]
    answers = iter(await logic.match([(entry, part) for entry in entries for part in every]))
    return [
        [_any([next(answers) for _ in parts(pattern)]) for pattern in patterns] for _ in candidates
    ]


def _any(answers: Sequence[Answer]) -> Answer:
    return next((answer for answer in answers if answer.is_match), answers[0])


@dataclass(frozen=True)
class _Table:
    """Every answer of atom B: `hits[candidate][pattern]`; each candidate has an entry."""

    items: Sequence[ValidationItem]
    patterns: Sequence[Pattern]
    matching: Matching
    candidates: Sequence[Candidate]
    hits: Sequence[Sequence[Answer]]

    def first_hit(self, row: int, among: Iterable[int]) -> int | None:
        return next((column for column in among if self.hits[row][column].is_match), None)

    def pairs(self) -> tuple[list[int | None], set[int]]:
        """For each candidate the pattern that it matches, and all patterns that something
        matches.
        """
        every, rows = range(len(self.patterns)), range(len(self.candidates))
        if self.matching == "one_to_one":
            pairs: list[int | None] = []
            for row in rows:
                pairs.append(
                    self.first_hit(row, (column for column in every if column not in pairs))
                )
            return pairs, {column for column in pairs if column is not None}
        ordered = self.matching == "ordered"
        own = [[self.items.index(one.item)] if ordered else every for one in self.candidates]
        used = {column for row in rows for column in own[row] if self.hits[row][column].is_match}
        return [self.first_hit(row, own[row]) for row in rows], used

    def unmatched(self, row: int) -> str:
        """Reason why a candidate is left over."""
        count = len(self.patterns)
        if self.matching == "one_to_one" and self.first_hit(row, range(count)) is not None:
            return "the pattern that it matches is taken by an earlier entry"
        return (
            self.hits[row][0].reason if count == 1 else f"it matches none of the {count} patterns"
        )

    def left_over(self, used: set[int], silent: Sequence[Violation]) -> list[Violation]:
        """A missing entry for each pattern that nothing matched, told together with a file that
        was silent, if any.
        """
        required, ordered = (
            [item for item in self.items if item.mode == "require"],
            self.matching == "ordered",
        )
        if not required:
            return []
        spare = list(silent)
        missing: list[Violation] = []
        for index in (index for index in range(len(self.patterns)) if index not in used):
            item = self.items[index] if ordered else required[0]
            if item.mode == "require":
                about = next((one for one in spare if not ordered or one.id == item.id), None)
                if about is not None:
                    spare.remove(about)
                missing.append(self.missing(item, index, about))
        # A file that had nothing to compare is no reason to pass, even if the other files' entries
        # fit every pattern.
        return missing + spare

    def missing(self, item: ValidationItem, index: int, silent: Violation | None) -> Violation:
        pattern = self.patterns[index]
        if silent is not None:
            return silent.model_copy(
                update={"value": str(pattern), "reason": f"nothing matches it: {silent.reason}"}
            )
        rows = [
            row for row, candidate in enumerate(self.candidates) if candidate.item.mode == "require"
        ]
        entries = [entry for row in rows if (entry := self.candidates[row].entry) is not None]
        nearest = nearest_entry(pattern, entries, [self.hits[row][index].reason for row in rows])
        reason = f"nothing matches it among {len(entries)} compared"
        return Violation(**blank(item, reason, value=str(pattern)), nearest=nearest)


def _because(candidate: Candidate, reason: str) -> Violation:
    near = candidate.violation.nearest
    near = near.model_copy(update={"why_not": reason}) if near else None
    return candidate.violation.model_copy(update={"reason": reason, "nearest": near})
