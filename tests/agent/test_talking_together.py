"""Calls beside each other, and a program, talk in one sub-conversation of it: each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Caps, Home, Response
from transom.errors import ApprovalNeeded, NetworkFailed, TransomError
from transom.llm import Chain, Reply, Request, ScriptedProvider, Text, Usage, UserMessage
from transom.runs import Run, Stage, Workspace, text_file

USED = Usage(100, 100)
DONE = "done: re order bolts | re order nuts"


class World:
    """A model that is asked to buy bolts and nuts, and has two calls at once say so to a buyer.

    Args:
        how: what the buyer needs for an order: an `approval`, or a look, before which a `cap` is reached.
    """

    def __init__(self, how: str = "approval") -> None:
        self.how = how
        self.asked, self.ordered = list[str](), list[str]()
        self.slow = ""
        self.dead = ""
        self.buyer: Agent

    def answer(self, request: Request) -> Reply:
        turns = request.window.turns
        told = [turn.text for turn in turns if isinstance(turn, UserMessage)][-1]
        if told in self.dead.split(","):
            raise NetworkFailed("the line is dead")
        self.asked.append(told)
        new = isinstance(turns[-1], UserMessage)
        if told == "buy":
            calls = look("bolts", "1", "tell"), look("nuts", "2", "tell")
            came = () if new else [one.content for one in turns[-1].results]  # type: ignore[union-attr]  # they came
            return (
                Reply((Text(f"done: {' | '.join(came)}"),), usage=USED)
                if came
                else Reply(asks(*calls).parts, stop="tool_calls", usage=USED)
            )
        if told.startswith("order") and new:
            name = "order" if self.how == "approval" else "look"
            return Reply((look(told, name=name),), stop="tool_calls", usage=USED)
        return Reply((Text(f"re {told}"),), usage=USED)

    async def tell(self, at: str) -> str:
        await asyncio.sleep(0.02 if at == self.slow else 0)
        return (await self.buyer.send(f"order {at}")).text

    async def order(self, at: str) -> str:
        self.ordered.append(at)
        return "ordered"

    def tools(self) -> list[Any]:
        order = tool(self.order, name="order", effect="once", needs_approval=True)
        return [tool(self.tell, name="tell"), tool(), order]

    def agent(self, folder: Path, *, caps: Caps | None = None) -> Agent:
        provider = ScriptedProvider(self.answer)
        return Agent(SEAT, provider=provider, tools=self.tools(), at=Home(folder, "t"), caps=caps)

    async def life(self, folder: Path, tries: int, caps: Caps | None = None) -> str:
        """Buy, and go on for so many tries; whatever waits for a person is approved, and caps are raised."""
        async with self.agent(folder, caps=caps) as agent:
            self.buyer = await agent.create_sub_conversation("buyer")
            step: Callable[[], Awaitable[Response]] = lambda: agent.send("buy")  # noqa: E731  the other one is a method
            for _ in range(tries):
                try:
                    response = await step()
                    if response.ended == "answered":
                        return response.text
                    agent.caps = Caps()
                except ApprovalNeeded as error:
                    await agent.decide(error.request.approve(by="ann"))  # type: ignore[attr-defined]  # as it says
                step = agent.go_on
            return ""


@pytest.mark.parametrize("slow", ["", "bolts"], ids=["in their order", "the other one first in later lives"])
@pytest.mark.parametrize("tries", [[6], [1, 6], [1] * 6], ids=["one life", "a life more", "a life for each try"])
@pytest.mark.parametrize("how", ["approval", "cap"])
async def test_two_calls_have_an_answer_each(how: str, tries: list[int], slow: str, tmp_path: Path) -> None:
    """What a person approved is done, and nothing is asked twice."""
    world, ended = World(how), ""
    for life, most in enumerate(tries):
        world.slow = slow if life else ""
        caps = Caps(tokens=350) if how == "cap" and not life else None
        if ended := await world.life(tmp_path, most, caps):
            break
    assert ended == DONE
    assert sorted(world.ordered) == (["order bolts", "order nuts"] if how == "approval" else [])
    assert sorted(world.asked) == sorted(["buy"] * 2 + ["order bolts"] * 2 + ["order nuts"] * 2)
    asked = len(world.asked)
    assert (await world.life(tmp_path, 1), len(world.asked)) == (DONE, asked)


async def buys(world: World, folder: Path, *said: str, approves: bool = True) -> list[str]:
    """A program that tells the buyer something else while his order waits for a person, and then goes on."""
    ended = list[str]()
    async with world.agent(folder) as agent:
        world.buyer = sub = await agent.create_sub_conversation("buyer")
        steps: list[Callable[[], Awaitable[Response]]] = [lambda: agent.send("buy")]
        steps += [lambda text=text: sub.send(text) for text in said]  # type: ignore[misc]  # of this loop
        for step in steps:
            try:
                ended.append((await step()).text)
            except ApprovalNeeded as error:
                ended.append("paused")
                if approves:
                    await agent.decide(error.request.approve(by="ann"))  # type: ignore[attr-defined]  # as it says
            except TransomError as error:
                ended.append(type(error).__name__)
    return ended


async def test_a_call_is_not_given_the_answer_to_what_the_program_said(tmp_path: Path) -> None:
    world = World()
    world.dead = "rain?"
    async with world.agent(tmp_path) as agent:
        world.buyer = sub = await agent.create_sub_conversation("buyer")
        asked, step = list[Any](), agent.send("buy")
        for _ in range(6):
            try:
                ended = (await step).text
                break
            except ApprovalNeeded as error:
                asked.append(error.request.arguments["at"])  # type: ignore[attr-defined]  # as it says
                await agent.decide(error.request.approve(by="ann"))  # type: ignore[attr-defined]  # as it says
            if len(asked) == 1:
                with pytest.raises(NetworkFailed):
                    await sub.send("rain?")
            step = agent.go_on()
    assert ended == DONE
    assert world.ordered == ["order bolts", "order nuts"]
    assert asked == ["order bolts", "order bolts", "order nuts"], "the first one was left behind, and is made anew"


@pytest.mark.parametrize("dead", ["", "rain?"], ids=["answered", "left"])
async def test_a_call_that_is_tried_again_says_it_anew_behind_what_a_program_said(dead: str, tmp_path: Path) -> None:
    """The same program, run again: it finds what it said, and the call comes to its outcome."""
    world = World()
    world.dead = dead
    rain = ["NetworkFailed" if dead else "re rain?", "re snow?"]
    assert await buys(world, tmp_path, "rain?", "snow?") == ["paused", *rain]
    world.dead = ""
    for ends in ("paused", "paused", DONE, DONE):
        assert await buys(world, tmp_path, "rain?", "snow?") == [ends, *rain]
    assert world.ordered == ["order bolts", "order nuts"]
    assert [world.asked.count(one) for one in ("rain?", "snow?", "buy")] == [0 if dead else 1, 1, 2]


async def test_what_the_program_says_next_is_said_behind_all_of_it(tmp_path: Path) -> None:
    world = World()
    await buys(world, tmp_path, "rain?", approves=False)
    assert await buys(world, tmp_path, "rain?", "snow?", approves=False) == ["paused", "re rain?", "re snow?"]
    assert await buys(world, tmp_path, "rain?", "storm?") == ["paused", "re rain?", "RunError"]


async def test_a_call_says_it_behind_what_the_program_said_when_its_own_message_had_failed(tmp_path: Path) -> None:
    world = World("cap")
    world.dead = "buy"
    assert await buys(world, tmp_path, "rain?") == ["NetworkFailed", "re rain?"]
    world.dead = ""
    for _ in range(3):
        assert await buys(world, tmp_path, "rain?") == [DONE, "re rain?"]
    assert world.asked.count("rain?") == 1


@pytest.mark.parametrize("said", ["", "rain?"], ids=["nothing", "something"])
async def test_in_a_stage_a_call_comes_to_its_outcome_whatever_is_said_behind_it(said: str, tmp_path: Path) -> None:
    """Its code says something to the buyer while his order waits for a person, and ends paused."""
    world, workspace, ended = World(), Workspace.at(tmp_path), list[str]()

    async def work(stage: Stage) -> str:
        agent = Agent(SEAT, at=stage, tools=world.tools())
        world.buyer = await agent.create_sub_conversation("buyer")
        try:
            ended.append((await agent.send("buy")).text)
            return "done"
        except ApprovalNeeded as error:
            if said:
                await world.buyer.send(said)
            await agent.decide(error.request.approve(by="ann"))  # type: ignore[attr-defined]  # as it says
            raise

    for _ in range(3):
        async with workspace.open_store() as store:
            chain = Chain((ScriptedProvider(world.answer),))
            run = await Run.open("test", {}, name="t", workspace=workspace, store=store, chain=chain)
            with suppress(ApprovalNeeded):
                async with run:
                    await run.stage("talk", work, out=text_file("t.md"))
    assert (ended, world.ordered) == ([DONE], ["order bolts", "order nuts"])
