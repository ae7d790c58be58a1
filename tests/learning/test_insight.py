from __future__ import annotations

import itertools

import pytest

from transom.errors import InputError
from transom.learning import Insight, InsightCategory, Playbook
from transom.learning.insight import supports

MIS, STR = InsightCategory.MISTAKE, InsightCategory.STRATEGY


def insight(helpful: int, harmful: int, against: int | None = None, **more: str) -> Insight:
    count = harmful if against is None else against
    return Insight("str-00001", STR, "x", helpful, harmful, count, **more)  # type: ignore[arg-type]  # texts all


def test_the_usual_figures_are_shown_and_the_lower_bound_orders() -> None:
    untested, one, many, mixed, bad = (
        insight(*pair) for pair in ((0, 0), (1, 0), (8, 1), (3, 3), (0, 4))
    )
    assert (untested.net_score, untested.confidence) == (0, 0.5)
    assert (many.net_score, many.confidence) == (7, 8 / 9)
    assert one.confidence > many.confidence
    order = [many, one, mixed, untested, bad]
    assert [item.lower_bound for item in order] == sorted(
        (item.lower_bound for item in order), reverse=True
    )
    bounds = [insight(n, 0).lower_bound for n in range(20)]
    assert all(0 < low < high < 1 for low, high in itertools.pairwise(bounds))


def test_decay_orders_anew_and_hides_nothing() -> None:
    fresh = insight(8, 0, last_used="2026-11-01T00:00:00Z")
    old = insight(8, 0, last_used="2020-01-01T00:00:00")
    weak = insight(1, 1, created_at="2026-11-01T00:00:00Z")
    now = "2026-11-02T00:00:00Z"
    assert fresh.standing(now) > old.standing(now) > weak.standing(now)
    assert old.lower_bound / 2 < old.standing(now) < old.lower_bound * 0.51
    assert (
        insight(8, 0, last_used="2030-01-01T00:00:00Z").standing(now) == insight(8, 0).lower_bound
    )
    confirmed = insight(
        8, 0, created_at="2020-01-01T00:00:00Z", confirmed_at="2026-11-01T00:00:00Z"
    )
    assert confirmed.standing(now) == fresh.standing(now)
    assert insight(1, 0, created_at="not a date").standing(now) > 0


@pytest.mark.parametrize(
    ("category", "good", "followed", "speaks_for_it"),
    [
        (STR, True, None, True),
        (STR, False, None, False),
        (STR, True, False, False),
        (STR, False, False, True),
        (MIS, True, None, True),  # heeded, and fine
        (MIS, False, None, True),  # made, and failed
        (MIS, True, False, False),  # made, and fine
        (MIS, False, True, False),  # heeded, and failed
    ],
)
def test_what_an_outcome_says(
    category: InsightCategory, good: bool, followed: bool | None, speaks_for_it: bool
) -> None:
    assert supports(category, good, followed) is speaks_for_it


def test_categories_go_by_code_and_by_name() -> None:
    assert InsightCategory.named("mis") is InsightCategory.named("MISTAKE") is MIS
    with pytest.raises(InputError, match=r"unknown category 'rule'.*str \(strategy\)"):
        InsightCategory.named("rule")


@pytest.mark.parametrize(
    "text", ["2024-13", "2024-00", "0000", "0000-05", "2024-1", "24", "2024-99"]
)
def test_a_month_or_year_that_no_calendar_has_is_no_bound(text: str) -> None:
    with pytest.raises(InputError, match="is not a date"):
        Playbook().add_insight(STR, "x", valid_from=text)


@pytest.mark.parametrize("text", ["2024-12", "2024-01", "2024-10", "2024", "2024-09-30", ""])
def test_a_bound_is_kept_as_precisely_as_it_is_written(text: str) -> None:
    assert Playbook().add_insight(STR, "x", valid_from=text).valid_from == text
