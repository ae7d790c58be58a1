"""What a conversation is told stands where it stood when the program ran before: nothing is asked twice for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home, Response
from transom.errors import NetworkFailed
from transom.llm import Chain, Reply, Request, ScriptedProvider, Text, Turn, UserMessage
from transom.runs import Run, Stage, Workspace, text_file
from transom.tools import ToolDefinition

DELEGATING = replace(SEAT, strategy="sub_conversation")

Answer: TypeAlias = Callable[[Request], Reply | Awaitable[Reply]]
Program: TypeAlias = Callable[[Agent], Awaitable[Response]]


async def at_home(folder: Path, answer: Answer, tools: list[ToolDefinition], program: Program) -> Response:
    async with Agent(DELEGATING, provider=ScriptedProvider(answer), tools=tools, at=Home(folder, "t")) as agent:
        return await program(agent)


async def in_a_stage(folder: Path, answer: Answer, tools: list[ToolDefinition], program: Program) -> Response:
    workspace, found = Workspace.at(folder), list[Response]()
    async with workspace.open_store() as store:
        chain = Chain((ScriptedProvider(answer),))
        run = await Run.open("test", {}, name="t", workspace=workspace, store=store, chain=chain)

        async def work(stage: Stage) -> str:
            found.append(await program(Agent(DELEGATING, at=stage.named("talk"), tools=tools)))
            return "done"

        async with run:
            await run.stage("talk", work, out=text_file("t.md"), reuse=False)
    return found[0]


WHERE = {"home": at_home, "stage": in_a_stage}


def said(turns: tuple[Turn, ...]) -> list[str]:
    """What stands in a conversation, in its order; of a finding what it is of."""
    return [
        (turn.text.split("\n")[3] if turn.text.startswith("<finding>") else turn.text)
        if isinstance(turn, UserMessage)
        else type(turn).__name__
        for turn in turns
    ]


def last_asked(request: Request) -> str:
    """Where nothing came since; else ""."""
    *_, turn = (None, *request.window.turns)
    return turn.text if isinstance(turn, UserMessage) else ""


@pytest.mark.parametrize("how", ["completes", "completes the program's", "says"])
@pytest.mark.parametrize("where", WHERE)
async def test_what_a_call_told_before_is_told_before_what_the_program_finds(
    where: str, how: str, tmp_path: Path
) -> None:
    """A tool of a sub-conversation completes another one further up, or says something there; then that is over."""
    agents, inner, asked = list[Agent](), list[Agent](), list[str]()

    def answer(request: Request) -> Reply:
        asked.append(last_asked(request))
        return asks(look("it")) if asked[-1] == "go" else Reply((Text("found"),))

    async def handler(what: str) -> Any:
        if how == "says":
            return (await agents[-1].send("by the way")).text
        sub = inner[-1] if inner else await agents[-1].create_sub_conversation("inner")
        await sub.send(what)
        return (await agents[-1].complete_sub_conversation(sub.id)).text

    async def program(agent: Agent) -> Response:
        agents.append(agent)
        if "program" in how:
            inner.append(await agent.create_sub_conversation("inner"))
        sub = await agent.create_sub_conversation("outer")
        await sub.send("go")
        await agent.complete_sub_conversation(sub.id)
        return await agent.send("last")

    lives = [said((await WHERE[where](tmp_path, answer, [tool(handler)], program)).turns) for _ in range(3)]
    first = ["by the way", "AssistantMessage"] if how == "says" else ["inner"]
    assert lives == [[*first, "outer", "last", "AssistantMessage"]] * 3
    assert asked.count("last") == 1


async def stopped_then_found(agent: Agent) -> None:
    """A message is stopped in its tool, and then a sub-conversation is completed."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(agent.send("one"), 0.2)
    sub = await agent.create_sub_conversation("inner")
    await sub.send("go")
    await agent.complete_sub_conversation(sub.id)


@pytest.mark.parametrize("where", WHERE)
async def test_what_is_found_stands_behind_a_reply_whose_tool_was_stopped(where: str, tmp_path: Path) -> None:
    asked = list[str]()

    def answer(request: Request) -> Reply:
        asked.append(last_asked(request))
        return asks(look("it")) if asked[-1] == "one" else Reply((Text("found"),))

    async def slow(what: str) -> str:
        await asyncio.sleep(60)
        return what

    async def program(agent: Agent) -> Response:
        await stopped_then_found(agent)
        return await agent.send("last")

    lives = [said((await WHERE[where](tmp_path, answer, [tool(slow)], program)).turns) for _ in range(3)]
    assert lives == [["one", "AssistantMessage", "ToolResults", "inner", "last", "AssistantMessage"]] * 3
    assert asked.count("last") == 1


async def test_what_is_found_while_a_tool_waits_keeps_that_from_nothing(tmp_path: Path) -> None:
    """A call was stopped, a sub-conversation completed, and then it is gone on with."""
    tries = list[str]()

    async def slow(what: str) -> str:
        tries.append(what)
        await asyncio.sleep(0 if tries[1:] else 60)
        return "looked"

    def answer(request: Request) -> Reply:
        return asks(look("it")) if last_asked(request) == "one" else Reply((Text("found"),))

    async def program(agent: Agent) -> Response:
        await stopped_then_found(agent)
        return await agent.go_on()

    turns = (await at_home(tmp_path, answer, [tool(slow)], program)).turns
    assert said(turns) == ["one", "AssistantMessage", "ToolResults", "inner", "AssistantMessage"]
    assert "looked" in str(turns[2])


SUM_UP = "Now sum up"


@pytest.mark.parametrize("by", ["count", "dig", "meanwhile"])
@pytest.mark.parametrize("where", WHERE)
async def test_a_number_that_came_back_is_not_struck(where: str, by: str, tmp_path: Path) -> None:
    """Beside a call that was stopped a tool yielded it, or found it further down; or one does `meanwhile`."""
    subs, asked, at = list[Agent](), list[str](), SUM_UP if by == "meanwhile" else "go"

    def answer(request: Request) -> Reply:
        asked.append(last_asked(request))
        if not asked[-1].startswith(at):
            return Reply((Text("There are 4711."),))
        return asks(look("count")) if by == "meanwhile" else asks(look(by), look("wait", "2"))

    async def handler(what: str) -> str:
        if what == "dig":
            deep = await subs[-1].create_sub_conversation("deeper", "4711 pieces")
            await deep.send("how many?")
            await subs[-1].complete_sub_conversation(deep.id)
        await asyncio.sleep(60 if what == "wait" else 0)
        return "4711 pieces" if what == "count" else "done"

    async def program(agent: Agent) -> Response:
        subs.append(await agent.create_sub_conversation("inner"))
        if by != "meanwhile":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(subs[-1].send("go"), 0.3)
        summary = await agent.complete_sub_conversation(subs[-1].id)
        assert (summary.text, summary.by) == ("There are 4711.", "model")
        return await agent.send("last")

    for _ in range(3):
        await WHERE[where](tmp_path, answer, [tool(handler)], program)
    assert asked.count("last") == 1


@pytest.mark.parametrize("how", ["fails", "is stopped"])
async def test_what_a_call_found_behind_a_message_is_there_when_that_is_answered_later(
    how: str, tmp_path: Path
) -> None:
    """The message fails, or its tool is stopped; a tool of a sub-conversation completes another one; a kill; again."""
    agents, asked, lives = list[Agent](), list[str](), list[int]()

    def answer(request: Request) -> Reply:
        asked.append(last_asked(request))
        if asked[-1] == "one" and how == "is stopped":
            return asks(look("wait"))
        if asked[-1] == "one" and len(lives) == 1:
            raise NetworkFailed("the line is dead")
        return asks(look("dig")) if asked[-1] == "go" else Reply((Text("found"),))

    async def handler(what: str) -> str:
        if what == "wait":
            await asyncio.sleep(60 if len(lives) == 1 else 0)
            return "waited"
        deep = await agents[-1].create_sub_conversation("inner")
        await deep.send("look")
        return (await agents[-1].complete_sub_conversation(deep.id)).text

    async def program(agent: Agent) -> Response:
        agents.append(agent)
        lives.append(len(lives))
        sub = await agent.create_sub_conversation("outer")
        try:
            last = await asyncio.wait_for(agent.send("one"), 0.2)
        except (NetworkFailed, TimeoutError):
            last = None
        went_on = await sub.send("go")
        return await agent.send("last") if last else went_on

    found = [said((await at_home(tmp_path, answer, [tool(handler)], program)).turns) for _ in range(3)]
    waited = ["AssistantMessage", "ToolResults"] if how == "is stopped" else []
    assert found[1:] == [["one", *waited, "inner", "AssistantMessage", "last", "AssistantMessage"]] * 2
    assert asked.count("last") == 1


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a sub-conversation", "a large result"])
@pytest.mark.parametrize("where", WHERE)
async def test_lines_that_stood_for_a_summary_stand_there_in_later_lives(where: str, what: str, tmp_path: Path) -> None:
    """Nobody could sum up then; what was answered from these lines is not asked again."""
    asked, failed = list[str](), list[bool]()

    def answer(request: Request) -> Reply:
        asked.append(last_asked(request))
        sums_up = asked[-1].startswith(SUM_UP) or (what == "a large result" and request.role != SEAT.name)
        if sums_up and not failed:
            failed.append(True)
            raise NetworkFailed("the line is dead")
        return asks(look("it")) if asked[-1] == "one" else Reply((Text("found"),))

    async def large(at: str) -> str:
        return "\n".join(f"Row {number} has {at}." for number in range(20_000))

    async def program(agent: Agent) -> Response:
        if what == "a large result":
            await agent.send("one")
        else:
            sub = await agent.create_sub_conversation("inner")
            await sub.send("go")
            assert (await agent.complete_sub_conversation(sub.id)).by == "extract"
        return await agent.send("last")

    lives = [(await WHERE[where](tmp_path, answer, [tool(large)], program)).turns for _ in range(3)]
    assert lives == [lives[0]] * 3
    assert failed and asked.count("last") == 1
