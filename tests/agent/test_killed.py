"""A kill anywhere, and the same program again: nothing that the journal has is asked or done a
second time.
"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agent_driver import program
from tests.forked import records
from transom.agent.setup import KIND
from transom.llm import Chain, ScriptedProvider
from transom.runs import Run, Workspace


def journal(work: Path) -> tuple[list[str], int]:
    """The requests and calls of the journal, as the log has them, and the number of its records."""
    found: list[Any] = asyncio.run(records(work))
    came = [str(r.data["outcome"]["result"]["content"]) for r in found if r.kind == "tool_result"]
    tools = [one.replace("saw", "did") for one in came]
    return [*tools, *["asked" for r in found if r.kind == "model_reply"]], len(found)


def logged(work: Path) -> list[str]:
    log = work / "log.txt"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line if line.startswith("did") else "asked" for line in lines]


def approve_what_was_begun(work: Path) -> None:
    """A person says that a call which was begun is to be done again."""

    async def decide() -> None:
        workspace, chain = Workspace.at(work / "w"), Chain((ScriptedProvider({}),))
        async with workspace.open_store() as store:
            inputs: dict[str, Any] = {"name": "talk", "role": "t.seat"}
            async with await Run.open(
                KIND, inputs, name="talk", workspace=workspace, store=store, chain=chain
            ) as run:
                if run.state.waiting:
                    await run.decide("redo")

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
