"""Agents and sub-conversations at once: whoever comes first, each is found again, and nothing is done twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home
from transom.errors import InputError, RunError
from transom.llm import Chain, Reply, Request, ScriptedProvider, ToolResults, UserMessage
from transom.runs import Named, Run, Stage, Workspace, text_file

MANY = 6
Work = Callable[[Stage], Awaitable[str]]


def answer(request: Request) -> Reply | str:
    """Calls the tool with what it was asked, and says what it was asked."""
    turns = request.window.turns
    asked = next(turn.text for turn in turns if isinstance(turn, UserMessage))
    return f"so {asked}" if any(isinstance(turn, ToolResults) for turn in turns) else asks(look(asked))


def repeat(request: Request) -> str:
    asked = request.window.turns[-1]
    assert isinstance(asked, UserMessage)
    return f"so {asked.text}"


async def walk(tmp_path: Path, provider: ScriptedProvider, work: Work) -> str:
    """One life of a run with one stage."""
    workspace = Workspace.at(tmp_path / ".transom")
    async with workspace.open_store() as store:
        run = await Run.open("test", {}, name="x", workspace=workspace, store=store, chain=Chain((provider,)))
        async with run:
            return (await run.stage("talk", work, out=text_file("talk.md"), reuse=False)).value


async def in_order(life: int, one: Callable[[int], Awaitable[str]]) -> list[str]:
    """What came of all, each in a task of its own; they go on in another order in each life."""
    gates = [asyncio.Event() for _ in range(MANY)]
    order = random.Random(life).sample(range(MANY), MANY)

    async def gated(number: int) -> str:
        await gates[number].wait()
        try:
            return await one(number)
        finally:
            after = order.index(number) + 1
            if after < MANY:
                gates[order[after]].set()

    gates[order[0]].set()
    return await asyncio.gather(*map(gated, range(MANY)))


@pytest.mark.parametrize("seed", [1, 2])
async def test_named_agents_at_once_do_nothing_twice_whoever_comes_first(tmp_path: Path, seed: int) -> None:
    paid: list[str] = []

    async def pay(at: str) -> str:
        paid.append(at)
        return "paid"

    async def work(stage: Stage) -> str:
        async def one(number: int) -> str:
            at = stage.named(f"q{number}")
            async with Agent(SEAT, at=at, tools=[tool(pay, effect="once")]) as agent:
                assert agent.id == f"q{number}"
                return (await agent.send(f"q{number}")).text

        said = await in_order(seed * 10 + len(lives), one)
        if len(lives) == 1:
            raise RunError("the disk is full")
        return " ".join(said)

    lives, provider = [1], ScriptedProvider(answer)
    with pytest.raises(RunError, match="the disk is full"):
        await walk(tmp_path, provider, work)
    for _ in range(2):
        lives.append(1)
        nobody = ScriptedProvider({})
        assert await walk(tmp_path, nobody, work) == " ".join(f"so q{number}" for number in range(MANY))
        assert nobody.requests == []
    assert (len(provider.requests), sorted(paid)) == (2 * MANY, [f"q{number}" for number in range(MANY)])


def refused() -> Any:
    return pytest.raises(RunError, match=r"/talk: agents without names .*; give each one a name: .*at=stage\.named")


@pytest.mark.parametrize("overlap", [False, True], ids=["one after the other", "beside each other"])
async def test_agents_without_names_in_tasks_at_once_are_refused(tmp_path: Path, overlap: bool) -> None:
    async def work(stage: Stage) -> str:
        async def one(number: int) -> str:
            agent = Agent(SEAT, at=stage)
            said = (await agent.send(f"q{number}")).text
            if not overlap:
                await agent.close()
            return said

        with refused():
            await in_order(1, one)
        return "said so"

    assert await walk(tmp_path, ScriptedProvider(lambda _: "so"), work) == "said so"


async def test_one_beside_the_stage_itself_is_refused_too(tmp_path: Path) -> None:
    async def work(stage: Stage) -> str:
        begun, over = asyncio.Event(), asyncio.Event()

        async def one() -> None:
            Agent(SEAT, at=stage)
            begun.set()
            await over.wait()

        task = asyncio.create_task(one())
        await begun.wait()
        with refused():
            Agent(SEAT, at=stage)
        over.set()
        await task
        return Agent(SEAT, at=stage).id

    assert await walk(tmp_path, ScriptedProvider({}), work) == "main#2"


async def test_one_of_a_handler_has_a_name(tmp_path: Path) -> None:
    """The handler is not called when the stage runs again, and those that come later would have other numbers."""
    paid: list[str] = []

    async def work(stage: Stage) -> str:
        async def handler(at: str) -> str:
            if at == "within":
                with pytest.raises(RunError, match=r"/talk: .* by a tool's handler, .*; give it a name: .*named"):
                    Agent(SEAT, at=stage)
                within = Agent(SEAT, at=stage.named("within"), tools=[tool(handler, effect="once")])
                return (await within.send("pay")).text
            paid.append(at)
            return "paid"

        ids = []
        for said in ("within", "later"):
            async with Agent(SEAT, at=stage, tools=[tool(handler, effect="once")]) as agent:
                await agent.send(said)
                ids.append(agent.id)
        return " ".join(ids)

    for provider in (ScriptedProvider(answer), ScriptedProvider({})):
        assert await walk(tmp_path, provider, work) == "main main#2"
    assert paid == ["pay", "later"]


async def test_where_the_code_says_who_comes_first_they_go_on_without_names(tmp_path: Path) -> None:
    async def work(stage: Stage) -> str:
        async def one() -> str:
            async with Agent(SEAT, at=stage) as agent:
                await agent.send("well?")
                return agent.id

        before = asyncio.create_task(asyncio.Event().wait())  # is nobody's agent
        one_task = [Agent(SEAT, at=stage) for _ in range(3)]
        await asyncio.gather(*[agent.send("hi") for agent in reversed(one_task)])
        ids = [agent.id for agent in one_task]
        for _ in range(2):  # a task each, and one after the other
            ids.append(await asyncio.wait_for(one(), 60))
        ids.append(await one())
        async with one_task[0] as agent:
            await agent.send("more")
        async with agent:  # is another conversation now
            await agent.send("again")
            ids.append(agent.id)
        before.cancel()
        return " ".join(ids)

    provider = ScriptedProvider(lambda _: "so")
    for _ in range(2):
        assert await walk(tmp_path, provider, work) == "main main#2 main#3 main#4 main#5 main#6 main#7"
    assert len(provider.requests) == 8


async def test_a_name_is_for_one_conversation(tmp_path: Path) -> None:
    async def work(stage: Stage) -> str:
        agent = Agent(SEAT, at=stage.named("q0"))
        with pytest.raises(
            RunError, match=r"/talk: a conversation 'q0' was opened in this stage already; .* of its own"
        ):
            Agent(SEAT, at=stage.named("q0"))
        for wrong in ("", " ", "a\nb", "main", "a/b", "q#2", 7):
            with pytest.raises(InputError, match=r'stage\.named\("q0"\)'):
                stage.named(wrong)  # type: ignore[arg-type]  # what is refused
        sub = await agent.create_sub_conversation("what is there")
        return f"{(await sub.send('look')).text} in {sub.id}, {isinstance(stage.named('q1'), Named)}"

    assert (await walk(tmp_path, ScriptedProvider(lambda _: "7"), work)).startswith("7 in q0/sub-")


@pytest.mark.parametrize("where", ["at home", "in a stage"])
@pytest.mark.parametrize("completed", [False, True], ids=["left open", "completed"])
async def test_sub_conversations_at_once_are_found_by_their_purpose(
    tmp_path: Path, where: str, *, completed: bool
) -> None:
    async def talk(agent: Agent, life: int) -> str:
        async def one(number: int) -> str:
            sub = await agent.create_sub_conversation(f"purpose {number // 2}", f"it is {number % 2}")
            said = (await sub.send(f"q{number}")).text
            return (await agent.complete_sub_conversation(sub.id)).text if completed else said

        await agent.send("well?")
        found = await in_order(life, one)
        return " ".join([*found, (await agent.send("so?")).text])

    async def live(provider: ScriptedProvider, life: int) -> str:
        if where == "at home":
            async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t")) as agent:
                return await talk(agent, life)

        async def work(stage: Stage) -> str:
            async with Agent(SEAT, at=stage) as agent:
                return await talk(agent, life)

        return await walk(tmp_path, provider, work)

    provider = ScriptedProvider(repeat)
    first = await live(provider, 1)
    for life in (2, 3):
        nobody = ScriptedProvider({})
        assert (await live(nobody, life), nobody.requests) == (first, [])


async def test_those_left_open_are_resumed_whichever_is_asked_for_first(tmp_path: Path) -> None:
    purposes = ["a", "b", "a", "c"]
    home = Home(tmp_path, "t")
    async with Agent(SEAT, provider=ScriptedProvider(repeat), at=home) as agent:
        for number, purpose in enumerate(purposes):
            sub = await agent.create_sub_conversation(purpose, f"it is {number}")
            await sub.send(f"{purpose}{number}")
    for order, came in (
        (["c", "a", "b", "a"], ["so c3", "so a0", "so b1", "so a2"]),
        (["a", "a", "a"], ["so a0", "so a2", None]),
    ):
        async with Agent(SEAT, provider=ScriptedProvider({}), at=home) as agent:
            await agent.resume()
            subs = [await agent.create_sub_conversation(purpose) for purpose in order]
            last = [await sub.resume() for sub in subs]
        assert [one and one.text for one in last] == came
    async with Agent(SEAT, provider=ScriptedProvider({}), at=home) as agent:
        subs = [await agent.create_sub_conversation("a", f"it is {number}") for number in (2, 0)]
        last = [await sub.resume() for sub in subs]
    assert [one and one.text for one in last] == ["so a2", "so a0"]
