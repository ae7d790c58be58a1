"""What must not run twice was carried out in what a call opened that is void by now: a person is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.agent.world import PAY, World, rounds, text
from transom.agent import Agent
from transom.errors import NetworkFailed, Paused
from transom.llm import Block, Chain, Request, Role, ScriptedProvider, Tier, ToolCall, UserMessage
from transom.runs import Run, Stage, Workspace, text_file

DOUBT = "tool pay was carried out before"
MENDED = replace(SEAT, prompt=(Block("role", "You look things up well.", Tier.STABLE),))


def purpose_of(request: Request) -> str:
    return "".join(block.text for block in request.window.blocks if block.name == "purpose")


def sums_up(request: Request) -> bool:
    last = request.window.turns[-1]
    return isinstance(last, UserMessage) and last.text.startswith("Now sum up")


async def stage_life(folder: Path, answer: Callable[[Request], Any], work: Callable[[Stage], Awaitable[str]]) -> None:
    """The same run and stage each time."""
    workspace = Workspace.at(folder)
    async with workspace.open_store() as store:
        chain = Chain((ScriptedProvider(answer),))
        run = await Run.open("test", {}, name="x", workspace=workspace, store=store, chain=chain)
        async with run:
            await run.stage("talk", work, out=text_file("talk.md"), reuse=False)


class House:
    """A stage, in which the program has a thing looked into, and then a tool another one, for which it pays."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.world = folder, World()
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

        await stage_life(self.folder, self.answer, work)


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


async def test_what_was_done_later_on_another_way_is_in_doubt(tmp_path: Path) -> None:
    """With the prompt of before it was paid behind a look; the one of today does not look."""
    world, first = World(), [asks(look("it")), asks(PAY), text("end")]

    async def life(role: Role, *replies: Any) -> None:
        async def work(stage: Stage) -> str:
            async with Agent(role, at=stage, tools=[tool(), *world.tools()]) as agent:
                return (await agent.send("go")).text

        await stage_life(tmp_path, lambda request: replies[rounds(request)], work)

    await life(SEAT, *first)
    await life(SEAT)
    for _ in range(2):
        with pytest.raises(Paused, match=DOUBT):
            await life(MENDED, *first[1:])
    await life(SEAT)
    assert world.done == {"pay rent": 1}


async def test_what_is_done_after_something_else_was_said_is_no_doubt(tmp_path: Path) -> None:
    """In a stage, whose code says something else in its second life, before two conversations pay."""
    world = World()

    def answer(request: Request) -> Any:
        last = request.window.turns[-1]
        return text("hi") if not isinstance(last, UserMessage) or last.text.startswith("hello") else asks(PAY)

    async def life(number: int) -> None:
        async def work(stage: Stage) -> str:
            one, other = (Agent(SEAT, at=stage.named(name), tools=world.tools()) for name in ("one", "other"))
            await one.send(f"hello {number}")
            if number:
                await one.send("pay yours")
                await other.send("pay yours, too")
            return "done"

        await stage_life(tmp_path, answer, work)

    for number in (0, 1, 1):
        await life(number)
    assert world.done == {"pay rent": 2}


@pytest.mark.parametrize("deep", [False, True], ids=["there", "in what a call there opened"])
async def test_what_was_done_in_an_earlier_try_of_this_life_is_in_doubt(tmp_path: Path, *, deep: bool) -> None:
    """In a stage, where the next try is told something else, and goes another way from there."""
    world = World()

    def answer(request: Request) -> Any:
        purpose = purpose_of(request)
        if purpose == "what is there":
            return text("found it" if world.tries == 1 else "found more")
        if sums_up(request) or rounds(request):
            return text("found it")
        return asks({"": look("it", name="outer"), "outer": look("it") if deep else PAY}.get(purpose, PAY))

    async def outer(at: str) -> str:
        world.tries += 1
        sub = await world.agent.create_sub_conversation("outer")
        inner = await sub.create_sub_conversation("what is there")
        await inner.send("Look." if world.tries == 1 else "Look again.")
        await sub.complete_sub_conversation(inner.id)
        said = await sub.send(at)
        if world.tries <= (2 if deep else 1):  # of it and of `look`
            raise Paused("later", run_id="x")
        return said.text

    async def work(stage: Stage) -> str:
        tools = [tool(outer, name="outer"), tool(world.look), *world.tools()]
        async with Agent(SEAT, at=stage, tools=tools) as world.agent:
            with pytest.raises(Paused, match="later"):
                await world.agent.send("go")
            return str((await world.agent.go_on()).text)

    with pytest.raises(Paused, match=DOUBT):
        await stage_life(tmp_path, answer, work)
    assert world.done == {"pay rent": 1}
