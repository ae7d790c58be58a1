"""Compare the entries of a run with its patterns.

An entry that matches a pattern is found, a pattern that nothing matches is missing, and an entry
that matches no pattern is extra.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from transom.checklist.atoms import AnyOf, CheckerConfig, Entry, ValidationItem
from transom.checklist.judging.logic import AtomAnswer, Logic
from transom.checklist.judging.nearest import nearest_entry
from transom.checklist.judging.verdict import Outcome
from transom.checklist.judging.verdict_rows import CheckedItem, Violation
from transom.checklist.patterns import is_split_regex, parts
from transom.errors import InputError

Pattern: TypeAlias = str | AnyOf
Matching: TypeAlias = Literal["any", "ordered", "one_to_one"]


@dataclass(frozen=True)
class Candidate:
    """An entry to compare, or a file that should have had one.

    Attributes:
        item: the validation item that it belongs to.
        entry: the entry, or None if the file has none.
        why_not: why the entry does not fulfil the item's own condition, or None if it does.
        violation: how it is reported if it turns out to be a violation.
    """

    item: ValidationItem
    entry: Entry | None
    why_not: str | None
    violation: Violation


def blank(item: ValidationItem, reason: str, **known_fields: Any) -> dict[str, Any]:
    """Return the fields of a checked item that shows no entry."""
    return {"id": item.id, "name": item.name, "mode": item.mode, "reason": reason, **known_fields}


def patterned_items(config: CheckerConfig) -> list[ValidationItem]:
    """Return the items that this run compares with patterns.

    Raises:
        InputError: there are patterns but nothing to compare them with, or with `ordered` too many
            of them.
    """
    count = len(config.requirements.pattern_items)
    # N/A and an empty list both mean that this run compares nothing.
    if config.requirements.value is None or not count:
        return []
    items = []
    for item in config.items:
        if item.check == "pattern":
            items.append(item)
    is_ordered = config.matching == "ordered"
    if not items or (is_ordered and count > len(items)):
        raise InputError(
            f"{count} pattern_items for {len(items)} validation items that are compared with"
            " patterns",
            place=config.item_id,
            hint=(
                "write fewer, or requirements.value: N/A, or build the checker again from this item"
            ),
        )
    if is_ordered:
        return items[:count]
    return items


async def compare(
    items: Sequence[ValidationItem],
    candidates: Sequence[Candidate],
    patterns: Sequence[Pattern],
    matching: Matching,
    logic: Logic,
) -> Outcome:
    """Compare what the pattern items saw with the patterns.

    `any`: every entry must match some pattern, and every pattern some entry. `ordered`: the i-th
    pattern belongs to the i-th item. `one_to_one`: an entry consumes the first pattern that it
    matches and that is not consumed yet. What a `forbid` item sees must match none.

    Raises:
        InputError: a pattern that could never match is used although matching is forbidden.
        AtomFailed: an own atom B failed.
    """
    if not items:
        return Outcome()
    _refuse_literal_alternatives(items, patterns)
    with_entry = []
    for candidate in candidates:
        if candidate.entry is not None:
            with_entry.append(candidate)
    answers = await _match_all(with_entry, patterns, logic)
    # All answers are there before any is used, since patterns are assigned across entries.
    table = _MatchTable(items, patterns, matching, with_entry, answers)
    columns, matched_columns = table.assign_patterns()
    found_items: list[CheckedItem] = []
    missing: list[Violation] = []
    extra: list[Violation] = []
    for row, candidate in enumerate(with_entry):
        column = columns[row]
        if candidate.item.mode == "forbid":
            if column is not None and candidate.why_not is None:
                reason = f"must not appear: {table.answers[row][column].reason}"
                extra.append(_with_reason(candidate.violation, reason))
        elif column is None:
            extra.append(_with_reason(candidate.violation, table.why_unmatched(row)))
        elif candidate.why_not is not None:
            missing.append(_with_reason(candidate.violation, candidate.why_not))
        else:
            fields = candidate.violation.model_dump(
                mode="python", exclude={"nearest", "severity", "reason"}
            )
            found_items.append(CheckedItem(**fields, reason=table.answers[row][column].reason))
    without_entry = []
    for candidate in candidates:
        if candidate.entry is None:
            without_entry.append(candidate.violation)
    missing += table.unmatched_patterns(matched_columns, without_entry)
    return Outcome(tuple(found_items), tuple(missing), tuple(extra))


def _refuse_literal_alternatives(
    items: Sequence[ValidationItem], patterns: Sequence[Pattern]
) -> None:
    """Refuse `regex:a|b` if matching is forbidden.

    It is compared with the literal texts, so it would match nothing and pass whatever appears.
    """
    if not any(item.mode == "forbid" for item in items):
        return
    for pattern in patterns:
        if any(map(is_split_regex, parts(pattern))):
            raise InputError(
                f"the pattern {str(pattern)!r} is compared as literal texts and would forbid"
                " nothing",
                hint='write any_of: ["regex:...", "regex:..."]',
            )


async def _match_all(
    candidates: Sequence[Candidate], patterns: Sequence[Pattern], logic: Logic
) -> Sequence[Sequence[AtomAnswer]]:
    """Ask atom B about every entry and every part of every pattern, in one batch.

    Returns:
        A row for each candidate, with an answer for each pattern.
    """
    # One question a part of a pattern: alternatives are asked one by one, and any suffices.
    questions = []
    for candidate in candidates:
        if candidate.entry is not None:
            for pattern in patterns:
                for part in parts(pattern):
                    questions.append((candidate.entry, part))
    answers = iter(await logic.match(questions))
    rows = []
    for _ in candidates:
        row = []
        for pattern in patterns:
            part_answers = [next(answers) for _ in parts(pattern)]
            matching = []
            for answer in part_answers:
                if answer.is_match:
                    matching.append(answer)
            # The reason of the first alternative stands for all of those that do not match.
            row.append((matching or part_answers)[0])
        rows.append(row)
    return rows


@dataclass(frozen=True)
class _MatchTable:
    """Every answer of atom B: `answers[candidate][pattern]`; each candidate has an entry."""

    items: Sequence[ValidationItem]
    patterns: Sequence[Pattern]
    matching: Matching
    candidates: Sequence[Candidate]
    answers: Sequence[Sequence[AtomAnswer]]

    def first_match(self, row: int, columns: Iterable[int]) -> int | None:
        """Return the first of some patterns that a candidate matches."""
        for column in columns:
            if self.answers[row][column].is_match:
                return column
        return None

    def assign_patterns(self) -> tuple[list[int | None], set[int]]:
        """Return the pattern that each candidate matches, and all patterns that are matched."""
        every = range(len(self.patterns))
        assigned: list[int | None] = []
        matched: set[int] = set()
        for row, candidate in enumerate(self.candidates):
            if self.matching == "one_to_one":
                # Entries come in the order of the files, so that the assignment does not depend on
                # chance.
                column = self.first_match(row, [free for free in every if free not in matched])
                if column is not None:
                    matched.add(column)
            else:
                is_ordered = self.matching == "ordered"
                columns = [self.items.index(candidate.item)] if is_ordered else every
                column = self.first_match(row, columns)
                matched.update(col for col in columns if self.answers[row][col].is_match)
            assigned.append(column)
        return assigned, matched

    def why_unmatched(self, row: int) -> str:
        """Return why a candidate has no pattern."""
        count = len(self.patterns)
        if self.matching == "one_to_one" and self.first_match(row, range(count)) is not None:
            return "the pattern that it matches is taken by an earlier entry"
        if count == 1:
            return self.answers[row][0].reason
        return f"it matches none of the {count} patterns"

    def unmatched_patterns(
        self, matched: set[int], without_entry: Sequence[Violation]
    ) -> list[Violation]:
        """Return a missing entry for each pattern that nothing matches.

        It is reported together with a file that has no entry, if there is one.
        """
        required = [item for item in self.items if item.mode == "require"]
        if not required:
            return []
        is_ordered = self.matching == "ordered"
        # A file without an entry and a pattern without a match are one finding, not two.
        remaining = list(without_entry)
        missing: list[Violation] = []
        for column in range(len(self.patterns)):
            item = self.items[column] if is_ordered else required[0]
            if column in matched or item.mode != "require":
                continue
            of_item = []
            for row in remaining:
                if not is_ordered or row.id == item.id:
                    of_item.append(row)
            if of_item:
                remaining.remove(of_item[0])
                reason = f"nothing matches it: {of_item[0].reason}"
                update = {"value": str(self.patterns[column]), "reason": reason}
                missing.append(of_item[0].model_copy(update=update))
            else:
                missing.append(self.missing(item, column))
        # A file that has nothing to compare is no reason to pass, even if the entries of the other
        # files match every pattern.
        return missing + remaining

    def missing(self, item: ValidationItem, column: int) -> Violation:
        """Return the violation for a pattern that nothing matches."""
        entries = []
        reasons = []
        for row, candidate in enumerate(self.candidates):
            if candidate.item.mode == "require" and candidate.entry is not None:
                entries.append(candidate.entry)
                reasons.append(self.answers[row][column].reason)
        pattern = self.patterns[column]
        reason = f"nothing matches it among {len(entries)} compared"
        fields = blank(item, reason, value=str(pattern))
        return Violation(**fields, nearest=nearest_entry(pattern, entries, reasons))


def _with_reason(violation: Violation, reason: str) -> Violation:
    nearest = violation.nearest
    # The nearest line gives its own reason; both must say the same.
    if nearest is not None:
        nearest = nearest.model_copy(update={"why_not": reason})
    return violation.model_copy(update={"reason": reason, "nearest": nearest})
