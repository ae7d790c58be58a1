"""A verdict that a person overturned is not given again: the question about it is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.investigator.helpers import copy_of
from tests.investigator.running import Place
from transom.cli import main
from transom.investigator.lessons import DOMAIN
from transom.investigator.overturning import OverturnedInvestigation
from transom.investigator.result import Investigation
from transom.learning import Curator, Playbook

QUESTION = "Is Tool Maintenance Reminders ready for its next stage?"
WHY = "the pilot was stopped"


async def ask(place: Place, question: str = QUESTION) -> Investigation:
    with Playbook(place.workspace.database, domain=DOMAIN) as book:
        place.playbook = book
        return await place.ask(question)


def overturn(place: Place, feature: str, *more: str) -> None:
    runs = place.workspace.root / "runs" / "q"
    run = max(runs.iterdir(), key=lambda path: path.stat().st_mtime_ns).name
    at = ("--workspace", str(place.workspace.root), "--by", "Ann Lee", "-q")
    assert main(["check", "overturn", run, feature, *at, *more]) == 0


def test_a_ready_that_was_overturned_is_held_back_with_the_reason(tmp_path: Path) -> None:
    copy_of("feature1", tmp_path / "data")
    place = Place(tmp_path, tmp_path / "data")
    first = asyncio.run(ask(place))
    assert first.verdict == "READY"
    overturn(place, first.feature_id, "--reason", WHY)
    # Another wording of the question is the same question.
    again = asyncio.run(ask(place, "Can Tool Maintenance Reminders go to its next stage?"))
    assert (again.verdict, again.would_be) == ("NEEDS_JUDGEMENT", "READY")
    (cap,) = again.capped_by
    assert cap.rule == "overturned"
    assert cap.text.startswith("Ann Lee overturned this verdict: READY was wrong")
    assert WHY in cap.text
    assert "accept:" in cap.accept
    assert any(WHY in question for question in again.questions)
    # Retiring the insight ends it.
    with Playbook(place.workspace.database, domain=DOMAIN) as book:
        (key,) = [item.id for item in book.items.values() if WHY in item.content]
        Curator(book).retire(key, "a mistake", by="Ann Lee")
    assert asyncio.run(ask(place, "Is it ready, Tool Maintenance Reminders?")).verdict == "READY"


@pytest.mark.parametrize(
    ("verdict", "failed", "is_same"),
    [
        ("NOT_READY", {"tests.unit"}, True),
        ("NOT_READY", set(), True),
        # A criterion that had not failed then is a new reason.
        ("NOT_READY", {"tests.unit", "security.scan"}, False),
        ("READY", set(), False),
    ],
)
def test_a_new_reason_is_not_held_back(verdict: str, failed: set[str], is_same: bool) -> None:
    entry = OverturnedInvestigation("NOT_READY", frozenset({"tests.unit", "coverage"}), "Ann: no")
    assert entry.speaks_against(verdict, failed) is is_same
