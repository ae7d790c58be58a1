"""Kept sentences and keywords of waivers: as many are read as ever, at no cost, since no item is built."""

from __future__ import annotations

import pytest

from tests.acceptance.common import table
from transom.checklist.rules import load_knowledge
from transom.checklist.rules.reading import read_description
from transom.errors import NeedsModel

UNREAD = {("EDA-S-01", "m1"), ("EDA-S-01", "m6"), ("EDA-S-07", "m9")}


def test_no_kept_rewording_is_lost() -> None:
    knowledge, unread, count = load_knowledge(), set(), 0
    for name in ("rewordings.yaml", "rewordings_more.yaml", "rewordings_domains.yaml"):
        for item_id, rows in table(name).items():
            for row in rows:
                count += 1
                try:
                    read_description(row["description"], knowledge)
                except NeedsModel:
                    unread.add((item_id, row["id"]))
    assert (count, unread) == (85, UNREAD)


@pytest.mark.parametrize("key", ["total_power", "utilization", "worst_slack"])
def test_keywords_that_waive_a_limit_stay(key: str) -> None:
    domain = load_knowledge().domain(key)
    assert domain is not None
    words = [word for waiver in domain.waivers for word in waiver.keywords]
    assert words == ["deviation", "agreed", "ECO", "preliminary", "estimate"]
