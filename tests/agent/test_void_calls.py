"""What must not run twice was carried out in what a call opened that is void by now: a person is asked."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.agent.world import PAY, World, rounds, text
from transom.agent import Agent
from transom.errors import NetworkFailed, Paused
from transom.llm import Asked, Block, Chain, Request, Role, ScriptedProvider, Tier, ToolCall
from transom.runs import Run, Stage, Workspace, text_file

DOUBT = "tool pay was carried out before"
MENDED = replace(SEAT, prompt=(Block("role", "You look things up well.", Tier.STABLE),))


def purpose_of(request: Request) -> str:
    return "".join(block.text for block in request.window.blocks if block.name == "purpose")


def sums_up(request: Request) -> bool:
    last = request.window.turns[-1]
    return isinstance(last, Asked) and last.text.startswith("Now sum up")


class House:
    """A stage, in which the program has a thing looked into, and then a tool another one, for which it pays."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace.at(folder)
        self.world = World()
        self.down = False

    def answer(self, request: Request) -> Any:
        if purpose_of(request) == "what is there":
            if self.down and sums_up(request):
                raise NetworkFailed("the line is dead")
            return text("There are bolts.")
        if request.role.endswith(".sub"):
            return text("found it") if rounds(request) else asks(PAY)
        return text("end") if rounds(request) else asks(look("it"))

    async def life(self, role: Role) -> None:
        async def work(stage: Stage) -> str:
            tools = [tool(self.world.look), *self.world.tools()]
            async with Agent(role, at=stage, tools=tools) as self.world.agent:
                sub = await self.world.agent.create_sub_conversation("what is there")
                await sub.send("Look.")
                await self.world.agent.complete_sub_conversation(sub.id)
                return (await self.world.agent.send("go")).text

        async with self.workspace.open_store() as store:
            chain = Chain((ScriptedProvider(self.answer),))
            run = await Run.open("test", {}, name="x", workspace=self.workspace, store=store, chain=chain)
            async with run:
                await run.stage("talk", work, out=text_file("talk.md"), reuse=False)


async def test_in_a_stage_that_goes_another_way_a_person_is_asked(tmp_path: Path) -> None:
    house = House(tmp_path)
    await house.life(SEAT)
    for _ in range(2):
        with pytest.raises(Paused, match=DOUBT):
            await house.life(MENDED)
    assert house.world.done == {"pay rent": 1}


@pytest.mark.parametrize("down", [False, True], ids=["nothing failed", "a sum-up failed"])
async def test_in_a_stage_that_goes_the_same_way_nobody_is(down: bool, tmp_path: Path) -> None:
    house = House(tmp_path)
    for house.down in (down, False):
        await house.life(SEAT)
    assert house.world.done == {"pay rent": 1}


class Deep:
    """A Home, in whose sub-conversation a tool opens another one of the agent, in which it is paid."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.world = folder, World()
        self.day, self.stopped = 0, asyncio.Event()

    async def answer(self, request: Request) -> Any:
        purpose = purpose_of(request)
        if sums_up(request) and purpose == "outer" and not self.day:
            self.stopped.set()
            await asyncio.sleep(3_600)
        if rounds(request) or sums_up(request):
            return text("found it")
        return asks({"": look("it", name="outer"), "outer": look("it", name="inner"), "inner": PAY}[purpose])

    async def outer(self, at: str) -> str:
        return await self._look("outer", f"Look at {at}, it is day {self.day}.")

    async def inner(self, at: str) -> str:
        return await self._look("inner", f"Look at {at}.")

    async def _look(self, purpose: str, says: str) -> str:
        sub = await self.world.agent.create_sub_conversation(purpose)
        await sub.send(says)
        return (await self.world.agent.complete_sub_conversation(sub.id)).text

    def agent(self) -> Agent:
        tools = [tool(self.outer, name="outer"), tool(self.inner, name="inner"), *self.world.tools()]
        return self.world.live(self.folder, self.answer, tools)


async def test_where_a_handler_says_something_else_a_person_is_asked_however_deep_it_was(tmp_path: Path) -> None:
    deep = Deep(tmp_path)
    async with deep.agent() as talking:
        sending = asyncio.create_task(talking.send("go"))
        await deep.stopped.wait()
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending
    deep.day = 1
    for _ in range(2):
        async with deep.agent() as talking:
            with pytest.raises(Paused, match=DOUBT):
                await talking.send("go")
    assert deep.world.done == {"pay rent": 1}


async def test_what_a_tool_of_a_delegated_conversation_that_failed_opened_elsewhere_is_in_doubt(tmp_path: Path) -> None:
    world = World()

    def answer(request: Request) -> Any:
        purpose = purpose_of(request)
        if not purpose:
            delegates = ToolCall("d", "delegate", {"purpose": "outer", "sources": ["look"]})
            return [asks(look("x")), asks(delegates), asks(PAY), text("end")][rounds(request)]
        if purpose == "outer" and rounds(request):
            raise NetworkFailed("the line is dead")
        if purpose == "outer":
            return asks(look("it", name="inner"))
        return text("found it") if rounds(request) or sums_up(request) else asks(PAY)

    async def inner(at: str) -> str:
        sub = await world.agent.create_sub_conversation("inner")
        await sub.send(at)
        return (await world.agent.complete_sub_conversation(sub.id)).text

    tools = [tool(), tool(inner, name="inner"), *world.tools()]
    world.agent = Agent(replace(SEAT, strategy="sub_conversation"), provider=ScriptedProvider(answer), tools=tools)
    async with world.agent as talking:
        with pytest.raises(Paused, match=DOUBT):
            await talking.send("go")
    assert world.done == {"pay rent": 1}
