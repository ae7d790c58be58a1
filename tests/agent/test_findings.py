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
from transom.errors import NetworkFailed, Paused, StoreError, Unanswered
from transom.llm import Chain, Reply, Request, ScriptedProvider, Text, ToolResults, Turn, UserMessage
from transom.runs import Run, Stage, Workspace, text_file
from transom.store import SqliteStore
from transom.tools import ToolLimits


def answer(request: Request) -> Reply:
    """Calls for two looks at once, and finds what it was asked for."""
    turns = request.window.turns
    if request.role == SEAT.name:
        called = any(isinstance(turn, ToolResults) for turn in turns)
        return Reply((Text("done"),)) if called else asks(look("bolts", "1"), look("nuts", "2"))
    first, *_ = [turn.text for turn in turns if isinstance(turn, UserMessage)]
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
    return [turn.text for turn in turns if isinstance(turn, UserMessage)], len(provider.requests)


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
            with suppress(asyncio.CancelledError, Unanswered):
                await going
            return (await agent.send("two")).turns[-1], len(provider.requests)

    async with Cut.open(Workspace.at(tmp_path).database) as store:
        first, asked = await program(store)
    before = told(tmp_path)
    assert asked
    assert [await program() for _ in range(2)] == [(first, 0)] * 2
    assert told(tmp_path) == before


async def test_it_is_told_where_it_was_opened_and_not_further_up(tmp_path: Path) -> None:
    """Also where a call in a sub-conversation is the same, at the same place, as the one that opened that."""
    down = [NetworkFailed("down")]

    def reply(request: Request) -> Reply:
        depth = request.role.count(".sub")
        if depth < 2 and not any(isinstance(turn, ToolResults) for turn in request.window.turns):
            return asks(look("it"))
        if not depth and down:
            raise down.pop()
        return Reply((Text(f"found at {depth}"),))

    async def life() -> list[str]:
        async def handler(what: str) -> str:
            sub = await agents[-1].create_sub_conversation("look into it", str(len(agents)))
            agents.append(sub)
            await sub.send(what)
            agents.pop()
            return (await agents[-1].complete_sub_conversation(sub.id)).text

        provider = ScriptedProvider(reply)
        async with Agent(SEAT, provider=provider, tools=[tool(handler)], at=Home(tmp_path, "t")) as agent:
            agents = [agent]
            turns = (await agent.send("go")).turns
        return [turn.text.split("\n")[5] for turn in turns if isinstance(turn, UserMessage) and turn.text != "go"]

    with pytest.raises(NetworkFailed):
        await life()
    assert [await life() for _ in range(2)] == [["found at 1"]] * 2


class Refusing(SqliteStore):
    """Has no room for the first finding."""

    refused = False

    async def append(self, stream: str, kind: str, data: Json, *, sync: bool = True) -> int:
        told: Any = data
        if kind == "told" and told["told"]["event"] == "found" and not self.refused:
            self.refused = True
            raise StoreError("there is no room")
        return await super().append(stream, kind, data, sync=sync)


@pytest.mark.parametrize("then", ["the same", "another one"])
async def test_what_could_not_be_written_is_told_once_and_first(then: str, tmp_path: Path) -> None:
    async with Refusing.open(Workspace.at(tmp_path).database) as store:
        provider = ScriptedProvider(answer)
        async with Agent(SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t", store)) as agent:
            subs = [await agent.create_sub_conversation("look into it", what) for what in ("bolts", "nuts")]
            for sub in subs:
                await sub.send("how many?")
            with pytest.raises(StoreError):
                await agent.complete_sub_conversation(subs[0].id)
            for sub in subs if then == "the same" else [*subs[1:], subs[0]]:
                await agent.complete_sub_conversation(sub.id)
                assert sub.id in told(tmp_path)
            await agent.send("go")
        assert told(tmp_path) == [sub.id for sub in subs]


async def test_lines_that_stood_in_for_a_sum_up_stay_where_they_could_not_be_told_at_once(tmp_path: Path) -> None:
    """It is over by then: it is not asked to sum up once more, and later lives tell the same."""
    down = [NetworkFailed("the line is dead")]

    def reply(request: Request) -> Reply:
        last = request.window.turns[-1]
        if isinstance(last, UserMessage) and last.text.startswith("Now sum up") and down:
            raise down.pop()
        return Reply((Text("done"),))

    async def life(store: Refusing | None = None) -> tuple[str, Any, int]:
        provider = ScriptedProvider(reply)
        async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t", store)) as agent:
            sub = await agent.create_sub_conversation("look into it")
            await sub.send("how many?")
            if store:
                with pytest.raises(StoreError):
                    await agent.complete_sub_conversation(sub.id)
            summary = await agent.complete_sub_conversation(sub.id)
            return summary.by, (await agent.send("go")).turns, len(provider.requests)

    async with Refusing.open(Workspace.at(tmp_path).database) as store:
        by, turns, asked = await life(store)
    assert (by, asked) == ("extract", 3)
    assert [await life() for _ in range(2)] == [("extract", turns, 0)] * 2


async def test_a_finding_that_was_told_later_is_told_later_whoever_comes_first(tmp_path: Path) -> None:
    async def life(*order: str) -> tuple[Any, int]:
        provider = ScriptedProvider(answer)
        async with Agent(SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t")) as agent:
            sub = await agent.create_sub_conversation("look into it")
            await sub.send("bolts")
            for one in order:
                await (agent.complete_sub_conversation(sub.id) if one == "complete" else agent.send(one))
            return (await agent.send("end")).turns, len(provider.requests)

    first, asked = await life("go", "complete", "two")
    assert asked
    assert [await life(*order) for order in (("complete", "go", "two"), ("go", "complete", "two"))] == [(first, 0)] * 2


async def test_what_a_handler_completed_is_not_opened_again(tmp_path: Path) -> None:
    """A program that resumes opens another one for the same purpose."""

    async def handler(what: str) -> str:
        return (await agent.complete_sub_conversation(sub.id)).text if what == "bolts" else what

    provider = ScriptedProvider(answer)
    async with Agent(SEAT, provider=provider, tools=[tool(handler)], at=Home(tmp_path, "t")) as agent:
        sub = await agent.create_sub_conversation("look into it")
        await sub.send("bolts")
        await agent.send("go")
    async with Agent(SEAT, provider=provider, tools=[tool(handler)], at=Home(tmp_path, "t")) as agent:
        await agent.resume()
        other = await agent.create_sub_conversation("look into it")
        assert other.id != sub.id and (await other.send("nuts")).text == "There are nuts."


async def test_in_a_stage_a_finding_is_told_where_the_code_has_it_today(tmp_path: Path) -> None:
    async def life(*, looks: bool) -> list[str]:
        workspace, kept = Workspace.at(tmp_path), list[str]()
        async with workspace.open_store() as store:
            chain = Chain((ScriptedProvider(answer),))
            run = await Run.open("test", {}, name="t", workspace=workspace, store=store, chain=chain)

            async def work(stage: Stage) -> str:
                agent = Agent(SEAT, at=stage, tools=[tool()])
                await agent.send("go")
                if looks:
                    sub = await agent.create_sub_conversation("look into it")
                    await sub.send("bolts")
                    await agent.complete_sub_conversation(sub.id)
                turns = (await agent.send("two")).turns
                kept.extend(turn.text for turn in turns if isinstance(turn, UserMessage))
                return "done"

            async with run:
                await run.stage("talk", work, out=text_file("t.md"), reuse=False)
        return kept

    assert await life(looks=False) == ["go", "two"]
    go, found, two = await life(looks=True)
    assert (go, two) == ("go", "two") and "There are bolts." in found


async def test_what_is_new_is_told_in_the_order_in_which_it_was_begun_however_long_it_takes(tmp_path: Path) -> None:
    first_is_over = asyncio.Event()

    async def slow(request: Request) -> Reply:
        reply = answer(request)
        if "bolts" in reply.text:
            await first_is_over.wait()
        return reply

    async def handler(what: str) -> str:
        sub = await agent.create_sub_conversation("look into it", what)
        await sub.send(what)
        await agent.complete_sub_conversation(sub.id)
        first_is_over.set()
        return what

    async with Agent(SEAT, provider=ScriptedProvider(slow), tools=[tool(handler)], at=Home(tmp_path, "t")) as agent:
        _, bolts, nuts = [turn.text for turn in (await agent.send("go")).turns if isinstance(turn, UserMessage)]
    assert "There are bolts." in bolts and "There are nuts." in nuts


@pytest.mark.parametrize("where", ["a Home", "a stage"])
async def test_what_a_call_found_that_ran_out_of_its_time_is_told_once(where: str, tmp_path: Path) -> None:
    """It had completed it by then; an equal call goes on with that, and finds nothing new."""

    async def life() -> tuple[list[str], int]:
        async def handler(what: str) -> str:
            tries.append(what)
            sub = await agent.create_sub_conversation("look into it")
            await sub.send(what)
            await agent.complete_sub_conversation(sub.id)
            if len(tries) == 1:
                await asyncio.sleep(3_600)
            return what

        def reply(request: Request) -> Reply:
            turns = request.window.turns
            if request.role == SEAT.name and sum(isinstance(turn, ToolResults) for turn in turns) < 2:
                return asks(look("bolts"))
            return Reply((Text("There are bolts."),))

        tries, provider = list[str](), ScriptedProvider(reply)
        tools = [tool(handler, limits=ToolLimits(seconds=0.5))]
        agent = Agent(SEAT, provider=provider, tools=tools, at=Home(tmp_path, "t"))
        turns, workspace = list[Turn](), Workspace.at(tmp_path)

        async def work(stage: Stage) -> str:
            nonlocal agent
            async with Agent(SEAT, at=stage, tools=tools) as agent:
                turns.extend((await agent.send("go")).turns)
            return "done"

        if where == "a Home":
            async with agent:
                turns.extend((await agent.send("go")).turns)
        else:
            async with workspace.open_store() as store:
                chain = Chain((provider,))
                run = await Run.open("test", {}, name="t", workspace=workspace, store=store, chain=chain)
                async with run:
                    await run.stage("talk", work, out=text_file("t.md"), reuse=False)
        return [turn.__class__.__name__ for turn in turns], len(provider.requests)

    order = ["Asked", "Said", "CameBack", "Asked", "Said", "CameBack", "Said"]
    assert [await life() for _ in range(3)] == [(order, 5), (order, 0), (order, 0)]


async def test_in_a_stage_it_is_told_what_the_last_try_of_its_call_found(tmp_path: Path) -> None:
    """The first one looked for something else."""

    async def life(number: int) -> tuple[list[str], int]:
        def reply(request: Request) -> Reply:
            turns = request.window.turns
            if request.role == SEAT.name and not any(isinstance(turn, ToolResults) for turn in turns):
                return asks(look("bolts"))
            return Reply((Text(f"There are {'bolts' if number else 'nuts'}."),))

        async def work(stage: Stage) -> str:
            async def handler(what: str) -> str:
                sub = await agent.create_sub_conversation("look into it")
                await sub.send(what if number else "nuts")
                summary = await agent.complete_sub_conversation(sub.id)
                if not number:
                    raise Paused("later", run_id="t")
                return summary.by

            async with Agent(SEAT, at=stage, tools=[tool(handler)]) as agent:
                turns = (await agent.send("go")).turns
            found.extend(turn.text for turn in turns if isinstance(turn, UserMessage))
            return "done"

        workspace, found, provider = Workspace.at(tmp_path), list[str](), ScriptedProvider(reply)
        async with workspace.open_store() as store:
            run = await Run.open("test", {}, name="t", workspace=workspace, store=store, chain=Chain((provider,)))
            async with run:
                with suppress(Paused):
                    await run.stage("talk", work, out=text_file("t.md"), reuse=False)
        return found, len(provider.requests)

    assert (await life(0))[0] == []
    (go, found), asked = await life(1)
    assert (go, asked) == ("go", 3) and "look into it\n\nThere are bolts." in found
    assert await life(2) == ([go, found], 0)
