"""A kill anywhere, and the same program again: nothing that the journal has is asked or done a second time."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agent_driver import program
from tests.forked import records
from transom.agent import Home
from transom.agent.home import open_desk
from transom.config import Settings
from transom.llm import Chain, ScriptedProvider


def journal(work: Path) -> tuple[list[str], int]:
    """What the journal says was asked and done, as the log has it, and the number of its records."""
    found: list[Any] = asyncio.run(records(work))
    tools = [str(r.data["outcome"]["result"]["content"]).replace("saw", "did") for r in found if r.kind == "tool"]
    return [*tools, *["asked" for r in found if r.kind == "reply"]], len(found)


def logged(work: Path) -> list[str]:
    log = work / "log.txt"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line if line.startswith("did") else "asked" for line in lines]


def approve_what_was_begun(work: Path) -> None:
    """A person says that a call which was begun is to be done again."""

    async def decide() -> None:
        chain = Chain((ScriptedProvider({}),))
        desk = await open_desk(Home(work / "w", "talk"), "t.seat", chain, Settings())
        assert desk.run is not None
        if desk.run.state.waiting:
            await desk.run.decide("redo")
        await desk.closing.aclose()

    asyncio.run(decide())


@pytest.mark.slow
@pytest.mark.fence
def test_after_a_kill_anywhere_nothing_journaled_is_asked_or_done_again(tmp_path: Path) -> None:
    whole = tmp_path / "0"
    whole.mkdir()
    assert program(whole, 0) == 0
    answer, everything = (whole / "answer.txt").read_text(), sorted(logged(whole))
    kept, appends = journal(whole)
    assert (sorted(kept), everything.count("asked")) == (everything, 6)
    for failpoint in range(1, appends + 1):
        work = tmp_path / str(failpoint)
        work.mkdir()
        status = program(work, failpoint)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, failpoint
        kept, _ = journal(work)
        (work / "log.txt").unlink(missing_ok=True)
        if program(work, 0) != 0:  # the call that must not run twice was begun: a person is asked
            assert "did c" not in logged(work)
            approve_what_was_begun(work)
            assert program(work, 0) == 0, failpoint
        assert sorted(kept + logged(work)) == everything, failpoint
        assert (work / "answer.txt").read_text() == answer, failpoint
