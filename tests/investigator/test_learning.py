"""What one investigation got wrong the next one is shown, and what was named there gains or
loses standing.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.investigator.helpers import copy_of
from tests.investigator.running import Place, model, opinion
from transom.cli import main
from transom.investigator.lessons import DOMAIN, take_judgement
from transom.investigator.result import Judgement
from transom.learning import InsightCategory, Playbook
from transom.llm import Request
from transom.runs import Run, Workspace

FIRST, SECOND = "Is Tool Maintenance Reminders ready for its next stage?", "Can the kiosk go live?"
BARE = opinion("NOT_READY", "22 tests failed.")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for folder in ("feature1", "feature2"):
        target = copy_of(folder, tmp_path / "data")
        for path in [*(target / "reviews").iterdir(), *(target / "planning").iterdir()]:
            path.unlink() if path.name != "DESIGN_DOC.md" else None
    return Place(tmp_path, tmp_path / "data")


@pytest.mark.slow
def test_a_struck_sentence_is_learned_shown_named_and_judged_by_a_person(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    log: list[Request] = []
    with Playbook(place.workspace.database, domain=DOMAIN) as book:
        place.playbook = book
        result = asyncio.run(place.ask(FIRST, model({"main": BARE}, log)))
        assert [one.where for one in result.unsupported_claims] == ["justification"]
        assert not any(one.window.text("playbook") for one in log)
        (learned,) = book.items.values()
        assert (learned.category, learned.scope) == (InsightCategory.MISTAKE, "domain/investigator")
        assert (
            learned.content
            == "A figure stood without the id of its evidence: N has no evidence beside it"
        )
        assert (learned.sources[0].stage, learned.net_score) == ("verdict", 0)

        log.clear()
        named = opinion("NOT_READY", f"It is not ready [{learned.id}].")
        result = asyncio.run(place.ask(SECOND, model({"main": named}, log)))
        assert (result.justification, result.unsupported_claims) == ("It is not ready.", [])
        shown = [
            one.window.text("playbook") or ""
            for one in log
            if one.role.endswith(("main", "reader"))
        ]
        assert all(learned.line in text for text in shown), "readers and main thread see it"
        assert book.require(learned.id).net_score == 1, (
            "being shown counts for nothing, being named does"
        )
        asyncio.run(place.ask(SECOND, model({"main": named})))
        assert book.require(learned.id).net_score == 1, (
            "a run that is opened again counts nothing twice"
        )
        before = {one.id for one in book.items.values()}

    at = ("--workspace", str(place.workspace.root), "--by", "Ann Lee")
    run = _newest(place.workspace)
    assert main(["check", "confirm", run, "feature1", *at]) == 2
    assert f"the verdict is on {result.feature_id}, not on feature1" in capsys.readouterr().err
    assert main(["check", "confirm", run, result.feature_id, *at]) == 0
    assert f"counted for {learned.id}" in capsys.readouterr().out
    assert (
        main(
            [
                "check",
                "overturn",
                run,
                result.feature_id,
                *at,
                "--reason",
                "the kiosk of the pilot is open",
            ]
        )
        == 0
    )
    with Playbook(place.workspace.database, domain=DOMAIN) as book:
        assert book.require(learned.id).helpful_count == 2
        assert book.require(learned.id).harmful_count == 1
        (word,) = [one for one in book.items.values() if one.id not in before]
    assert word.content.endswith("the kiosk of the pilot is open")
    assert word.content.startswith("NOT_READY was wrong for")


async def test_a_verdict_above_a_failed_gate_and_a_persons_judgement_are_learned(
    place: Place,
) -> None:
    with Playbook(domain=DOMAIN) as book:
        place.playbook = book
        result = await place.ask(SECOND, model({"main": opinion("READY", "All is well.")}))
        assert result.verdict == "NOT_READY"
        assert any(
            "better than what was found allows" in one.content for one in book.items.values()
        )
        said = Judgement(
            verdict="READY", by="Ann Lee", reason="the pilot showed it", asked="NEEDS_JUDGEMENT"
        )

        async def judge(run: Run, _: object) -> object:
            take_judgement(run, book, result.model_copy(update={"judgement": said}))
            return result

        await place.ask("again", work=judge)
        assert any(
            one.content.endswith("was judged READY: the pilot showed it")
            for one in book.items.values()
        )


def _newest(workspace: Workspace) -> str:
    return max(
        (workspace.root / "runs" / "q").iterdir(), key=lambda path: path.stat().st_mtime_ns
    ).name
