"""Blocks and items as one table with the worst first, and the trend since an earlier result."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tests.checklist.judging.test_reports import verdict
from transom.checklist.judging import (
    REPORTS,
    BlockItem,
    ReportContext,
    Violation,
    block_items,
    report,
    roll_up,
    together,
    trend_of,
)
from transom.checklist.judging.baseline import VerdictBaseline

CHECKS = [
    verdict("DRC", "PASS"),
    verdict("STA", "PASS"),
    verdict("DRC", "PASS"),
    verdict("STA", "FAIL"),
    verdict("DRC", "ERROR"),
]
BLOCKS = ["cpu", "cpu", "gpu", "gpu", "usb"]
PLACES = tuple(BlockItem(block, check.item_id) for block, check in zip(BLOCKS, CHECKS, strict=True))


def test_the_worst_block_and_the_worst_item_come_first() -> None:
    table = roll_up(CHECKS, PLACES)
    assert table is not None
    assert table.items == ("DRC", "STA")
    assert [row.block for row in table.rows] == ["usb", "gpu", "cpu"]
    assert table.rows[0].statuses == ("ERROR", None)
    assert table.rows[1].statuses == ("PASS", "FAIL")
    assert [row.totals for row in table.rows] == ["1 ERROR", "1 FAIL, 1 PASS", "2 PASS"]


def test_items_of_one_block_make_no_table() -> None:
    assert roll_up(CHECKS[:2], PLACES[:2]) is None
    assert roll_up(CHECKS[1:3], PLACES[1:3]) is None
    assert roll_up([], []) is None


@pytest.mark.parametrize(
    ("paths", "blocks"),
    [
        (["a/cpu/STA.yaml", "a/gpu/STA.yaml"], ["cpu STA", "gpu STA"]),
        (["a/STA.yaml", "a/gpu/ss/STA.yaml"], [". STA", "gpu/ss STA"]),
        (["a/STA.yaml", "a/DRC.yaml"], [". STA", ". DRC"]),
        ([], []),
    ],
)
def test_a_block_is_the_folder_below_the_shared_one(paths: list[str], blocks: list[str]) -> None:
    places = block_items([Path(path) for path in paths])
    assert [" ".join(place) for place in places] == blocks


def violation(name: str, file: str) -> Violation:
    entry: dict[str, Any] = {"id": "2.1", "name": name, "source_file": file, "reason": "negative"}
    return Violation(**entry, line_number=3, matched_content=f"{name} -0.2")


def write_baseline(folder: Path) -> VerdictBaseline:
    before = together(
        [
            verdict("STA", "FAIL", missing_items=(violation("r1", "cpu/sta.rpt"),)),
            verdict("STA", "FAIL", missing_items=(violation("r1", "gpu/sta.rpt"),)),
            verdict("DRC", "PASS"),
            verdict("LVS", "PASS"),
        ]
    )
    path = folder / "monday.json"
    path.write_bytes(report("json", before))
    return VerdictBaseline(path)


def test_the_trend_counts_what_got_worse_and_names_it(tmp_path: Path) -> None:
    baseline = write_baseline(tmp_path)
    now = [
        verdict("STA", "PASS"),
        verdict("STA", "FAIL", missing_items=(violation("r1", "gpu/sta.rpt"),)),
        verdict("DRC", "NEEDS_REVIEW"),
        verdict("ERC", "PASS"),
    ]
    compared = [baseline.compare(check) for check in now]
    assert compared[1].nothing_new
    line = trend_of(compared, baseline.statuses)
    assert "1 worse, 1 better, 1 unchanged, 1 new, 1 not checked any more" in line
    assert "violations: 0 new, 1 known" in line
    assert line.endswith("worse: DRC (PASS before)")


def test_violations_of_two_blocks_are_both_known(tmp_path: Path) -> None:
    baseline = write_baseline(tmp_path)
    for file in ("cpu/sta.rpt", "gpu/sta.rpt"):
        check = verdict("STA", "FAIL", missing_items=(violation("r1", file),))
        assert baseline.compare(check).nothing_new, file
    other = verdict("STA", "FAIL", missing_items=(violation("r2", "cpu/sta.rpt"),))
    assert not baseline.compare(other).nothing_new


def test_every_report_has_the_sentence_of_the_item() -> None:
    sentences = {"DRC": "DRC is clean on the merged layout.", "STA": "Setup timing is met."}
    context = ReportContext(descriptions=sentences)
    for kind in REPORTS:
        # The JSON document is the verdict itself.
        if kind in ("json", "sarif"):
            continue
        text = report(kind, together(CHECKS[1:3]), context).decode("utf-8-sig")
        for sentence in sentences.values():
            assert sentence in text, kind
    waiting = verdict("DRC", "NEEDS_REVIEW")
    assert sentences["DRC"] in report("sarif", waiting, context).decode("utf-8")
    assert sentences["DRC"] in report("text", waiting, context).decode("utf-8").splitlines()[1]


def test_a_page_and_a_sheet_show_the_blocks_and_the_trend() -> None:
    trend = "since the baseline: 1 worse"
    context = ReportContext(places=PLACES, trend=trend)
    page = report("html", together(CHECKS), context).decode("utf-8")
    assert page.index(trend) < page.index("<th>Block</th><th>DRC</th><th>STA</th>")
    assert page.index("<td>usb</td>") < page.index("<td>gpu</td>") < page.index("<td>cpu</td>")
    assert "<td>1 FAIL, 1 PASS</td>" in page
    rows = csv.DictReader(io.StringIO(report("csv", together(CHECKS), context).decode("utf-8-sig")))
    assert [(row["block"], row["item"]) for row in rows] == [
        (block, check.item_id) for block, check in zip(BLOCKS, CHECKS, strict=True)
    ]
    assert report("text", together(CHECKS), context).decode("utf-8").endswith(f"{trend}\n")
