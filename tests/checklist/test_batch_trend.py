from __future__ import annotations

from typing import Any

from transom.checklist.batch_trend import CHECKED, MOST_BATCHES, batch_targets, batch_trend
from transom.store import Record


def record(number: int, kind: str, data: Any) -> Record:
    return Record(number, "run/1", kind, data, f"2026-01-{number:02}T08:00:00+00:00")


def checked(number: int, **statuses: str) -> Record:
    items = [[f"/chip/{name}.yaml", name, status] for name, status in statuses.items()]
    return record(number, CHECKED, {"items": items})


def test_the_newest_batch_comes_first_and_what_is_worst_in_it() -> None:
    trend = batch_trend(
        [
            record(1, "opened", {}),
            checked(2, A="PASS", B="FAIL", C="PASS"),
            record(3, "closed", {"status": "FAIL"}),
            checked(4, A="PASS", C="NEEDS_REVIEW", D="FAIL"),
            record(5, "closed", {"status": "FAIL"}),
        ]
    )
    assert trend.times == ("2026-01-04T08:00:00+00:00", "2026-01-02T08:00:00+00:00")
    assert trend.totals == ("1 FAIL, 1 NEEDS_REVIEW, 1 PASS", "1 FAIL, 2 PASS")
    assert [(item.item_id, item.statuses) for item in trend.items] == [
        # One that was removed from the batch stands where it stood last.
        ("B", (None, "FAIL")),
        ("D", ("FAIL", None)),
        ("C", ("NEEDS_REVIEW", "PASS")),
        ("A", ("PASS", "PASS")),
    ]
    assert [item.item_id for item in trend.changed_items] == ["C"]
    assert trend.to_json()["items"]["A"] == ["PASS", "PASS"]  # type: ignore[index,call-overload]


def test_a_journal_of_many_batches_shows_the_newest() -> None:
    trend = batch_trend([checked(number, A="PASS") for number in range(1, 26)])
    assert len(trend.times) == MOST_BATCHES and trend.times[0].startswith("2026-01-25")
    assert batch_trend([]).times == ()


def test_of_two_items_with_one_id_the_worse_counts() -> None:
    rows = [["a.yaml", "A", "PASS"], ["b.yaml", "A", "ERROR"], ["c.yaml", "B", "FAIL"]]
    for items in (rows, rows[::-1]):
        trend = batch_trend([record(1, CHECKED, {"items": items})])
        assert [(item.item_id, item.statuses) for item in trend.items] == [
            ("A", ("ERROR",)),
            ("B", ("FAIL",)),
        ]


def test_a_batch_knows_the_items_that_a_folder_stood_for() -> None:
    named = ["/chip"]
    assert batch_targets([record(1, "opened", {})], named) == named
    records = [checked(1, A="PASS"), checked(2, B="PASS", C="FAIL"), record(3, "closed", {})]
    assert batch_targets(records, named) == ["/chip/B.yaml", "/chip/C.yaml"]
