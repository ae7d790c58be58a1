"""An agent is closed while tasks of the program still talk in it: they come to an end, and leave nothing open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT
from transom.agent import Agent, Home
from transom.errors import NetworkFailed
from transom.llm import Request, ScriptedProvider


class Line:
    """Sub-conversations by purpose: `two` fails the first time, others take a while."""

    def __init__(self) -> None:
        self.failed = False
        self.ended: list[str] = []
        self.provider = ScriptedProvider(self.answer)

    async def answer(self, request: Request) -> str:
        purpose = request.window.text("purpose").strip()
        if purpose == "two" and not self.failed:
            self.failed = True
            await asyncio.sleep(0.01)
            raise NetworkFailed("the line is dead")
        await asyncio.sleep(0.1)
        self.ended.append(purpose)
        return "text"


async def look_into(agent: Agent, purpose: str, wait: float = 0) -> str:
    await asyncio.sleep(wait)  # a download, before it asks
    sub = await agent.create_sub_conversation(purpose)
    await sub.send(f"go {purpose}")
    return (await agent.complete_sub_conversation(sub.id)).text


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "temporary"])
async def test_a_program_sees_its_own_error_although_others_still_talk(kept: bool, tmp_path: Path) -> None:
    line = Line()
    with pytest.raises(NetworkFailed, match="the line is dead"):
        async with Agent(SEAT, provider=line.provider, at=Home(tmp_path, "t") if kept else None) as agent:
            work = [look_into(agent, one) for one in ("one", "two", "three")]
            await asyncio.gather(*work, look_into(agent, "four", wait=0.05))  # while it is closed
    assert {"one", "three"} <= {*line.ended}, "what was under way came to its end"
