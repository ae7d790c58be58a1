"""What sub-conversations found is told once, and in every life in the order in which the journal has it told."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home
from transom.canonical import Json
from transom.errors import LeftUnanswered
from transom.llm import Asked, CameBack, Reply, Request, ScriptedProvider, Text
from transom.runs import Workspace
from transom.store import SqliteStore


def answer(request: Request) -> Reply:
    """Calls for two looks at once, and finds what it was asked for."""
    turns = request.window.turns
    if request.role == SEAT.name:
        called = any(isinstance(turn, CameBack) for turn in turns)
        return Reply((Text("done"),)) if called else asks(look("bolts", "1"), look("nuts", "2"))
    first, *_ = [turn.text for turn in turns if isinstance(turn, Asked)]
    return Reply((Text(f"There are {first}."),))


class Late(SqliteStore):
    """Who opens the second sub-conversation hears only when all are open that it is written."""

    async def append(self, stream: str, kind: str, data: Json, *, sync: bool = True) -> int:
        number = await super().append(stream, kind, data, sync=sync)
        told: Any = data
        if kind == "told" and told["told"]["event"] == "opened":
            opened = [one for one in self.read(stream) if one.kind == "told"]
            await asyncio.sleep(0.02 if len(opened) == 2 else 0)
        return number


def told(folder: Path) -> list[str]:
    """Which findings the journal has, in its order."""
    with closing(sqlite3.connect(Workspace.at(folder).database)) as connection:
        rows = connection.execute("SELECT data FROM records WHERE kind = 'told' ORDER BY seq").fetchall()
    found = [json.loads(data)["told"] for (data,) in rows]
    return [one["sub"] for one in found if one["event"] == "found"]


async def live(folder: Path, store: SqliteStore | None = None) -> tuple[list[str], int]:
    """What is told in one life of a program whose handlers look into two things at once; and how many it asked."""

    async def handler(what: str) -> str:
        async def one(which: str) -> None:
            sub = await agent.create_sub_conversation("look into it", f"{which} {what}")
            await sub.send(f"{which} {what}")
            await agent.complete_sub_conversation(sub.id)

        await asyncio.gather(one("small"), one("great"))
        return "both"

    provider = ScriptedProvider(answer)
    async with Agent(SEAT, provider=provider, tools=[tool(handler)], at=Home(folder, "t", store)) as agent:
        turns = (await agent.send("go")).turns
    return [turn.text for turn in turns if isinstance(turn, Asked)], len(provider.requests)


async def test_it_is_told_in_the_order_of_the_journal_whoever_hears_first_that_it_is_written(tmp_path: Path) -> None:
    async with Late.open(Workspace.at(tmp_path).database) as store:
        first, asked = await live(tmp_path, store)
    assert len(first) == 5 and asked == 2 + 4 * 2
    assert await live(tmp_path) == (first, 0)


async def test_it_is_told_in_the_order_in_which_it_was_told_before(tmp_path: Path) -> None:
    """Also where nothing else says that order: an earlier version told it as its tasks happened to come."""
    first, _ = await live(tmp_path)
    before = told(tmp_path)
    with closing(sqlite3.connect(Workspace.at(tmp_path).database)) as connection, connection:
        rows = connection.execute("SELECT seq, data FROM records WHERE kind = 'told' ORDER BY seq").fetchall()
        found = [(seq, json.loads(data)) for seq, data in rows if json.loads(data)["told"]["event"] == "found"]
        for (seq, data), (_, other) in zip(found, reversed(found), strict=True):
            turned = json.dumps({**data, "told": other["told"]})
            connection.execute("UPDATE records SET data = ? WHERE seq = ?", (turned, seq))
    again, asked = await live(tmp_path)
    assert (again, asked) == ([first[0], *reversed(first[1:])], 0)
    assert told(tmp_path) == before[::-1]


class Cut(SqliteStore):
    """Cancels a task as the end of a sub-conversation is written."""

    going: asyncio.Task[Any] | None = None

    async def append(self, stream: str, kind: str, data: Json, *, sync: bool = True) -> int:
        number = await super().append(stream, kind, data, sync=sync)
        told: Any = data
        if self.going and kind == "told" and told["told"]["event"] == "completed":
            going, self.going = self.going, None
            going.cancel()
            await asyncio.sleep(0)
        return number


@pytest.mark.parametrize("by", ["a handler", "the program"])
async def test_what_a_conversation_went_on_without_voids_nothing_in_it(by: str, tmp_path: Path) -> None:
    """It was completed, and stopped before that was told; something else was said, and nobody waits for it there."""

    async def program(store: Cut | None = None) -> tuple[Any, int]:
        async def handler(what: str) -> str:
            sub = await agent.create_sub_conversation("look into it", what)
            await sub.send(what)
            return (await agent.complete_sub_conversation(sub.id)).text

        tools, provider = [tool(handler if by == "a handler" else None)], ScriptedProvider(answer)
        async with Agent(SEAT, provider=provider, tools=tools, at=Home(tmp_path, "t", store)) as agent:
            going = asyncio.create_task(agent.send("go") if by == "a handler" else handler("bolts"))
            if store:
                store.going = going
            with suppress(asyncio.CancelledError, LeftUnanswered):
                await going
            return (await agent.send("two")).turns[-1], len(provider.requests)

    async with Cut.open(Workspace.at(tmp_path).database) as store:
        first, asked = await program(store)
    before = told(tmp_path)
    assert asked
    assert [await program() for _ in range(2)] == [(first, 0)] * 2
    assert told(tmp_path) == before
