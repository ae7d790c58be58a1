"""However long or many the sources are, the main thread stays small; a killed investigation
loses nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.forked import attempt
from tests.investigator.helpers import READY, copy_of
from tests.investigator.running import Place, model
from transom.investigator.result import Investigation
from transom.investigator.rules import investigator_rules
from transom.llm import (
    AssistantMessage,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    estimate_tokens,
    render,
)
from transom.store import SqliteStore
from transom.testing import asks

QUESTION = "Is Tool Maintenance Reminders ready?"


def main_thread(log: list[Request]) -> int:
    return max(
        estimate_tokens(render(one).as_text()) for one in log if one.role == "investigator.main"
    )


def curious(log: list[Request]) -> ScriptedProvider:
    """A model that lists all features and documents and has some read again before it judges."""
    rules = investigator_rules()
    wishes = [
        asks("get_jira_data"),
        asks("list_docs", feature_id="maintenance-reminders"),
        asks("read_closely", task="Say what the cards are for, at length."),
    ]

    async def answer(request: Request) -> Reply:
        log.append(request)
        if request.role == "investigator.closely":
            return Reply((Text("They say where each tool is. " * 110),))
        said = sum(isinstance(turn, AssistantMessage) for turn in request.window.turns)
        if request.role == "investigator.main" and said < len(wishes):
            return Reply((wishes[said],), stop="tool_calls")
        return await rules.complete(request)

    return ScriptedProvider(answer)


@pytest.mark.slow
async def test_the_main_thread_stays_small_with_a_document_of_50_mb(tmp_path: Path) -> None:
    folder = copy_of(READY, tmp_path / "data")
    line = (
        "The depot keeps a record of everything that leaves it, and of everything that comes back"
        " to it.\n"
    )
    (folder / "planning" / "RECORDS.md").write_text(line * (50_000_000 // len(line)))
    log: list[Request] = []
    result = await Place(tmp_path, tmp_path / "data").ask(QUESTION, model({}, log))
    assert result.verdict == "READY"
    assert main_thread(log) < 8_000
    assert max(estimate_tokens(render(one).as_text()) for one in log) < 40_000


@pytest.mark.slow
async def test_the_main_thread_stays_small_with_a_thousand_documents(tmp_path: Path) -> None:
    folder = copy_of(READY, tmp_path / "data")
    text = (
        "Every tool has a card with its number, its depot and the day on which it was last looked"
        " at.\n" * 550
    )
    for number in range(1000):
        (folder / "planning" / f"CARD_{number:04d}.md").write_text(f"# Card {number}\n\n{text}")
    log: list[Request] = []
    result = await Place(tmp_path, tmp_path / "data").ask(QUESTION, curious(log))
    assert (result.verdict, len(result.sub_conversations)) == ("READY", 1014)
    main = [one for one in log if one.role == "investigator.main"]
    assert len(main) == 4
    assert "more; have them looked at" in str(main[-1].window.turns)
    assert main_thread(log) < 8_000
    assert sum(one.role == "investigator.merge" for one in log) > 80


class Killed:
    """An investigation in a process of its own, killed behind an append of its journal."""

    def __init__(self, work: Path, data: Path) -> None:
        self.work, self.data = work, data

    def walk(self, failpoint: int) -> int:
        def whole() -> None:
            count = 0

            def after_append(number: int) -> None:
                nonlocal count
                count = number
                if number == failpoint:
                    os.kill(os.getpid(), signal.SIGKILL)

            place = Place(self.work, self.data, after_append)
            log: list[Request] = []
            result = asyncio.run(place.ask(QUESTION, model({}, log)))
            found = {
                "result": json.loads(result.model_dump_json(by_alias=True)),
                "asked": [one.digest for one in log],
                "last": count,
            }
            (self.work / "found.json").write_text(json.dumps(found))

        return attempt(whole)

    def found(self) -> dict[str, Any]:
        return json.loads((self.work / "found.json").read_text())  # type: ignore[no-any-return]

    async def replies(self) -> int:
        async with SqliteStore.open(self.work / "w" / "state.db") as store:
            records = [record for stream in store.streams("run/") for record in store.read(stream)]
        return sum(record.kind in ("reply", "model_reply") for record in records)


@pytest.mark.slow
def test_a_kill_behind_every_append_changes_no_answer_and_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    folder = copy_of(READY, data)
    for path in [*(folder / "reviews").iterdir(), *(folder / "planning").iterdir()]:
        path.unlink() if path.name not in ("uat.json", "DESIGN_DOC.md") else None
    whole = Killed(tmp_path / "whole", data)
    assert whole.walk(0) == 0
    expected = whole.found()
    Investigation.model_validate(expected["result"])
    for failpoint in range(1, expected["last"]):
        killed = Killed(tmp_path / f"k{failpoint}", data)
        assert os.WIFSIGNALED(killed.walk(failpoint))
        journaled = asyncio.run(killed.replies())
        assert killed.walk(0) == 0
        found = killed.found()
        assert found["result"] == expected["result"], failpoint
        assert len(found["asked"]) <= len(expected["asked"]) - journaled, failpoint
