"""A message that was left without its answer is left so as the program heard of it, whatever came first inside."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home
from transom.errors import Paused
from transom.llm import ScriptedProvider
from transom.runs import Run


async def test_a_stop_behind_a_pause_is_a_stop_in_later_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes while what the message did is being written; the program goes on, and would end with a pause."""
    settle = Run.settle

    async def stopped(run: Run) -> None:
        task = asyncio.current_task()
        assert task
        if run.state.waiting:
            task.cancel()
            await asyncio.sleep(0)
        await settle(run)

    async def program(*answers: Any) -> tuple[str, str]:
        provider = ScriptedProvider({SEAT.name: list(answers)})
        tools = [tool(needs_approval=True)]
        async with Agent(SEAT, provider=provider, tools=tools, at=Home(tmp_path, "t")) as agent:
            ended: str
            try:
                ended = (await asyncio.wait_for(asyncio.create_task(agent.send("one")), 20)).ended
            except (asyncio.CancelledError, TimeoutError):
                ended = "stopped"
            except Paused:
                ended = "paused"
            monkeypatch.undo()
            return ended, (await agent.send("two")).text

    monkeypatch.setattr(Run, "settle", stopped)
    assert await program(asks(look("it")), "two it is") == ("stopped", "two it is")
    assert [await program() for _ in range(2)] == [("stopped", "two it is")] * 2
