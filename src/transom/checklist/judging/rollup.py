"""Verdicts on several blocks or corners as one table, and their trend since an earlier result.

A block is the folder of an item below the folder that all items share: `blocks/gpu/STA.yaml` and
`blocks/cpu/STA.yaml` are the item `STA` of the blocks `gpu` and `cpu`, whatever their ids are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from transom.checklist.judging.verdict import Counted, Verdict

WORST_FIRST: Final[tuple[Counted, ...]] = (
    "ERROR",
    "FAIL",
    "NEEDS_MODEL",
    "NEEDS_REVIEW",
    "NOT_CHECKED",
    "PASS",
)


@dataclass(frozen=True)
class BlockRow:
    """The verdicts of one block.

    Attributes:
        block: its name.
        statuses: what each item counts as, in the order of the table's items; None if the block
            does not have the item.
        totals: the number of each status, in words.
    """

    block: str
    statuses: tuple[Counted | None, ...]
    totals: str


@dataclass(frozen=True)
class RollUp:
    """A table of blocks and items, the worst of both first.

    Attributes:
        items: the names of the items, a column each.
        rows: a row a block.
    """

    items: tuple[str, ...]
    rows: tuple[BlockRow, ...]

    @property
    def heads(self) -> list[str]:
        """Return the heads of the table's columns; the last one holds totals."""
        return ["block", *self.items, ""]

    @property
    def cells(self) -> list[list[str]]:
        """Return the table's rows as texts."""
        cells = list[list[str]]()
        for row in self.rows:
            cells.append([row.block, *(status or "-" for status in row.statuses), row.totals])
        return cells


class BlockItem(NamedTuple):
    """The place of a verdict in a table of blocks and items."""

    block: str
    item: str


def block_items(targets: Sequence[Path]) -> list[BlockItem]:
    """Return the block and the name of each item or checker, by its folder below the shared one."""
    folders = [str(target.absolute().parent) for target in targets]
    if not folders:
        return []
    # The blocks' names must not depend on where the project is checked out.
    shared = os.path.commonpath(folders)
    places = list[BlockItem]()
    for target, folder in zip(targets, folders, strict=True):
        places.append(BlockItem(os.path.relpath(folder, shared), target.stem))
    return places


def roll_up(checks: Sequence[Verdict], places: Sequence[BlockItem]) -> RollUp | None:
    """Return the verdicts as a table, or None if no item belongs to two blocks.

    Args:
        checks: the verdicts.
        places: the block and the item of each.
    """
    cells = dict[BlockItem, Counted]()
    for check, place in zip(checks, places, strict=True):
        # Two checks of one item in one block share a cell, which shows the worse.
        earlier = cells.get(place, "PASS")
        cells[place] = min(earlier, check.counted_as, key=WORST_FIRST.index)
    item_counts = Counter(item for _, item in cells)
    # A table with one item a block is a list, which the report has already.
    if not item_counts or max(item_counts.values()) < 2:
        return None
    by_item = {item: Counter[Counted]() for item in item_counts}
    by_block = {place.block: Counter[Counted]() for place in cells}
    for (block, item), status in cells.items():
        by_item[item][status] += 1
        by_block[block][status] += 1
    items = tuple(sorted(by_item, key=lambda item: (_badness(by_item[item]), item)))
    rows = list[BlockRow]()
    for block in sorted(by_block, key=lambda block: (_badness(by_block[block]), block)):
        statuses = tuple(cells.get(BlockItem(block, item)) for item in items)
        rows.append(BlockRow(block, statuses, totals_of(by_block[block])))
    return RollUp(items, tuple(rows))


def open_checks(
    checks: Sequence[Verdict], places: Sequence[BlockItem]
) -> list[tuple[Verdict, str]]:
    """Return the verdicts that do not pass with their block and item, the worst first."""
    open_rows = list[tuple[Verdict, str]]()
    for check, place in zip(checks, places, strict=True):
        if check.counted_as != "PASS":
            open_rows.append((check, f"{place.block}/{place.item}"))
    return sorted(open_rows, key=lambda row: WORST_FIRST.index(row[0].counted_as))


def _badness(counts: Counter[Counted]) -> tuple[int, ...]:
    """Return a sort key by which the worst comes first."""
    return tuple(-counts[status] for status in WORST_FIRST)


def totals_of(counts: Counter[Counted]) -> str:
    """Return the number of each status in words, the worst first."""
    return ", ".join(f"{counts[status]} {status}" for status in WORST_FIRST if counts[status])


def trend_of(checks: Sequence[Verdict], earlier: Mapping[str, Sequence[Counted]]) -> str:
    """Return in one line how verdicts changed since an earlier result.

    Args:
        checks: the verdicts of now.
        earlier: what each item counted as then; several times if several items had its id.
    """
    changes = Counter[str]()
    worse = list[str]()
    remaining = {item: list(statuses) for item, statuses in earlier.items()}
    for check in checks:
        statuses = remaining.get(check.item_id)
        if not statuses:
            changes["new"] += 1
            continue
        # Items of one id are compared in the order in which both results list them.
        before = statuses.pop(0)
        step = WORST_FIRST.index(check.counted_as) - WORST_FIRST.index(before)
        change = "better" if step > 0 else "worse" if step < 0 else "unchanged"
        changes[change] += 1
        if change == "worse":
            worse.append(f"{check.item_id} ({before} before)")
    removed = sum(map(len, remaining.values()))
    parts = [f"{changes[change]} {change}" for change in ("worse", "better", "unchanged")]
    if changes["new"]:
        parts.append(f"{changes['new']} new")
    if removed:
        parts.append(f"{removed} not checked any more")
    comparisons = []
    for check in checks:
        if check.baseline is not None:
            comparisons.append(check.baseline)
    new = sum(comparison.new for comparison in comparisons)
    known_total = sum(comparison.known for comparison in comparisons)
    gone_total = sum(comparison.gone for comparison in comparisons)
    violations = f"{new} new, {known_total} known, {gone_total} gone"
    line = f"since the baseline: {', '.join(parts)}; violations: {violations}"
    if worse:
        return f"{line}; worse: {', '.join(worse)}"
    return line
