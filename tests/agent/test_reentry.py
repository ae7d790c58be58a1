"""A tool handler cannot talk in a conversation of its own run; one that asks an agent of another
home returns it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT
from transom.agent import Agent, Home, SyncAgent
from transom.errors import EgressError, RunError
from transom.llm import Block, Chain, Reply, Request, ScriptedProvider, ToolCallPart, ToolResults
from transom.runs import Run, Stage, Workspace, text_file
from transom.tools import Arguments, ToolDefinition

REFUSED = "a tool handler cannot talk in a conversation of its own run"
Act = Callable[[Any], Awaitable[Any]]


def calls_once(*, local: bool = True) -> ScriptedProvider:
    """A model that calls a tool, and then repeats what came back."""

    def answer(request: Request) -> Reply | str:
        last = request.window.turns[-1] if request.window.turns else None
        if isinstance(last, ToolResults):
            return last.results[-1].content
        return Reply((ToolCallPart("c1", "look", {}),), stop="tool_calls")

    return ScriptedProvider(answer, local=local)


def tool(act: Callable[[], Awaitable[str]]) -> ToolDefinition:
    async def look(_: Arguments) -> str:
        return await act()

    return ToolDefinition("look", "Looks.", {"type": "object"}, look)


ACTS: dict[str, Act] = {
    "send": lambda agent: agent.send("more"),
    "resume": lambda agent: agent.resume(),
    "open": lambda agent: agent.open_sub("look into it"),
    "complete": lambda agent: agent.close_sub(agent),
    "close": lambda agent: agent.close(),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "thrown away"])
async def test_a_handler_that_talks_in_its_own_run_is_one_error(
    act: Act, kept: bool, tmp_path: Path
) -> None:
    async def talks() -> str:
        return str(await act(agent))

    agent = Agent(
        SEAT,
        provider=calls_once(),
        tools=[tool(talks)],
        at=Home(tmp_path / "w", "a") if kept else None,
    )
    async with agent:
        with pytest.raises(RunError, match=REFUSED) as caught:
            await asyncio.wait_for(agent.send("go"), 5)
    assert "declare a SubAgent" in str(caught.value.hint)


async def test_a_handler_cannot_talk_in_a_sub_conversation_of_its_run(tmp_path: Path) -> None:
    async def talks() -> str:
        return str((await sub.send("more")).text)

    async with Agent(
        SEAT, provider=calls_once(), tools=[tool(talks)], at=Home(tmp_path / "w", "a")
    ) as agent:
        sub = await agent.open_sub("look into it")
        with pytest.raises(RunError, match=REFUSED):
            await agent.send("go")


async def test_a_handler_begins_no_stage_and_no_agent_in_its_run(tmp_path: Path) -> None:
    workspace = Workspace.at(tmp_path / "w")
    seen: list[str] = []

    async def work(stage: Stage) -> str:
        async def talks() -> str:
            for at in (stage.named("inner"), stage):
                with pytest.raises(RunError, match=REFUSED):
                    Agent(SEAT, at=at)
            with pytest.raises(
                RunError, match="a tool handler cannot begin a stage of its own run"
            ):
                await run.stage("inner", work, out=text_file("inner.md"))
            seen.append("refused")
            return "refused"

        async with Agent(SEAT, at=stage, tools=[tool(talks)]) as agent:
            return (await agent.send("go")).text

    async with workspace.open_store() as store:
        chain = Chain((calls_once(),))
        async with await Run.open(
            "test", {}, name="t", workspace=workspace, store=store, chain=chain
        ) as run:
            made = await run.stage("talk", work, out=text_file("talk.md"))
    assert made.value == "refused"
    assert seen == ["refused"]


async def test_a_task_that_outlives_its_call_is_no_part_of_it(tmp_path: Path) -> None:
    later: list[asyncio.Task[Any]] = []

    async def begins() -> str:
        async def after() -> str:
            await over.wait()
            return (await agent.send("more")).text

        later.append(asyncio.create_task(after()))
        return "begun"

    over = asyncio.Event()
    async with Agent(
        SEAT, provider=calls_once(), tools=[tool(begins)], at=Home(tmp_path / "w", "a")
    ) as agent:
        assert (await agent.send("go")).text == "begun"
        over.set()
        assert "begun" in await asyncio.wait_for(later[0], 5)
    # "more" began another one, which finds its agent closed.
    await asyncio.gather(*later, return_exceptions=True)


def test_a_plain_handler_is_refused_too(tmp_path: Path) -> None:
    def look(_: Arguments) -> str:
        return door.send("more").text

    tools = [ToolDefinition("look", "Looks.", {"type": "object"}, look)]
    agent = Agent(SEAT, provider=calls_once(), tools=tools, at=Home(tmp_path / "w", "a"))
    with SyncAgent(agent) as door, pytest.raises(RunError, match=REFUSED):
        door.send("go")


@pytest.mark.parametrize("local", [True, False], ids=["local", "any"])
async def test_what_an_agent_of_another_home_answers_is_returned_as_local_as_it_is(
    local: bool, tmp_path: Path
) -> None:
    async def asks() -> str:
        async with Agent(
            SEAT, provider=ScriptedProvider(lambda request: "It is 7."), at=Home(tmp_path, "b")
        ) as other:
            return (
                await other.send("what?", Block("extra", "7", egress="local" if local else "any"))
            ).text

    async with Agent(
        SEAT, provider=calls_once(local=False), tools=[tool(asks)], at=Home(tmp_path, "a")
    ) as agent:
        if local:
            with pytest.raises(EgressError):
                await agent.send("go")
        else:
            assert (await agent.send("go")).text == "It is 7."


async def test_what_a_local_conversation_calls_asks_no_remote_model_elsewhere(
    tmp_path: Path,
) -> None:
    async def asks() -> str:
        remote = ScriptedProvider(lambda request: "Yes.", local=False)
        async with Agent(SEAT, provider=remote, at=Home(tmp_path, "b")) as far:
            with pytest.raises(EgressError):
                await far.send("what of 7?")
        return "not asked"

    async with Agent(
        SEAT, provider=calls_once(), tools=[tool(asks)], at=Home(tmp_path, "a")
    ) as agent:
        assert (await agent.send("go", Block("extra", "7", egress="local"))).text == "not asked"
