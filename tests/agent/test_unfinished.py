"""Conversations that somebody still waits for are found again, and finished."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from tests.forked import attempt
from transom.agent import Agent, Budget, Home
from transom.errors import NetworkFailed, Paused
from transom.llm import Block, Provider, Reply, Request, Role, ScriptedProvider, Tier
from transom.runs import Workspace
from transom.runs.journal import fold
from transom.runs.run import RUNS
from transom.store import Store
from transom.tools import ToolDefinition

OTHER = Role("t.other", (Block("role", "You.", Tier.STABLE),), frozenset({"role"}))


async def say(
    work: Path, name: str, provider: Provider, *tools: ToolDefinition, **more: Any
) -> str:
    """Send one message, whatever comes of it."""
    async with Agent(
        more.pop("role", SEAT), provider=provider, tools=tools, at=Home(work, name), **more
    ) as agent:
        try:
            return (await agent.send("Well?")).ended
        except (NetworkFailed, Paused) as error:
            return type(error).__name__


def cut_off(work: Path) -> None:
    """A conversation whose process is killed while the model is asked."""

    def answer(_request: Request) -> Reply:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    assert os.WIFSIGNALED(
        attempt(lambda: asyncio.run(say(work, "cut off", ScriptedProvider(answer))))
    )


async def names(work: Path) -> list[str]:
    return [home.name for home in await Home.unfinished(work, SEAT)]


def test_what_somebody_waits_for_is_found_and_finished(tmp_path: Path) -> None:
    work = tmp_path / ".transom"
    cut_off(work)

    async def program() -> None:
        leave = tool(needs_approval=True)
        assert await say(work, "answered", scripted("yes")) == "answered"
        assert await say(work, "failed", scripted(NetworkFailed("cut"))) == "NetworkFailed"
        assert (
            await say(work, "capped", scripted(asks(look("a"))), tool(), budget=Budget(tokens=0))
            == "tokens"
        )
        assert await say(work, "waits", scripted(asks(look("a"))), leave) == "Paused"
        await say(work, "failed", ScriptedProvider({"t.other": [NetworkFailed("cut")]}), role=OTHER)
        async with Agent(SEAT, provider=scripted(), at=Home(work, "silent")) as agent:
            assert await agent.resume() is None
        assert sorted(await names(work)) == ["capped", "cut off", "failed", "waits"]
        for home in await Home.unfinished(work, SEAT):
            if home.name != "waits":
                async with Agent(SEAT, provider=scripted("done"), tools=[tool()], at=home) as agent:
                    last = await agent.resume()
                assert last is not None
                assert last.text == "done"
        assert await names(work) == ["waits"]

    asyncio.run(program())


async def test_looking_for_what_is_unfinished_makes_nothing(tmp_path: Path) -> None:
    assert await Home.unfinished(tmp_path / "nowhere", SEAT) == []
    assert await Home.unfinished(tmp_path, SEAT) == []
    assert list(tmp_path.iterdir()) == []


async def test_a_conversation_without_its_answer_is_not_closed_as_done(tmp_path: Path) -> None:
    await say(tmp_path, "good", scripted("yes"))
    await say(tmp_path, "bad", scripted(NetworkFailed("cut")))
    async with Workspace.at(tmp_path).open_store() as store:
        records = [store.read(f"run/{row['id']}") for row in all_rows(store)]
    assert [fold(one).status for one in records] == ["stopped", "done"]


def all_rows(store: Store) -> list[Any]:
    """The runs, by name."""
    rows: list[Any] = list(store.items(RUNS).values())
    return sorted(rows, key=lambda row: str(row["name"]))


async def test_many_conversations_share_a_database_that_the_program_has_open(
    tmp_path: Path,
) -> None:
    async with Workspace.at(tmp_path).open_store() as store:
        before = handles()
        homes = [Home(tmp_path, f"talk {number}", store) for number in range(20)]
        agents = [Agent(SEAT, provider=scripted("yes"), at=home) for home in homes]
        await asyncio.gather(*(agent.send("Well?") for agent in agents))
        assert handles() == before
        await asyncio.gather(*(agent.close() for agent in agents))
        assert len(store.streams("run/")) == 20
    assert await names(tmp_path) == []


def handles() -> int:
    """The number of times that this process has a workspace's database open."""
    files = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(one).endswith("/state.db") for one in files)
