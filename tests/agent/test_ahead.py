"""A message that failed has its answer in the next life, and its tool talks where the program went on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.agent.world import text
from transom.agent import Agent, Home
from transom.errors import NetworkFailed, TransomError
from transom.llm import Block, Request, ScriptedProvider, ToolResults, UserMessage


class Program:
    """Its tool says something where `to` is; messages that begin with "tell" have it called.

    Args:
        folder: its workspace.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.down: set[str] = set()
        self.asked: list[str] = []
        self.to: Agent
        self.inner: Agent
        self.agent: Agent
        self.hangs = False

    async def _answer(self, request: Request) -> Any:
        said = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1]
        last = request.window.turns[-1]
        if said in self.down:
            raise NetworkFailed("the line is dead")
        self.asked.append(said)
        if isinstance(last, ToolResults):
            return text(last.results[0].content)
        return asks(look(said)) if said.startswith("tell") else text(f"so {said[-12:]}")

    async def _tell(self, at: str) -> str:
        found = (await self.to.send(f"of {at}")).text
        if self.hangs:
            await asyncio.sleep(3_600)
        return f"told {found}"

    async def end(self, what: Awaitable[Any], seconds: float | None = None) -> str:
        try:
            return str(getattr(await asyncio.wait_for(what, seconds), "text", ""))
        except (TransomError, TimeoutError) as error:
            return "late" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"

    async def live(self, does: Callable[[], Awaitable[list[str]]]) -> tuple[list[str], list[str], list[str], int]:
        """How what it does ends; what was said in it and where its tool talks; what was used."""
        self.asked = []
        tools = [tool(self._tell)]
        async with Agent(SEAT, provider=ScriptedProvider(self._answer), tools=tools, at=Home(self._folder, "t")) as one:
            self.agent = self.to = one
            ended = await does()
            talks = [await agent._life.catch_up() for agent in (one, self.to)]
            said = [[turn.text for turn in talk.turns if isinstance(turn, UserMessage)] for talk in talks]
            return ended, said[0], said[1], one.context().input_tokens

    async def in_sub(self, *more: str) -> list[str]:
        """Says one thing, and then others in a sub-conversation."""
        self.to = await self.agent.create_sub_conversation("help")
        return [await self.end(self.agent.send("tell x")), *[await self.end(self.to.send(one)) for one in more]]


NET = "NetworkFailed: the line is dead"


async def test_its_tool_is_heard_behind_what_the_program_said_there(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.down = {"tell x"}
    assert (await program.live(lambda: program.in_sub("two", "three")))[0] == [NET, "so two", "so three"]
    program.down = set()
    first = await program.live(lambda: program.in_sub("two", "three"))
    assert first[0] == ["told so of tell x", "so two", "so three"]
    assert first[1:3] == (["tell x"], ["two", "three", "of tell x"])
    assert program.asked == ["tell x", "of tell x", "tell x"]
    for _ in range(2):
        assert await program.live(lambda: program.in_sub("two", "three")) == first
        assert program.asked == []
    more = await program.live(lambda: program.in_sub("two", "three", "four"))
    assert (more[0][3], more[2]) == ("so four", ["two", "three", "of tell x", "four"])


@pytest.mark.parametrize("down", ["in one life", "in two"])
async def test_what_waits_for_its_answer_there_gets_it_first(down: str, tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.down = {"tell x", "two"}
    assert (await program.live(lambda: program.in_sub("two")))[0] == [NET, NET]
    program.down = {"two"} if down == "in two" else set()
    first = await program.live(lambda: program.in_sub("two"))
    if down == "in two":
        assert "the line is dead" in first[0][0] and first[0][1] == NET
        program.down = set()
        first = await program.live(lambda: program.in_sub("two"))
        assert first[0][1] == "so two"
    else:
        assert first[0] == ["told so of tell x", "so two"]
        assert first[2] == ["two", "of tell x"]
    assert program.asked.count("two") == 1
    assert await program.live(lambda: program.in_sub("two")) == first
    assert program.asked == []


async def test_what_stays_without_an_answer_there_stays_so(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.down = {"tell x", "two"}
    assert (await program.live(lambda: program.in_sub("two", "three")))[0] == [NET, NET, "so three"]
    program.down = set()
    first = await program.live(lambda: program.in_sub("two", "three"))
    assert first[0] == ["told so of tell x", NET, "so three"]
    assert await program.live(lambda: program.in_sub("two", "three")) == first


async def test_it_goes_on_behind_it_where_it_had_said_something_already(tmp_path: Path) -> None:
    """The message was gone on with in the first life, and its tool was stopped when it had its answer."""
    program = Program(tmp_path)
    program.down, program.hangs = {"tell x"}, True

    async def does() -> list[str]:
        ended = await program.in_sub("two")
        if program.down:
            program.down = set()
            ended.append(await program.end(program.agent.go_on(), 0.2))
        return ended

    assert (await program.live(does))[0] == [NET, "so two", "late"]
    program.hangs = False
    first = await program.live(does)
    assert (first[0], first[2]) == (["told so of tell x", "so two"], ["two", "of tell x"])
    assert program.asked == ["tell x"]
    assert await program.live(does) == first


async def test_who_says_something_else_there_is_told_so(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.down = {"tell x"}
    await program.live(lambda: program.in_sub("two"))
    program.down = set()
    ended = (await program.live(lambda: program.in_sub("another")))[0]
    assert "RunError" in ended[1] and "something else was said here before: 'two'" in ended[1]


async def test_a_tool_of_a_sub_conversation_talks_where_something_was_found_meanwhile(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.down = {"tell x"}

    async def does() -> list[str]:
        subs = [await program.agent.create_sub_conversation("help", what) for what in ("one", "two")]
        ended = [await program.end(subs[1].send("look")), await program.end(subs[0].send("tell x"))]
        await program.end(program.agent.complete_sub_conversation(subs[1].id))
        return [*ended, await program.end(program.agent.send("last", Block("extra", "of it")))]

    assert (await program.live(does))[0] == ["so look", NET, "so last"]
    program.down = set()
    first = await program.live(does)
    assert first[0] == ["so look", "told so of tell x", "so last"]
    assert [first[1][1:], program.asked] == [["last", "of tell x"], ["tell x", "of tell x", "tell x"]]
    assert await program.live(does) == first


async def test_its_tool_completes_what_the_program_opened_behind_what_that_said_there(tmp_path: Path) -> None:
    """The conversation in which it was opened is told of it there, and in later lives, too."""
    program = Program(tmp_path)
    program.down = {"tell x"}

    async def completes(at: str) -> str:
        return (await program.to.complete_sub_conversation(program.inner.id)).text

    async def does() -> list[str]:
        program.to = await program.agent.create_sub_conversation("help")
        program.inner = await program.to.create_sub_conversation("inner")
        said = (program.inner, "in"), (program.agent, "tell x"), (program.to, "two"), (program.to, "three")
        return [await program.end(to.send(what)) for to, what in said]

    program._tell = completes  # type: ignore[method-assign]  # what its tool does here
    assert (await program.live(does))[0] == ["so in", NET, "so two", "so three"]
    program.down = set()
    first = await program.live(does)
    assert first[0][2:] == ["so two", "so three"]
    assert [one[:9] for one in first[2]] == ["two", "three", "<finding>"]
    for _ in range(2):
        assert await program.live(does) == first
        assert program.asked == []


@pytest.mark.parametrize("down", [set[str](), {"two"}], ids=["answered", "left"])
async def test_its_tool_goes_on_with_what_the_program_said_there(down: set[str], tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.down = {"tell x", *down}

    async def goes_on(at: str) -> str:
        return (await program.to.go_on()).text

    program._tell = goes_on  # type: ignore[method-assign]  # what its tool does here
    assert (await program.live(lambda: program.in_sub("two")))[0] == [NET, NET if down else "so two"]
    program.down = set()
    first = await program.live(lambda: program.in_sub("two"))
    assert first[0] == ["so two", "so two"]
    assert program.asked.count("two") == len(down)
    assert await program.live(lambda: program.in_sub("two")) == first
    assert program.asked == []


@pytest.mark.parametrize("where", ["in a sub-conversation", "in main"])
async def test_a_program_goes_on_behind_what_a_tool_found_that_is_over(where: str, tmp_path: Path) -> None:
    """The program opened it, and the call has its outcome: nobody finds it again."""
    program = Program(tmp_path)

    async def completes(at: str) -> str:
        return (await program.to.complete_sub_conversation(program.inner.id)).text

    async def does() -> list[str]:
        sub = await program.agent.create_sub_conversation("help")
        program.to, talks = (sub, program.agent) if where == "in a sub-conversation" else (program.agent, sub)
        program.inner = await program.to.create_sub_conversation("inner")
        said = (program.inner, "in"), (talks, "tell x"), (program.to, "two")
        return [await program.end(to.send(what)) for to, what in said]

    program._tell = completes  # type: ignore[method-assign]  # what its tool does here
    first = await program.live(does)
    assert (first[0][2], [one[:9] for one in first[2]]) == ("so two", ["<finding>", "two"])
    for _ in range(2):
        assert await program.live(does) == first
        assert program.asked == []
