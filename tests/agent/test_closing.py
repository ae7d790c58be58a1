"""An agent is closed while tasks of the program still talk in it: they come to an end, and leave nothing open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home
from transom.errors import NetworkFailed, RunError
from transom.llm import Reply, Request, ScriptedProvider


class Line:
    """Sub-conversations by purpose: `two` fails the first time, others take a while."""

    def __init__(self) -> None:
        self.failed = False
        self.ended: list[str] = []
        self.provider = ScriptedProvider(self.answer)

    async def answer(self, request: Request) -> str:
        purpose = request.window.text("purpose").strip()
        if purpose == "two" and not self.failed:
            self.failed = True
            await asyncio.sleep(0.01)
            raise NetworkFailed("the line is dead")
        await asyncio.sleep(0.1)
        self.ended.append(purpose)
        return "text"


async def look_into(agent: Agent, purpose: str, wait: float = 0) -> str:
    await asyncio.sleep(wait)  # a download, before it asks
    sub = await agent.create_sub_conversation(purpose)
    await sub.send(f"go {purpose}")
    return (await agent.complete_sub_conversation(sub.id)).text


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "temporary"])
async def test_a_program_sees_its_own_error_although_others_still_talk(kept: bool, tmp_path: Path) -> None:
    line = Line()
    with pytest.raises(NetworkFailed, match="the line is dead"):
        async with Agent(SEAT, provider=line.provider, at=Home(tmp_path, "t") if kept else None) as agent:
            work = [look_into(agent, one) for one in ("one", "two", "three")]
            await asyncio.gather(*work, look_into(agent, "four", wait=0.05))  # while it is closed
    assert {"one", "three"} <= {*line.ended}, "what was under way came to its end"


CLOSED = "the agent was closed while this task was under way; await all that talks in it .* makes another one"


async def test_a_task_that_is_left_behind_opens_nothing_again(tmp_path: Path) -> None:
    line = Line()
    late: list[asyncio.Task[str]] = []

    async def program() -> list[str]:
        async with Agent(SEAT, provider=line.provider, at=Home(tmp_path, "t")) as agent:
            late.append(asyncio.create_task(look_into(agent, "one", wait=0.1)))
            return list(await asyncio.gather(late[-1], look_into(agent, "two")))

    with pytest.raises(NetworkFailed):
        await program()
    with pytest.raises(RunError, match=CLOSED):
        await late[0]
    assert await program() == ["text", "text"], "nobody has it open"


@pytest.mark.parametrize("what", ["send", "go_on", "resume", "sub"])
async def test_who_waits_while_it_is_closed_is_refused(what: str, tmp_path: Path) -> None:
    line = Line()
    agent = Agent(SEAT, provider=line.provider, at=Home(tmp_path, "t"))
    sub = await agent.create_sub_conversation("mine")
    ways: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
        "send": lambda: agent.send("b"),
        "go_on": agent.go_on,
        "resume": agent.resume,
        "sub": lambda: sub.send("b"),
    }
    holds = asyncio.create_task((sub if what == "sub" else agent).send("a"))
    await asyncio.sleep(0.02)
    closes = asyncio.create_task(agent.close())
    await asyncio.sleep(0.02)
    waits = asyncio.create_task(ways[what]())
    assert (await holds).text == "text", "what is under way comes to its end"
    with pytest.raises(RunError, match=r"the agent (is being|was|that opened it is) closed"):
        await waits
    await closes
    async with Agent(SEAT, provider=line.provider, at=Home(tmp_path, "t")) as other:
        await other.resume()


async def test_what_is_part_of_a_message_that_is_under_way_comes_to_its_end(tmp_path: Path) -> None:
    line = Line()
    begun = asyncio.Event()

    async def dig(at: str) -> str:
        begun.set()
        await asyncio.sleep(0.05)
        return await look_into(agent, at)

    def answer(request: Request) -> Reply | str:
        asks_it = not request.role.endswith(".sub") and len(request.window.turns) == 1
        return asks(look("it", name="dig")) if asks_it else "text"

    line.provider = ScriptedProvider(answer)
    agent = Agent(SEAT, provider=line.provider, tools=[tool(dig, name="dig")], at=Home(tmp_path, "t"))
    holds = asyncio.create_task(agent.send("go"))
    await begun.wait()
    await agent.close()
    assert holds.done() and holds.result().text == "text"


def test_one_that_was_made_outside_of_any_task_is_of_the_task_that_uses_it_first(tmp_path: Path) -> None:
    line = Line()
    agent = Agent(SEAT, provider=line.provider, at=Home(tmp_path, "t"))

    async def program() -> list[str]:
        said = []
        for _ in range(2):
            said.append((await agent.send("a")).text)
            await asyncio.create_task(agent.close())
        return said

    assert [asyncio.run(program()) for _ in range(2)] == [["text", "text"]] * 2
    assert len(line.ended) == 1


@pytest.mark.parametrize("who", ["closed it", "made it", "enters it", "is new"])
async def test_the_program_may_go_on_with_what_it_closed(who: str, tmp_path: Path) -> None:
    line, close, closed = Line(), asyncio.Event(), asyncio.Event()
    agents: list[Agent] = []

    async def makes() -> str:
        agents.append(Agent(SEAT, provider=line.provider, at=Home(tmp_path, "t")))
        await agents[0].send("a")
        close.set()
        await closed.wait()
        return (await agents[0].send("a")).text if who == "made it" else "text"

    async def enters() -> str:
        await closed.wait()
        if who != "enters it":
            return "text"
        async with agents[0] as agent:
            return (await agent.send("a")).text

    others = [asyncio.create_task(makes()), asyncio.create_task(enters())]
    await close.wait()
    agent = agents[0]
    sub = await agent.create_sub_conversation("mine")
    await agent.close()
    with pytest.raises(RunError, match="the agent that opened it is closed; open it again"):
        await sub.send("a")
    closed.set()
    if who == "closed it":
        assert (await agent.send("a")).text == "text"
    if who == "is new":
        assert (await asyncio.create_task(agent.send("a"))).text == "text"
    assert await asyncio.gather(*others) == ["text", "text"]
    await agent.close()
    assert len(line.ended) == 1, "it is the same conversation"
