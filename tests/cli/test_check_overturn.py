"""What a person overturned once does not come again: the item keeps it, and asks what it means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.checks import EXAMPLES, Desk
from transom.checklist.item import load_item
from transom.errors import InputError

WHY = "the report is of another corner"


ITEM = """\
# A claim: its checker is written at once.
description: Confirm that setup timing is met.
requirements: {value: N/A, pattern_items: []}
waivers: {value: N/A, waive_items: []}
input_files: ["timing.rpt"]
"""
REPORT = (EXAMPLES / "data/updown/setup_signoff.rpt").read_text("utf-8")
BAD_REPORT = REPORT.replace("0.58 (MET)", "-0.58 (VIOLATED)")


def timing(desk: Desk, report: str = REPORT) -> dict[str, Any]:
    """Return the verdict of the item on a report."""
    (desk.here / "timing.rpt").write_text(report, "utf-8")
    document: dict[str, Any] = desk(
        "check", "all", "TIMING.yaml", "--format", "json", "-q"
    ).document
    return document


def overturn(desk: Desk, *more: str) -> str:
    word = desk("check", "overturn", "TIMING", "TIMING", "--by", "Ann Lee", *more)
    assert word.code == 0, word
    return word.out


@pytest.fixture
def desk(here: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
    (here / "TIMING.yaml").write_text(ITEM, "utf-8")
    return Desk(here, capfd)


def test_a_pass_that_was_overturned_waits_for_a_person(desk: Desk) -> None:
    assert timing(desk)["status"] == "PASS"
    assert "does not end with PASS again" in overturn(desk, "--reason", WHY)
    # The next report is judged by the same meaning, so it waits, too.
    for report in (REPORT, REPORT.replace(" 1.15", " 1.16")):
        verdict = timing(desk, report)
        assert (verdict["status"], verdict["would_be"]) == ("NEEDS_REVIEW", "PASS")
        assert [(cap["rule"], cap["text"]) for cap in verdict["capped_by"]] == [
            ("overturned", f"Ann Lee overturned PASS of this item: {WHY}")
        ]
    # The item asks again for its meaning, without the one that was wrong.
    claims = [row["reads_as"].get("claim") for row in verdict["readings"]]
    assert "timing_met" in claims and "setup_met" not in claims
    assert "transom check teach TIMING.yaml" in verdict["warnings"][0]["message"]
    # A FAIL was never overturned.
    assert timing(desk, BAD_REPORT)["status"] == "FAIL"


def test_another_meaning_is_judged_anew(desk: Desk) -> None:
    timing(desk)
    overturn(desk, "--reason", WHY)
    waiting = timing(desk)
    claims = [row["reads_as"].get("claim") for row in waiting["readings"]]
    number = str(claims.index("timing_met") + 1)
    desk("answer", waiting["run_id"], "--choose", number, "--by", "Ann Lee", "-q")
    verdict = timing(desk)
    claim = load_item(desk.here / "TIMING.yaml").claim
    assert claim is not None and claim.name == "timing_met"
    assert not any(cap["rule"] == "overturned" for cap in verdict.get("capped_by", ()))
    # The report has no hold timing, so the item must not pass by this meaning.
    assert verdict["status"] != "PASS"


def test_a_person_can_accept_the_pass_by_name(desk: Desk) -> None:
    timing(desk)
    overturn(desk)
    run = timing(desk)["run_id"]
    assert desk("answer", run, "--accept", "1", "--by", "Bo", "-q").code == 0
    verdict = timing(desk)
    assert verdict["status"] == "PASS"
    assert [row["by"] for row in verdict["accepted_caps"]] == ["Bo"]


def test_a_fail_that_was_overturned_is_neither_fail_nor_pass(desk: Desk) -> None:
    assert timing(desk, BAD_REPORT)["status"] == "FAIL"
    overturn(desk)
    verdict = timing(desk, BAD_REPORT)
    assert (verdict["status"], verdict.get("would_be")) == ("NEEDS_REVIEW", None)
    # What was violated is still shown.
    assert len(verdict["missing_items"]) == 1
    # The decision is kept once.
    assert "keeps it" not in overturn(desk)
    assert len(load_item(desk.here / "TIMING.yaml").overturned) == 1


def test_a_confirmed_verdict_changes_no_item(desk: Desk) -> None:
    timing(desk)
    assert desk("check", "confirm", "TIMING", "TIMING", "--by", "Ann Lee").code == 0
    assert (desk.here / "TIMING.yaml").read_text("utf-8") == ITEM


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("overturned: yes it is\n", "overturned is not a list"),
        ("overturned: [{status: ERROR, by: Ann, meaning: a}]\n", "status is not PASS or FAIL"),
        ("overturned: [{status: PASS, meaning: a}]\n", "an entry has no by"),
        ("overturned: [{status: PASS, by: Ann, since: 3}]\n", "since"),
    ],
)
def test_a_wrong_entry_is_an_error_with_its_line(tmp_path: Path, entry: str, message: str) -> None:
    path = tmp_path / "ITEM.yaml"
    path.write_text(f"description: Confirm that it runs.\n{entry}", "utf-8")
    with pytest.raises(InputError, match=message) as caught:
        load_item(path)
    assert caught.value.place == f"{path}:2"
