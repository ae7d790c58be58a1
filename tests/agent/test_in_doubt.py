"""A tool that must not run twice, begun and cut off: only a person knows what came of it,
whatever follows.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from transom.agent import Agent, Budget, Home
from transom.cli.app import main
from transom.errors import Paused


class Till:
    """Pays; the first time it comes to no end."""

    def __init__(self) -> None:
        self.paid = 0
        self.begun = asyncio.Event()

    async def pay(self, at: str) -> str:
        self.paid += 1
        if self.paid == 1:
            self.begun.set()
            await asyncio.sleep(3_600)
        return f"paid {at}"


def agent(folder: Path, till: Till | None, *replies: Any, turns: int = 9) -> Agent:
    tools = [tool(till.pay, name="pay", effect="once")] if till else []
    return Agent(
        SEAT,
        provider=scripted(*replies),
        tools=tools,
        at=Home(folder, "t"),
        budget=Budget(turns=turns),
    )


async def cut_off(talking: Agent, till: Till) -> None:
    sending = asyncio.create_task(talking.send("pay the rent"))
    await till.begun.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending


PAY = asks(look("rent", name="pay"))
UNKNOWN = "pay was begun, and whether it was carried out is not known"


async def test_after_another_message_the_same_call_waits_for_a_person(tmp_path: Path) -> None:
    till = Till()
    async with agent(tmp_path, till, PAY, PAY) as talking:
        await cut_off(talking, till)
        with pytest.raises(Paused, match=UNKNOWN):
            await talking.send("go on")
    assert till.paid == 1
    async with agent(tmp_path, till) as talking:  # and so it does in the next life
        with pytest.raises(Paused, match=UNKNOWN):
            await talking.resume()
    assert till.paid == 1


async def test_in_the_next_life_it_waits_before_and_behind_another_message(tmp_path: Path) -> None:
    till = Till()
    async with agent(tmp_path, till, PAY) as talking:
        await cut_off(talking, till)
    async with agent(tmp_path, till, PAY) as talking:
        with pytest.raises(Paused, match=UNKNOWN):
            await talking.resume()
        with pytest.raises(Paused, match=UNKNOWN):
            await talking.send("go on")
    assert till.paid == 1


@pytest.mark.parametrize("there", [True, False], ids=["no turn is left", "the tool is gone"])
async def test_it_waits_whatever_caps_and_tools_are_today(tmp_path: Path, *, there: bool) -> None:
    till = Till()
    async with agent(tmp_path, till, PAY) as talking:
        await cut_off(talking, till)
    async with agent(tmp_path, till if there else None, turns=0 if there else 9) as talking:
        with pytest.raises(Paused, match=UNKNOWN):
            await talking.resume()
    assert till.paid == 1


def test_what_a_person_said_was_done_is_not_done_again_for_an_equal_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    till, root = Till(), tmp_path / ".transom"

    async def first() -> None:
        async with agent(root, till, PAY) as talking:
            await cut_off(talking, till)

    async def next_life(*replies: Any) -> None:
        async with agent(root, till, *replies) as talking:
            await talking.resume()

    asyncio.run(first())
    with pytest.raises(Paused, match=UNKNOWN) as paused:
        asyncio.run(next_life())
    monkeypatch.chdir(tmp_path)
    assert main(["answer", paused.value.run_id, "keep"]) == 0
    with pytest.raises(Paused, match=UNKNOWN):
        asyncio.run(next_life(PAY))
    assert till.paid == 1
