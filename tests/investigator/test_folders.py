"""Whole folders of a feature: those that must not be READY, and those that must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from tests.investigator.folders import FolderRow, must_not_pass, must_pass, ready, text_of
from tests.sampled import sampled
from transom.investigator.deciding import decide
from transom.investigator.gathering import read_source, sources_of, unread
from transom.investigator.ledger import Ledger
from transom.investigator.policy import load_policy
from transom.investigator.sources import DataFolder
from transom.investigator.subject import named_in

BAD, GOOD = list(must_not_pass()), list(must_pass())
AS_OF = date(2026, 9, 20)

Judge = Callable[[FolderRow, Path], tuple[str, str]]
"""Returns the verdict on a folder, and its reasons."""


def judged(row: FolderRow, root: Path) -> tuple[str, str]:
    """Judge a folder with the rules alone."""
    for path, content in {**ready(), **row.put}.items():
        if content is not None:
            place = root / "loan-renewal" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text_of(content))
    data, policy = DataFolder(root), load_policy()
    feature = data.features[0]
    decision = decide(
        policy,
        feature,
        [read_source(data, ref) for ref in sources_of(data, feature)],
        Ledger(data.read),
        current=policy.stage_of(feature.status, feature.category),
        target="Production",
        waivers=(),
        as_of=AS_OF,
        unread=unread(data, feature),
        named=named_in(row.question),
    )
    open_criteria = [one for one in decision.criteria if one.status != "pass" and one.required]
    reasons = [f"{one.name}: {one.why}" for one in open_criteria]
    reasons += [cap.text for cap in decision.capped_by]
    return decision.verdict, "\n".join(reasons)


def is_right(row: FolderRow, verdict: str, reasons: str, *, must_be_ready: bool) -> bool:
    """Return whether a verdict is the one that the table asks for, with its reason."""
    if must_be_ready:
        return verdict == "READY"
    return verdict != "READY" and bool(reasons) and row.word.casefold() in reasons.casefold()


@pytest.mark.parametrize("row", sampled(BAD, every=4), ids=lambda row: row.name)
def test_a_folder_that_must_not_pass(row: FolderRow, tmp_path: Path) -> None:
    verdict, reasons = judged(row, tmp_path)
    assert is_right(row, verdict, reasons, must_be_ready=False), (verdict, reasons)


@pytest.mark.parametrize("row", sampled(GOOD, every=4), ids=lambda row: row.name)
def test_a_folder_that_must_pass(row: FolderRow, tmp_path: Path) -> None:
    for suffix, module in ((".docx", "docx"), (".pdf", "pypdf")):
        if any(path.endswith(suffix) for path, content in row.put.items() if content is not None):
            pytest.importorskip(module, reason="the extra `documents` is not installed")
    verdict, reasons = judged(row, tmp_path)
    assert is_right(row, verdict, reasons, must_be_ready=True), (verdict, reasons)


def test_two_stand_ins_fail_the_tables() -> None:
    for row in BAD:
        assert not is_right(row, "READY", "", must_be_ready=False), row.name
        assert not is_right(row, "NEEDS_JUDGEMENT", "", must_be_ready=False), row.name
    for row in GOOD:
        assert not is_right(row, "NEEDS_JUDGEMENT", "", must_be_ready=True), row.name


def test_the_tables_are_large_and_each_row_is_its_own() -> None:
    assert (len(BAD), len(GOOD)) >= (300, 120)
    for rows in (BAD, GOOD):
        names = Counter(row.name for row in rows)
        assert names.most_common(1)[0][1] == 1, names.most_common(3)
