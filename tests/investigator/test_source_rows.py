"""A sentence without a citation is held to the row of its source that has most of its words."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from transom.evidence.claims import Support, is_shown_by_row
from transom.investigator.source_rows import rows_of

CSV = (
    "Type,Name,Request Count,Failure Count,p95,Max\n"
    "GET,/orders,18000,0,120,610\n"
    "POST,/swaps,6000,90,1900,5200\n"
)
XML = (
    '<report name="shop"><package name="shop/cart">'
    '<counter type="LINE" missed="180" covered="420"/></package><package name="shop/pay">'
    '<counter type="LINE" missed="60" covered="1340"/></package></report>'
)
DATA = json.dumps(
    {
        "users": 150,
        "specs": [
            {"title": "keeps a photo", "status": "passed", "duration": 2300},
            {"title": "sends a swap", "status": "failed", "duration": 31000},
        ],
    }
)
TABLE = (
    "# UAT\n\n| case | runs | passed | failed |\n|---|---|---|---|\n| In a cellar | 25 | 19 | 6 |\n"
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (CSV, "90 of 6,000 requests to /swaps failed, which is 1.5 %."),
        (CSV, "The p95 of /swaps is 1.9 seconds."),
        (XML, "Of shop/cart 420 of 600 lines, 70 %, are covered."),
        (XML, "shop/pay is covered to 96 %."),
        (DATA, "The test had 150 users."),
        (DATA, '"sends a swap" failed after 31 seconds.'),
        (TABLE, "In a cellar 6 of 25 runs failed, which is 24 %."),
    ],
)
def test_the_row_of_its_words_shows_a_sentence(text: str, sentence: str) -> None:
    assert is_shown_by_row(sentence, [], rows_of(text, "s"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (CSV, "POST /swaps had 900 failures in 6,000 requests."),
        (CSV, "The p95 of /orders is 1.9 seconds."),
        (XML, "shop/cart is covered to 96 %."),
        (DATA, '"sends a swap" passed.'),
        (DATA, '"keeps a photo" took 31 seconds.'),
        (TABLE, "In a cellar 9 of 25 runs failed."),
        (TABLE, "All 25 runs in a cellar passed."),
    ],
)
def test_another_row_shows_nothing_of_it(text: str, sentence: str) -> None:
    assert not is_shown_by_row(sentence, [], rows_of(text, "s"))


def test_numbers_of_prose_belong_to_the_words_behind_them() -> None:
    note = {"note": "The gateway is planned for 900 boxes. In the pilot 42 boxes were on the road."}
    rows = rows_of(json.dumps(note), "s")
    assert is_shown_by_row("In the pilot 42 boxes were on the road.", [], rows)
    assert not is_shown_by_row("In the pilot 900 boxes were on the road.", [], rows)


def test_a_row_shows_no_other_value_than_the_one_that_is_cited() -> None:
    cited = Support(Decimal(120), "ms", "latency p95 /orders")
    rows = rows_of(CSV, "s")
    assert not is_shown_by_row("The slowest of /orders took 610 ms.", [cited], rows)


def test_long_rows_and_broken_sources_have_none() -> None:
    assert rows_of("<report", "s") == ()
    assert rows_of(json.dumps({"text": "x" * 900}), "s") == ()


@pytest.mark.parametrize("text", ["", " \n\t\n"])
@pytest.mark.parametrize("source", ["a/plan.md", "a/scan.json", "a/tests.xml"])
def test_an_empty_source_has_no_rows(text: str, source: str) -> None:
    assert rows_of(text, source) == ()
