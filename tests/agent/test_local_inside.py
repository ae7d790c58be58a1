"""What is marked local stays where a tool's handler carries it: in what it yields, says and opens."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, sent, tool
from tests.agent.test_local import READ_LOG, SECRET, none_told, seat, two
from transom.agent import Agent, Home, Setup, SyncAgent
from transom.config import Settings
from transom.context import Mark
from transom.errors import EgressError, NetworkFailed, RunError
from transom.llm import Block, ScriptedProvider, ToolResults, UserMessage
from transom.tools import ToolDefinition
from transom.tools.definition import ToolReturn

READS = asks(look("a", name="read_log"))


def yields(how: str, text: str) -> Any:
    """What a handler may do with what it heard."""
    if how == "raised":
        raise ValueError(text)
    return ToolReturn(text) if how == "an outcome" else text


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
        (came,) = [turn.results[0] for turn in answer.turns if isinstance(turn, ToolResults)]
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


def elsewhere(main: list[Any], sub: list[Any]) -> tuple[ScriptedProvider, ScriptedProvider, Any]:
    """A role here, its sub-conversations elsewhere, and the chain of both."""
    return two(main, sub, local=True)  # type: ignore[no-any-return]  # it makes these three


async def test_what_a_handler_of_a_local_conversation_says_is_as_local_wherever_it_says_it(tmp_path: Path) -> None:
    _, there, chain = elsewhere([READS, asks(look(f"It says {SECRET}", name="tell")), "ok"], ["hello", "ok"])

    async def tell(at: str) -> str:
        return (await sub.send(at)).text

    for _ in range(2):  # by the journal
        async with Agent(
            SEAT, provider=chain, tools=[READ_LOG, tool(tell, name="tell")], at=Home(tmp_path, "t")
        ) as agent:
            sub = await agent.create_sub_conversation("help")  # before anything local was seen
            await sub.send("hi")
            with pytest.raises(EgressError, match="what a tool's handler said is marked local"):
                await agent.send("go")
            with pytest.raises(EgressError):
                await agent.go_on()
    async with Agent(SEAT, provider=chain, at=Home(tmp_path, "t")) as agent:
        sub = await agent.create_sub_conversation("help")
        with pytest.raises(EgressError, match="what a tool's handler said is marked local"):
            await sub.resume()
    assert len(there.requests) == 1 and none_told(there)


@pytest.mark.parametrize("how", ["said", "opened", "background", "gone on with", "another home"])
async def test_what_a_handler_says_or_opens_is_as_local_as_what_it_heard(how: str, tmp_path: Path) -> None:
    first = [NetworkFailed("down")] if how == "gone on with" else ["hello"]
    main, there, chain = elsewhere([asks(look("it", name="dig")), "ok"], [*first, "ok", "ok"])
    remote = seat("t.seat", "hello", "ok", local=False)

    async def dig(at: str) -> str:
        here = seat("t.seat", SECRET, local=True)
        async with Agent(SEAT, provider=here, at=Home(tmp_path, "here")) as other:
            heard = (await other.send(at, Block("extra", SECRET, egress="local"))).text
        if how == "said":
            return (await sub.send(heard)).text
        if how == "gone on with":
            return (await sub.go_on(Block("background", heard))).text
        if how == "another home":
            async with Agent(SEAT, provider=remote, at=Home(tmp_path, "there")) as other:
                return (await other.send(heard)).text
        purpose = heard if how == "opened" else "help"
        opened = await agent.create_sub_conversation(purpose, heard if how == "background" else "")
        return (await opened.send("help me")).text

    async with Agent(SEAT, provider=chain, tools=[tool(dig, name="dig")], at=Home(tmp_path, "t")) as agent:
        sub = await agent.create_sub_conversation("mine")
        with pytest.raises(NetworkFailed) if how == "gone on with" else nullcontext():
            await sub.send("hi")
        with pytest.raises(EgressError, match="is marked local"):
            await agent.send("go")
    assert len(there.requests) == len(first) and none_told(there, remote) and len(main.requests) == 1


async def test_a_handler_of_a_local_conversation_has_one_elsewhere_sum_up_what_that_saw(tmp_path: Path) -> None:
    """It says nothing of its own in it."""
    _, there, chain = elsewhere([READS, asks(look("it", name="done")), "ok"], ["There are 3.", "In short: 3."])

    async def done(at: str) -> str:
        return (await agent.complete_sub_conversation(sub.id)).text

    async with Agent(SEAT, provider=chain, tools=[READ_LOG, tool(done, name="done")], at=Home(tmp_path, "t")) as agent:
        sub = await agent.create_sub_conversation("Count.")
        await sub.send("Are there 3?")
        answer = await agent.send("go")
    assert [turn.egress for turn in answer.turns if isinstance(turn, UserMessage)] == ["any", "any"]
    assert [one.content for turn in answer.turns for one in getattr(turn, "results", ())][1] == "In short: 3."
    assert len(there.requests) == 2 and none_told(there)


@pytest.mark.parametrize("how", ["said", "opened"])
async def test_what_was_said_before_anything_local_was_heard_stays_as_free_in_later_lives(
    how: str, tmp_path: Path
) -> None:
    """A handler that does both at once may do them in another order the next time."""
    main, there, chain = elsewhere([asks(look("it", name="dig")), "ok"], ["hello", "well", "fine"])
    here = seat("t.seat", SECRET, local=True)
    lives: list[str] = []

    async def hear() -> None:
        async with Agent(SEAT, provider=here, at=Home(tmp_path, "here")) as other:
            await other.send("read it", Block("extra", SECRET, egress="local"))

    async def talk() -> None:
        opened = sub if how == "said" else await agent.create_sub_conversation("help")
        await opened.send("the same words")

    async def dig(_: str) -> str:
        if len(lives) == 1:
            await talk()
            await hear()
            raise RunError("the program ends here")
        await hear()
        await talk()
        return "done"

    for life in ("first", "second"):
        lives.append(life)
        async with Agent(SEAT, provider=chain, tools=[tool(dig, name="dig")], at=Home(tmp_path, "t")) as agent:
            sub = await agent.create_sub_conversation("mine")
            await sub.send("hi")
            with pytest.raises(RunError, match="ends here") if life == "first" else nullcontext():
                await agent.send("go")
    assert len(there.requests) == 2 and len(main.requests) == 2 and none_told(there)


async def test_what_a_handler_marks_another_conversation_with_is_as_local_as_its_own(tmp_path: Path) -> None:
    """A milestone stands in windows once the conversation is folded."""
    _, there, chain = elsewhere([READS, asks(look("it", name="note")), "ok"], [*"abcdef"])
    settings = Settings.model_validate({"window": {"compact_at": 3, "keep_recent": 1}})

    async def note(at: str) -> str:
        await sub.mark(Mark(milestone=SECRET))
        return "noted"

    tools = [READ_LOG, tool(note, name="note")]
    for _ in range(2):  # by the journal
        async with Agent(SEAT, provider=Setup(chain, settings), tools=tools, at=Home(tmp_path, "t")) as agent:
            sub = await agent.create_sub_conversation("mine")
            await sub.send("one")
            assert (await agent.send("go")).text == "ok"
            with pytest.raises(EgressError, match="a reply that was answered from local text"):
                await sub.send("two")
    assert len(there.requests) == 1 and none_told(there)
