"""What kept a message from being said keeps it so in later lives, whatever the program did behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look
from transom.agent import Agent, Home
from transom.canonical import Json
from transom.context import Mark
from transom.errors import NetworkFailed, RunError, StoreError
from transom.llm import Block, Request, ScriptedProvider, UserMessage
from transom.runs import Workspace
from transom.store import SqliteStore
from transom.tools import ToolDefinition

NO_ROOM = "StoreError: state.db: there is no room; make some"


class Full(SqliteStore):
    """Has no room for a message, so many times."""

    refuses: dict[str, int]

    async def append(self, stream: str, kind: str, data: Json, *, sync: bool = True) -> int:
        told: Any = data
        text = told["told"].get("text", "") if kind == "told" else ""
        if self.refuses.get(text, 0):
            self.refuses[text] -= 1
            raise StoreError("there is no room", where="state.db", hint="make some")
        return await super().append(stream, kind, data, sync=sync)


class Program:
    """One that goes on whatever fails.

    Args:
        folder: its workspace.
        fails: messages that the network fails for in the first life, and how often.
    """

    def __init__(self, folder: Path, **fails: int) -> None:
        self._folder, self._fails = folder, fails
        self.asked: list[str] = []
        self.tools = list[ToolDefinition]()
        self.lives = 0
        self.ended: list[str]
        self.agent: Agent
        self.gate: asyncio.Event

    async def _answer(self, request: Request) -> Any:
        said = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1]
        if said == "slow" and self.lives == 1:
            await self.gate.wait()
        if self.lives == 1 and self._fails.get(said, 0):
            self._fails[said] -= 1
            raise NetworkFailed("the line is dead")
        self.asked.append(said)
        if said == "tell" and isinstance(request.window.turns[-1], UserMessage):
            return asks(look("it"))
        return f"so {said[-6:]}"

    async def end(self, what: Awaitable[Any], seconds: float | None = None) -> bool:
        """Whether it comes to a good end."""
        try:
            came = await asyncio.wait_for(what, seconds)
        except (NetworkFailed, StoreError, TimeoutError, RunError) as error:
            late = isinstance(error, TimeoutError)
            self.ended.append("TimeoutError" if late else f"{type(error).__name__}: {error}"[:80])
            return False
        self.ended.append(getattr(came, "text", ""))
        return True

    async def live(self, does: Callable[[Agent], Awaitable[None]], **refuses: int) -> tuple[list[str], list[str], Any]:
        """How what it does ends, what was said, and the marks of that; `refuses` counts in the first life."""
        self.lives += 1
        self.ended, self.gate = [], asyncio.Event()
        async with Full.open(Workspace.at(self._folder).database) as store:
            store.refuses = refuses if self.lives == 1 else {}
            provider = ScriptedProvider(self._answer)
            home = Home(self._folder, "t", store)
            async with Agent(SEAT, provider=provider, tools=self.tools, at=home) as agent:
                await does(agent)
                talk = agent._life.talk
                assert talk is not None
                said = [turn.text for turn in talk.turns if isinstance(turn, UserMessage)]
                return self.ended, said, dict(talk.marks)

    async def lives_alike(self, does: Callable[[Agent], Awaitable[None]], **refuses: int) -> tuple[list[str], Any]:
        """Three lives are one story, and nobody is asked again in the later ones: how it ends, and what was said."""
        first = await self.live(does, **refuses)
        asked = list(self.asked)
        for _ in range(2):
            assert await self.live(does) == first
        assert self.asked == asked
        return first[0], first[1]


@pytest.mark.parametrize("kept", ["refused", "stopped"])
@pytest.mark.parametrize("then", ["complete", "mark", "go on"])
async def test_it_stands_before_whatever_is_journaled_next(kept: str, then: str, tmp_path: Path) -> None:
    program = Program(tmp_path)

    async def does(agent: Agent) -> None:
        sub = await agent.create_sub_conversation("look into it")
        await program.end(sub.send("look"))
        if kept == "refused":
            await program.end(agent.send("first"))
        else:
            slow = asyncio.create_task(agent.send("slow"))
            await asyncio.sleep(0.02)
            await program.end(agent.send("first"), 0.05 if program.lives == 1 else None)
            program.gate.set()
            await slow
        if then == "complete":
            await program.end(agent.complete_sub_conversation(sub.id))
        if then == "mark":
            await agent.mark(Mark(milestone="there"))
        if then == "go on":  # and who tries again where it was left is answered then
            await program.end(agent.go_on() if program.lives == 1 else asyncio.sleep(0))
        await program.end(agent.send("last"))

    refuses = {"first": 1} if kept == "refused" else {}
    if then != "go on":
        ended, said = await program.lives_alike(does, **refuses)
        assert ended[1] == (NO_ROOM if kept == "refused" else "TimeoutError")
        assert said[-1] == "last" and said.index("first") == (1 if kept == "stopped" else 0)
        return
    ended, said, _ = await program.live(does, **refuses)
    assert ended[2] == "so first"
    assert (await program.live(does))[0][1] == "so first"
    assert (await program.live(does))[1] == said


async def test_what_was_kept_behind_a_summary_is_said_before_the_next_one(tmp_path: Path) -> None:
    """The sub-conversation had summed up, and the one that opened it could not be told."""
    program = Program(tmp_path)

    async def does(agent: Agent) -> None:
        sub = await agent.create_sub_conversation("look into it")
        await program.end(sub.send("look"))
        await program.end(sub.send("Now sum up what you found"))
        await program.end(sub.send("more"))
        await program.end(agent.complete_sub_conversation(sub.id))
        await program.end(agent.send("last"))

    ended, _ = await program.lives_alike(does, more=1)
    assert ended == ["so look", "so  found", NO_ROOM, "so okens.", "so last"]


async def test_what_comes_later_does_not_stand_before_what_waits_for_its_turn(tmp_path: Path) -> None:
    """A message gives up waiting behind a completion that waits, too."""
    program = Program(tmp_path)

    async def does(agent: Agent) -> None:
        sub = await agent.create_sub_conversation("look into it")
        await sub.send("look")
        slow = asyncio.create_task(agent.send("slow"))
        await asyncio.sleep(0.02)
        found = asyncio.create_task(agent.complete_sub_conversation(sub.id))
        await asyncio.sleep(0.02)
        await program.end(agent.send("later"), 0.05 if program.lives == 1 else None)
        program.gate.set()
        await asyncio.gather(slow, found)
        await program.end(agent.send("last"))

    ended, said = await program.lives_alike(does)
    assert ended == ["TimeoutError", "so last"]
    assert (said[0], said[2:]) == ("slow", ["later", "last"])


async def test_who_gives_up_after_some_tries_is_kept_from_it_as_often_in_later_lives(tmp_path: Path) -> None:
    """Tries that the store refused are one message with the one that it took."""
    program = Program(tmp_path, again=1)

    async def does(agent: Agent) -> None:
        await program.end(agent.send("first"))
        for _ in range(3):
            await program.end(agent.send("again"))
        await program.end(agent.send("last"))

    ended, said = await program.lives_alike(does, again=2)
    assert ended == ["so first", NO_ROOM, NO_ROOM, "NetworkFailed: the line is dead", "so last"]
    assert said == ["first", "again", "last"]


async def test_who_is_answered_after_some_tries_is_answered_at_once_in_later_lives(tmp_path: Path) -> None:
    """Whatever tries then: nothing keeps it from being said any more."""
    program = Program(tmp_path)

    async def does(agent: Agent) -> None:
        await program.end(agent.send("first"))
        for _ in range(3):
            if await program.end(agent.send("again")):
                break
        await program.end(agent.send("last"))

    first = await program.live(does, again=2)
    assert first[0] == ["so first", NO_ROOM, NO_ROOM, "so again", "so last"]
    for _ in range(2):
        later = await program.live(does)
        assert (later[0], later[1]) == (["so first", "so again", "so last"], first[1])
    assert program.asked == ["first", "again", "last"]


async def test_who_gives_up_sooner_than_before_goes_on_all_the_same(tmp_path: Path) -> None:
    """And what was kept between two tries of the same, or with other blocks, is no try of it."""
    program = Program(tmp_path)

    async def does(agent: Agent) -> None:
        for _ in range(3 if program.lives == 1 else 1):
            if await program.end(agent.send("one")):
                break
        await program.end(agent.send("two"))
        await program.end(agent.send("three", Block("extra", "of it")))
        await program.end(agent.send("two"))
        await program.end(agent.send("three"))

    first = await program.live(does, one=2, two=1, three=1)
    assert first[0] == [NO_ROOM, NO_ROOM, "so one", NO_ROOM, NO_ROOM, "so two", "so three"]
    assert first[1] == ["one", "two", "three", "two", "three"]
    for _ in range(2):
        later = await program.live(does)
        assert (later[0], later[1]) == (["so one", *first[0][3:]], first[1])


async def test_what_is_answered_already_keeps_its_answer_where_today_keeps_it_from_being_said(tmp_path: Path) -> None:
    """A stop that comes in a later life, while something else is under way; nothing is asked again behind it."""
    program = Program(tmp_path)

    async def does(agent: Agent) -> None:
        for message in ("one", "two", "three"):
            if program.lives == 2 and message == "two":
                async with agent._life.lock:
                    await program.end(agent.send(message), 0.02)
            else:
                await program.end(agent.send(message))

    first, second, third = [await program.live(does) for _ in range(3)]
    assert (second[0], second[1]) == (["so one", "TimeoutError", "so three"], first[1])
    assert third == first
    assert program.asked == ["one", "two", "three"]


async def test_what_could_never_be_said_is_not_said_later_either(tmp_path: Path) -> None:
    """A blank message gives up waiting before anybody looked at it."""
    program = Program(tmp_path)

    async def does(agent: Agent) -> None:
        slow = asyncio.create_task(agent.send("slow"))
        await asyncio.sleep(0.02)
        if program.lives == 1:
            await program.end(agent.send("  "), 0.05)
        program.gate.set()
        await slow
        await program.end(agent.send("one"))
        await program.end(agent.send("two"))

    assert (await program.live(does))[:2] == (["TimeoutError", "so one", "so two"], ["slow", "one", "two"])
    assert (await program.live(does))[:2] == (["so one", "so two"], ["slow", "one", "two"])
