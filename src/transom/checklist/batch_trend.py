"""What the items of a batch came to each time that the batch was run, as its journal keeps it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from transom.canonical import Json
from transom.checklist.judging.rollup import WORST_FIRST, totals_of
from transom.checklist.judging.verdict import Counted, Verdict
from transom.store import Record

CHECKED: Final = "checked"
"""The record of a batch's journal with what each item came to; one each time that it is run."""
MOST_BATCHES: Final = 10
"""The newest batches, which a trend shows."""


@dataclass(frozen=True)
class ItemTrend:
    """An item with what it came to in each batch, the newest first; None if it was not in it."""

    item_id: str
    statuses: tuple[Counted | None, ...]

    @property
    def has_changed(self) -> bool:
        """Whether it did not come to the same each time that it was checked."""
        return len({status for status in self.statuses if status}) > 1


@dataclass(frozen=True)
class BatchTrend:
    """The newest batches of the same items, the newest first.

    Attributes:
        times: when each ended, UTC, ISO 8601.
        totals: the number of each status, in words.
        items: the items, those first that are worst now.
    """

    times: tuple[str, ...]
    totals: tuple[str, ...]
    items: tuple[ItemTrend, ...]

    @property
    def changed_items(self) -> list[ItemTrend]:
        """The items that did not come to the same each time."""
        return [item for item in self.items if item.has_changed]

    def to_json(self) -> dict[str, Json]:
        items: dict[str, Json] = {item.item_id: [*item.statuses] for item in self.items}
        return {"times": [*self.times], "totals": [*self.totals], "items": items}


def checked_items(targets: Iterable[str], verdicts: Iterable[Verdict]) -> dict[str, Json]:
    """Return the data of a record that keeps what each item came to, in their order."""
    rows: list[Json] = []
    for target, verdict in zip(targets, verdicts, strict=True):
        rows.append([target, verdict.item_id, verdict.counted_as])
    return {"items": rows}


def batch_targets(records: Sequence[Record], targets: Iterable[str]) -> list[str]:
    """Return the items that a batch checked last; `targets`, what was named, if that is not kept.

    A batch of an earlier version of Transom keeps only what was named, e.g. a folder.
    """
    for record in reversed(records):
        if record.kind == CHECKED:
            data: Any = record.data
            return [target for target, _, _ in data["items"]]
    return [*targets]


def batch_trend(records: Sequence[Record]) -> BatchTrend:
    """Return the trend that the journal of a batch keeps."""
    times: list[str] = []
    totals: list[str] = []
    batches: list[dict[str, Counted]] = []
    names: dict[str, None] = {}
    for record in reversed(records):
        if record.kind == CHECKED and len(batches) < MOST_BATCHES:
            statuses = _statuses_of(record)
            times.append(record.at)
            totals.append(totals_of(Counter(statuses.values())))
            batches.append(statuses)
            names |= dict.fromkeys(statuses)
    items: list[ItemTrend] = []
    for name in names:
        items.append(ItemTrend(name, tuple(statuses.get(name) for statuses in batches)))
    items.sort(key=_rank)
    return BatchTrend(tuple(times), tuple(totals), tuple(items))


def _statuses_of(record: Record) -> dict[str, Counted]:
    """Return what each item came to, by its id."""
    data: Any = record.data
    statuses: dict[str, Counted] = {}
    # Two files may have the same item id, which is an error of one of them: the worse one counts.
    for _, item_id, status in data["items"]:
        statuses[item_id] = min(statuses.get(item_id, status), status, key=WORST_FIRST.index)
    return statuses


def _rank(item: ItemTrend) -> tuple[int, str]:
    """Return where an item stands: by what it came to last, then by its name."""
    last = next(status for status in item.statuses if status)
    return WORST_FIRST.index(last), item.item_id
