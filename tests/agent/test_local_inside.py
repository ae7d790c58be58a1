"""What is marked local stays where a tool's handler carries it: in what it yields, says and opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, sent, tool
from tests.agent.test_local import READ_LOG, SECRET, none_told, seat, two
from transom.agent import Agent, Home, SyncAgent
from transom.errors import EgressError
from transom.llm import Block, CameBack, ScriptedProvider
from transom.tools import ToolDefinition
from transom.tools.definition import Outcome

READS = asks(look("a", name="read_log"))


def yields(how: str, text: str) -> Any:
    """What a handler may do with what it heard."""
    if how == "raised":
        raise ValueError(text)
    return Outcome(text) if how == "an outcome" else text


class Program:
    """A role elsewhere with a tool `dig`, whose handler talks with somebody here, who reads a log."""

    def __init__(self, folder: Path, talks: str, how: str = "returned") -> None:
        self.main, _, self.chain = two([asks(look("it", name="dig")), "ok"], [READS, f"It says {SECRET}"] * 2)
        self.talks, self.how, self.folder, self.digs = talks, how, folder, 0
        self.agent: Agent
        self.opened: Agent | None = None

    async def dig(self, at: str) -> Any:
        self.digs += 1
        if self.talks == "the program's":
            assert self.opened
            text = (await self.opened.send(at)).text
        elif self.talks == "read":
            assert self.opened
            text = self.opened.history()[-1].content
        elif self.talks == "summed up":
            sub = await self.agent.create_sub_conversation("look")
            await sub.send(at)
            text = (await self.agent.complete_sub_conversation(sub.id)).text
        elif self.talks == "another home":
            here = seat("t.seat", READS, SECRET, local=True)
            async with Agent(SEAT, provider=here, tools=[READ_LOG], at=Home(self.folder, "other")) as other:
                answer = await other.resume() or await other.send(at)
            text = answer.text
        else:
            sub = await self.agent.create_sub_conversation("look")
            text = (await sub.send(at)).text
        return yields(self.how, text)

    async def life(self) -> Agent:
        self.agent = Agent(
            SEAT, provider=self.chain, tools=[READ_LOG, tool(self.dig, name="dig")], at=Home(self.folder, "t")
        )
        if self.talks in ("the program's", "read"):
            self.opened = await self.agent.create_sub_conversation("mine")
            if self.talks == "read":
                await self.opened.send("read it")
        return self.agent


@pytest.mark.parametrize("how", ["returned", "raised", "an outcome"])
@pytest.mark.parametrize("talks", ["its own", "the program's", "another home", "read", "summed up"])
async def test_what_a_handler_yields_is_as_local_as_whatever_it_talked_in(talks: str, how: str, tmp_path: Path) -> None:
    program = Program(tmp_path, talks, how)
    async with await program.life() as agent:
        with pytest.raises(EgressError, match="result of tool dig is marked local"):
            await agent.send("go")
        with pytest.raises(EgressError):
            await agent.go_on()
    async with await program.life() as agent:  # by the journal
        with pytest.raises(EgressError, match="result of tool dig is marked local"):
            await agent.send("go")
    assert program.digs == 1 and len(program.main.requests) == 1 and none_told(program.main)


async def test_what_a_handler_yields_of_others_is_as_free_as_they_are(tmp_path: Path) -> None:
    main, _, chain = two(["hello", asks(look("it", name="dig")), "ok"], ["Nothing.", READS, SECRET])

    async def dig(at: str) -> str:
        sub = await agent.create_sub_conversation("look")
        return (await sub.send(at)).text

    async with Agent(SEAT, provider=chain, tools=[READ_LOG, tool(dig, name="dig")], at=Home(tmp_path, "t")) as agent:
        await agent.send("hi")
        answer = await agent.send("go")
        assert "Nothing." in sent(main.requests[-1]) and answer.text == "ok"
        (came,) = [turn.results[0] for turn in answer.turns if isinstance(turn, CameBack)]
        assert came.egress == "any"
        local = await agent.create_sub_conversation("what the program heard is the program's")
        assert SECRET in (await local.send("go")).text


async def test_what_is_heard_deep_inside_is_heard_by_each_call_around_it(tmp_path: Path) -> None:
    """A handler is told that something was refused in what it opened, which is because of what was heard there."""
    there = ScriptedProvider(
        {"t.seat": [asks(look("it", name="outer")), "ok"], "t.seat.sub": [asks(look("it", name="inner")), "ok"]},
        local=False,
    )

    async def outer(at: str) -> str:
        sub = await agent.create_sub_conversation("outer")
        with pytest.raises(EgressError, match="result of tool inner is marked local"):
            await sub.send(at)
        return "it was refused"

    async def inner(at: str) -> str:
        here = seat("t.seat", SECRET, local=True)
        async with Agent(SEAT, provider=here, at=Home(tmp_path, "other")) as other:
            return (await other.send(at, Block("extra", SECRET, egress="local"))).text

    tools = [tool(outer, name="outer"), tool(inner, name="inner")]
    async with Agent(SEAT, provider=there, tools=tools, at=Home(tmp_path, "t")) as agent:
        with pytest.raises(EgressError, match="result of tool outer is marked local"):
            await agent.send("go")
    assert len(there.requests) == 2 and none_told(there)


def test_a_plain_handler_hears_what_it_is_told_at_a_door_of_its_own(tmp_path: Path) -> None:
    here = seat("t.seat", "hello", READS, SECRET, local=True)
    other = SyncAgent(Agent(SEAT, provider=here, tools=[READ_LOG], at=Home(tmp_path, "other")))
    other.send("hi")  # its loop has the variables of the program

    def dig(arguments: Any) -> str:
        return other.send("read it").text

    there = seat("t.seat", asks(look("it", name="dig")), "ok", local=False)
    digs = ToolDefinition("dig", "Digs.", {"type": "object"}, dig)
    with (
        other,
        SyncAgent(Agent(SEAT, provider=there, tools=[digs])) as agent,
        pytest.raises(EgressError, match="result of tool dig is marked local"),
    ):
        agent.send("go")
    assert none_told(there)
