"""Calls of one reply are carried out side by side: what they write to the journal meets there."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, approve, asks, look, scripted, tool
from transom.agent import Agent, Home
from transom.canonical import Json
from transom.errors import Paused
from transom.llm import Reply, Request, ScriptedProvider, ToolCallPart, ToolResults
from transom.tools import Arguments, ToolDefinition
from transom.tools.definition import Effect


def tools(did: list[str]) -> list[ToolDefinition]:
    """A tool that may be called at any time, one that must not run twice, and one that a person
    lets run.
    """

    def named(name: str, effect: Effect) -> ToolDefinition:
        def run(arguments: Arguments) -> Json:
            did.append(f"{name} {arguments['at']}")
            return "done"

        return replace(tool(name=name, effect=effect, needs_approval=name == "order"), handler=run)

    return [named("look", "pure"), named("pay", "once"), named("order", "once")]


@pytest.mark.parametrize("names", ["look pay pay", "pay look pay look", "look look pay pay pay"])
async def test_plain_calls_beside_some_that_must_not_run_twice(tmp_path: Path, names: str) -> None:
    did: list[str] = []
    calls = [look(str(number), str(number), name) for number, name in enumerate(names.split())]
    for answers in ([asks(*calls), "ok"], []):
        async with Agent(
            SEAT, provider=scripted(*answers), tools=tools(did), at=Home(tmp_path, "x")
        ) as agent:
            assert (await agent.send("go")).text == "ok"
    assert sorted(did) == sorted(f"{name} {number}" for number, name in enumerate(names.split()))


@pytest.mark.parametrize("names", ["order look pay", "order look pay pay", "look pay order"])
async def test_a_call_that_waits_for_a_person_beside_some_that_do_not(
    tmp_path: Path, names: str
) -> None:
    did: list[str] = []
    calls = [look(str(number), str(number), name) for number, name in enumerate(names.split())]
    async with Agent(
        SEAT, provider=scripted(asks(*calls)), tools=tools(did), at=Home(tmp_path, "x")
    ) as agent:
        with pytest.raises(Paused) as caught:
            await agent.send("go")
        await approve(agent, caught.value)
    async with Agent(
        SEAT, provider=scripted("ok"), tools=tools(did), at=Home(tmp_path, "x")
    ) as agent:
        assert (await agent.send("go")).text == "ok"
    assert sorted(did) == sorted(f"{name} {number}" for number, name in enumerate(names.split()))


async def test_three_things_that_are_looked_into_at_once(tmp_path: Path) -> None:
    did: list[str] = []
    asked = [
        ToolCallPart(str(number), "delegate", {"purpose": f"q{number}"}) for number in range(3)
    ]

    def answer(request: Request) -> str | Reply:
        came = any(isinstance(turn, ToolResults) for turn in request.window.turns)
        if request.role == SEAT.name:
            return "ok" if came else asks(*asked)
        purpose = next(block.text for block in request.window.blocks if block.name == "purpose")
        return f"found {purpose}" if came else asks(look(purpose), look(purpose, "2", "pay"))

    role = replace(SEAT, strategy="sub_conversation")
    async with Agent(
        role, provider=ScriptedProvider(answer), tools=tools(did), at=Home(tmp_path, "x")
    ) as agent:
        assert (await agent.send("go")).text == "ok"
    assert sorted(did) == ["look q0", "look q1", "look q2", "pay q0", "pay q1", "pay q2"]


async def test_sub_conversations_that_a_program_talks_with_at_once(tmp_path: Path) -> None:
    did: list[str] = []

    def answer(request: Request) -> str | Reply:
        number = len(request.window.turns)
        if number > 5 or not request.role.endswith(".sub"):
            return "ok"
        return asks(
            look(f"a{number}"), look(f"b{number}", "2", "pay"), look(f"c{number}", "3", "pay")
        )

    async with Agent(
        SEAT, provider=ScriptedProvider(answer), tools=tools(did), at=Home(tmp_path, "x")
    ) as agent:
        await agent.send("go")
        subs = [await agent.open_sub(f"q{number}") for number in range(4)]
        said = await asyncio.gather(*(sub.send("go") for sub in subs))
    assert [one.text for one in said] == ["ok"] * 4
    assert len(did) == 4 * 3 * 3
