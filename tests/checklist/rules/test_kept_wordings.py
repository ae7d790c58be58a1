"""Texts of shipped domains that must stay: kept sentences, keywords of waivers, drawn outputs.
No item is built.
"""

from __future__ import annotations

import pytest

from tests.acceptance.common import table
from transom.canonical import Json
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


@pytest.mark.parametrize(
    ("key", "line", "fields"),
    [
        ("worst_slack", "worst slack max 0.12", {"setup": {"printed": 0.12, "worst": 0.12}}),
        ("total_power", "Total Power: 1.25", {"power": {"total": 1.25}}),
        ("utilization", "Design area 5120 u^2 64.5% utilization.", {"area": {"utilization": 64.5}}),
    ],
)
def test_an_output_that_is_drawn_is_a_line_of_an_example(
    key: str, line: str, fields: dict[str, Json]
) -> None:
    domain = load_knowledge().domain(key)
    assert domain is not None
    assert (domain.examples[0]["matched_content"], domain.examples[0]["parsed_fields"]) == (
        line,
        fields,
    )
