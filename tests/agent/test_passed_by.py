"""What a handler said in a conversation that it did not open: later lives, which do not call it again, pass it by."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home
from transom.context import Mark
from transom.errors import NetworkFailed, RunError
from transom.llm import Chain, Reply, Request, ScriptedProvider, Text, ToolResults, Turn, UserMessage
from transom.runs import Run, Stage, Workspace, text_file
from transom.tools import ToolLimits

Came: TypeAlias = tuple[list[tuple[Turn, ...]], Any]
"""The turns of each answer, and what was used."""


class Over(BaseException):
    """The process ends."""


def last_asked(request: Request) -> tuple[str, int]:
    """What was asked last, and how many results came since."""
    turns = request.window.turns
    at, text = [(at, turn.text) for at, turn in enumerate(turns) if isinstance(turn, UserMessage)][-1]
    return text, sum(isinstance(turn, ToolResults) for turn in turns[at:])


class World:
    """A program and what it asks for: a handler says `b` between what the program says there.

    Args:
        how: what comes of `b`: it is `answered`, with a `tool`, `fails`, is `stopped` when the handler's time is over,
            while a tool runs, or the handler looks into something `inside`.
    """

    def __init__(self, how: str) -> None:
        self.how, self.asked = how, list[str]()
        self.other: Agent
        self.over = ""

    def answer(self, request: Request) -> Reply:
        text, came = last_asked(request)
        self.asked.append(f"{text} {came}")
        if text == "use it":
            return Reply((Text("used"),)) if came else asks(look("it", name="use"))
        if text == "b" and self.how == "fails":
            raise NetworkFailed("the line is dead")
        if text == "b" and not came and self.how in ("tool", "stopped"):
            return asks(look("7 of them", name="wait" if self.how == "stopped" else "look"))
        return Reply((Text(f"re {text}"),))

    async def use(self, at: str) -> str:
        if self.how == "inside":
            sub = await self.other.create_sub_conversation("look inside")
            await sub.send("what is there?")
            return (await self.other.complete_sub_conversation(sub.id)).text
        with suppress(NetworkFailed):
            return (await self.other.send("b")).text
        return "it failed"

    async def wait(self, at: str) -> str:
        await asyncio.sleep(60)
        return at

    def tools(self) -> list[Any]:
        use = tool(self.use, name="use", limits=ToolLimits(seconds=0.1 if self.how == "stopped" else 20))
        return [use, tool(), tool(self.wait, name="wait")]

    def until(self, point: str) -> None:
        if self.over == point:
            raise Over

    async def talk(self, agent: Agent, other: Agent) -> Came:
        """What the program does, up to where it is over."""
        self.other, came = other, []
        came.append((await other.send("a")).turns)
        self.until("a")
        came.append((await agent.send("use it")).turns)
        self.until("use it")
        last = await other.send("c")
        return [*came, last.turns], last.usage

    async def at_home(self, folder: Path) -> Came:
        provider = ScriptedProvider(self.answer)
        async with Agent(SEAT, provider=provider, tools=self.tools(), at=Home(folder, "t")) as agent:
            sub = await agent.create_sub_conversation("look")
            came, used = await self.talk(agent, sub)
            await agent.complete_sub_conversation(sub.id)
            return [*came, (await agent.send("end")).turns], used

    async def in_a_stage(self, folder: Path) -> Came:
        workspace, found = Workspace.at(folder), list[Came]()
        async with workspace.open_store() as store:
            chain = Chain((ScriptedProvider(self.answer),))
            run = await Run.open("test", {}, name="t", workspace=workspace, store=store, chain=chain)

            async def work(stage: Stage) -> str:
                other = Agent(SEAT, at=stage.named("other"), tools=self.tools())
                agent = Agent(SEAT, at=stage.named("asks"), tools=self.tools())
                found.append(await self.talk(agent, other))
                return "done"

            async with run:
                await run.stage("talk", work, out=text_file("t.md"), reuse=False)
        return found[0]


HOW = ["answered", "tool", "fails", "stopped", "inside"]
WHERE: dict[str, Callable[[World, Path], Awaitable[Came]]] = {"home": World.at_home, "stage": World.in_a_stage}


@pytest.mark.slow
@pytest.mark.parametrize("over", ["", "use it"])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("how", HOW)
async def test_the_same_program_says_the_same_and_asks_for_nothing_twice(
    how: str, where: str, over: str, tmp_path: Path
) -> None:
    whole = World(how)
    expected = await WHERE[where](whole, tmp_path / "whole")
    world = World(how)
    world.over = over
    if over:
        with pytest.raises(Over):
            await WHERE[where](world, tmp_path / "t")
        world.over = ""
    for _ in range(3):
        assert await WHERE[where](world, tmp_path / "t") == expected
    assert world.asked == whole.asked


async def test_only_what_is_over_is_passed_by(tmp_path: Path) -> None:
    """A call that is not over is tried again, and its handler says it itself."""
    world = World("answered")
    provider = ScriptedProvider(world.answer)
    said = world.use

    async def use(at: str) -> str:
        await said(at)
        going.cancel()
        await asyncio.sleep(1)
        return at

    world.use = use  # type: ignore[method-assign]  # of this test
    async with Agent(SEAT, provider=provider, tools=world.tools(), at=Home(tmp_path, "t")) as agent:
        world.other = sub = await agent.create_sub_conversation("look")
        await sub.send("a")
        going = asyncio.create_task(agent.send("use it"))
        with pytest.raises(asyncio.CancelledError):
            await going
    async with Agent(SEAT, provider=provider, tools=world.tools(), at=Home(tmp_path, "t")) as agent:
        sub = await agent.create_sub_conversation("look")
        await sub.send("a")
        with pytest.raises(RunError, match="something else was said here before: 'b'"):
            await sub.send("c")


async def test_what_is_gone_on_with_and_what_is_marked_stand_behind_it(tmp_path: Path) -> None:
    """A message of the handler that was stopped is gone on with by the program, and marked."""
    world, ended = World("stopped"), list[list[str]]()

    async def wait(at: str) -> str:
        if len(ended) == 0 and world.asked.count("b 0") == 1 and "b 1" not in world.asked and not stopped:
            stopped.append(at)
            await asyncio.sleep(60)
        return at

    stopped: list[str] = []
    world.wait = wait  # type: ignore[method-assign]  # of this test
    for _ in range(3):
        provider = ScriptedProvider(world.answer)
        async with Agent(SEAT, provider=provider, tools=world.tools(), at=Home(tmp_path, "t")) as agent:
            world.other = sub = await agent.create_sub_conversation("look")
            await sub.send("a")
            await agent.send("use it")
            went_on = await sub.go_on()
            await sub.mark(Mark("it counts"))
            talk = sub._life.talk
            assert talk is not None
            ended.append([went_on.text, str(sorted(talk.marks)), str(len(talk.turns))])
    assert ended == [ended[0]] * 3 and world.asked == ["a 0", "use it 0", "b 0", "use it 1", "b 1"]


async def test_in_a_stage_nothing_is_passed_by_that_the_code_has_no_call_for_today(tmp_path: Path) -> None:
    world = World("answered")
    await world.in_a_stage(tmp_path)

    async def talk(agent: Agent, other: Agent) -> Came:
        await other.send("a")
        last = await other.send("c")
        return [last.turns], last.usage

    world.talk = talk  # type: ignore[method-assign]  # of this test
    ([turns], _) = await world.in_a_stage(tmp_path)
    assert [turn.text for turn in turns if isinstance(turn, UserMessage)] == ["a", "c"]


async def test_it_is_summed_up_with_what_a_handler_said_in_it(tmp_path: Path) -> None:
    """Killed before that: a number that came to light in what is passed by is no invention."""

    def answer(request: Request) -> Reply:
        text, came = last_asked(request)
        if text in ("use it", "b") and not came:
            return asks(look("4711", name="use" if text == "use it" else "look"))
        return Reply((Text("There are 4711."),))

    async def life(*, completes: bool) -> str:
        async def use(at: str) -> str:
            return (await sub.send("b")).ended

        tools, provider = [tool(use, name="use"), tool()], ScriptedProvider(answer)
        async with Agent(SEAT, provider=provider, tools=tools, at=Home(tmp_path, "t")) as agent:
            sub = await agent.create_sub_conversation("look")
            await sub.send("a")
            await agent.send("use it")
            return (await agent.complete_sub_conversation(sub.id)).text if completes else ""

    await life(completes=False)
    assert await life(completes=True) == "There are 4711."


async def test_a_message_without_an_answer_is_answered_by_no_other_ones(tmp_path: Path) -> None:
    """The handler is tried again: what failed is said anew, and not taken for what was said behind it."""
    tries, got = list[str](), list[str]()

    async def answer(request: Request) -> Reply:
        text, came = last_asked(request)
        if text == "use it":
            return Reply((Text("used"),)) if came else asks(look("it"))
        tries.append(text)
        if tries == ["first"]:
            raise NetworkFailed("the line is dead")
        if tries == ["first", "second"]:
            going.cancel()
            await asyncio.sleep(60)
        return Reply((Text(f"re {text}"),))

    async def handler(at: str) -> str:
        for text in ("first", "second"):
            with suppress(NetworkFailed):
                got.append((await sub.send(text)).text)
        return at

    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=[tool(handler)], at=Home(tmp_path, "t")) as agent:
        sub = await agent.create_sub_conversation("look")
        going = asyncio.create_task(agent.send("use it"))
        with pytest.raises(asyncio.CancelledError):
            await going
        assert (await agent.go_on()).text == "used"
    assert got == ["re first", "re second"]
