"""Tools that talk: in sub-conversations, which they complete, and never in the conversation that waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home, SyncAgent
from transom.agent.events import CameOf, Event, Replied
from transom.agent.models import SubConversation
from transom.errors import ApprovalNeeded, RunError
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolCall, ToolResults, Turn, UserMessage
from transom.runs import ApprovalRequest
from transom.tools import ToolDefinition

Point = Callable[[str], Awaitable[None]]
PURPOSES = {"a": "Look at a.", "b": "Look at b."}


def answer(request: Request) -> Reply:
    """A role that calls for everything at once, and sub-conversations that find what they were asked."""
    if request.role == SEAT.name:
        called = any(isinstance(turn, ToolResults) for turn in request.window.turns)
        return Reply((Text("done"),)) if called else asks(*(look(at, at) for at in PURPOSES))
    said = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)]
    return Reply((Text(f"found {said[0]}" if len(said) > 1 else "7 of them"),))


async def nowhere(point: str) -> None:
    """Stops at no point."""


def program(folder: Path, provider: ScriptedProvider, at: Point = nowhere, **more: Any) -> Agent:
    """An agent with a tool that looks into each thing in a sub-conversation, and completes it."""

    async def handler(what: str) -> str:
        sub = await agent.create_sub_conversation(PURPOSES[what], f"The thing is {what}.")
        await at(f"opened {what}")
        await sub.send(f"What of {what}?")
        await at(f"asked {what}")
        summary = await agent.complete_sub_conversation(sub.id)
        await at(f"completed {what}")
        return f"{what} is done: {summary.by}"

    agent = Agent(SEAT, provider=provider, tools=[tool(handler)], at=Home(folder, "t"), **more)
    return agent


def kinds(turns: tuple[Turn, ...]) -> list[str]:
    return [type(turn).__name__ for turn in turns]


ORDER = ["Asked", "Said", "CameBack", "Asked", "Asked", "Said"]


async def test_a_tool_completes_a_sub_conversation_and_the_finding_follows_the_results(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer)
    async with program(tmp_path, provider) as agent:
        response = await agent.send("go")
        view = agent.conversation()
        assert view is not None
        subs = [agent.conversation(name) for name in view.sub_conversations]
    assert (response.text, kinds(response.turns)) == ("done", ORDER)
    assert [turn.text.count(f"Look at {at}.") for turn, at in zip(response.turns[3:5], "ab", strict=True)] == [1, 1]  # type: ignore[union-attr]  # asked turns
    came = response.turns[2]
    assert isinstance(came, ToolResults)
    assert [one.content for one in came.results] == ["a is done: model", "b is done: model"]
    assert all(isinstance(one, SubConversation) and one.completed_at for one in subs)
    for again in ("the same program", "one that resumes"):
        nobody = ScriptedProvider(answer)
        async with program(tmp_path, nobody) as agent:
            later = await (agent.send("go") if again == "the same program" else agent.resume())
            assert later is not None
            assert (later.turns, agent.conversation(), nobody.requests) == (response.turns, view, []), again
    async with program(tmp_path, ScriptedProvider(answer)) as agent:
        await agent.send("go")
        sub = await agent.create_sub_conversation(PURPOSES["a"], "The thing is a.")
        assert sub.id not in view.sub_conversations, "what is completed is not opened again"


POINTS = [f"{did} {at}" for did in ("opened", "asked", "completed", "told") for at in "ab"]


@pytest.mark.parametrize("resumed", [False, True], ids=["run again", "resumed"])
@pytest.mark.parametrize("point", POINTS)
async def test_wherever_it_was_cut_off_it_is_found_once_and_nothing_is_paid_for_twice(
    tmp_path: Path, point: str, resumed: bool
) -> None:
    async def stop(at: str) -> None:
        if at == point:
            message.cancel()
            await asyncio.Event().wait()

    def hear(event: Event) -> None:
        if isinstance(event, CameOf) and point == f"told {event.call.id}":
            message.cancel()

    first, second = ScriptedProvider(answer), ScriptedProvider(answer)
    async with program(tmp_path, first, stop, on_event=hear) as agent:
        message = asyncio.create_task(agent.send("go"))
        with pytest.raises(asyncio.CancelledError):
            await message
    async with program(tmp_path, second) as agent:
        response = await (agent.resume() if resumed else agent.send("go"))
        assert response is not None
        assert (response.text, kinds(response.turns)) == ("done", ORDER)
        view = agent.conversation()
    assert len(first.requests) + len(second.requests) == 6, "two of the role, two of each sub-conversation"
    async with program(tmp_path, ScriptedProvider({})) as agent:
        later = await agent.resume()
        assert later is not None
        assert (later.turns, agent.conversation()) == (response.turns, view)


@pytest.mark.parametrize("life", ["the same", "another", "resumed"])
@pytest.mark.parametrize("left", [False, True], ids=["gone on with", "left"])
async def test_what_is_found_beside_a_call_that_waits_for_leave_is_told_after_it(
    tmp_path: Path, life: str, left: bool
) -> None:
    def reply(request: Request) -> Reply:
        if request.role != SEAT.name or any(isinstance(turn, ToolResults) for turn in request.window.turns):
            return answer(request)
        return asks(look("a", "a"), ToolCall("p", "pay", {}))

    def opened() -> Agent:
        agent = program(tmp_path, ScriptedProvider(reply))
        agent.register_tool(ToolDefinition("pay", "Pays.", {"type": "object"}, lambda _: "paid", needs_approval=True))
        return agent

    agent = opened()
    with pytest.raises(ApprovalNeeded) as needed:
        await agent.send("go")
    if life != "the same":
        await agent.close()
        agent = opened()
        with pytest.raises(ApprovalNeeded) as needed:
            await (agent.resume() if life == "resumed" else agent.send("go"))
    request = needed.value.request
    assert isinstance(request, ApprovalRequest)
    if not left:
        await agent.decide(request.approve(by="ann"))
    response = await (agent.send("never mind") if left else agent.go_on())
    assert kinds(response.turns) == ["Asked", "Said", "CameBack", "Asked", *(["Asked"] if left else []), "Said"]
    assert "Look at a." in response.turns[3].text  # type: ignore[union-attr]  # asked turns
    await agent.close()
    async with program(tmp_path, ScriptedProvider({})) as agent:
        later = await agent.resume()
        assert later is not None and later.turns == response.turns


WAYS: dict[str, Callable[[Agent], Awaitable[object]]] = {
    "send": lambda agent: agent.send("and?"),
    "go_on": lambda agent: agent.go_on(),
    "resume": lambda agent: agent.resume(),
    "in a task": lambda agent: asyncio.create_task(agent.send("and?")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("beside", [(), (look("c", "2", "other"),)], ids=["alone", "beside another"])
async def test_who_sends_to_the_conversation_that_waits_for_him_is_told_so_at_once(
    way: str, beside: tuple[ToolCall, ...]
) -> None:
    async def handler(_: str) -> str:
        with pytest.raises(RunError, match=r"t\.seat: a message is under way in it, .*; return what you found"):
            await WAYS[way](agent)
        return "told"

    provider = ScriptedProvider({SEAT.name: [asks(look("a"), *beside), "done", "more"]})
    async with Agent(SEAT, provider=provider, tools=[tool(handler), tool(name="other")]) as agent:
        assert (await agent.send("go")).text == "done"
        assert (await agent.send("go on")).text == "more", "that message is over"
    assert "told" in str(provider.requests[1].window.turns)


async def test_what_it_does_not_catch_ends_the_message_and_a_mended_tool_goes_on() -> None:
    async def handler(_: str) -> str:
        return "mended" if mended else (await agent.send("and?")).text

    mended = False
    provider = ScriptedProvider({SEAT.name: [asks(look("a")), "done"]})
    async with Agent(SEAT, provider=provider, tools=[tool(handler)]) as agent:
        with pytest.raises(RunError, match="a message is under way"):
            await agent.send("go")
        mended = True
        assert (await agent.go_on()).text == "done"


@pytest.mark.parametrize("what", ["itself", "another, while one sums up"])
async def test_a_tool_of_a_sub_conversation_cannot_complete_what_waits_for_it(what: str) -> None:
    async def handler(_: str) -> str:
        with pytest.raises(RunError, match="a message is under way in it"):
            await agent.complete_sub_conversation(sub.id if what == "itself" else other.id)
        return "told"

    inner: list[Any] = [asks(look("a")), "seven", "summed up"]
    provider = ScriptedProvider({f"{SEAT.name}.sub": inner if what == "itself" else ["seven", *inner]})
    async with Agent(SEAT, provider=provider, tools=[tool(handler)]) as agent:
        sub = await agent.create_sub_conversation("Look.")
        other = await agent.create_sub_conversation("Look elsewhere.")
        await sub.send("What is there?")
        await agent.complete_sub_conversation(sub.id)
        assert "told" in str([request.window.turns for request in provider.requests])
        await agent.complete_sub_conversation(other.id)  # is open still


async def test_who_outlives_the_message_that_it_was_part_of_waits_like_everybody_else() -> None:
    over = asyncio.Event()
    later: list[asyncio.Task[Any]] = []

    async def afterwards() -> str:
        await over.wait()
        return (await agent.send("later")).text

    async def handler(_: str) -> str:
        later.append(asyncio.create_task(afterwards()))
        return "begun"

    provider = ScriptedProvider({SEAT.name: [asks(look("a")), "done", "more"]})
    async with Agent(SEAT, provider=provider, tools=[tool(handler)]) as agent:
        assert (await agent.send("go")).text == "done"
        over.set()
        assert await later[0] == "more"


async def test_a_listener_may_have_the_next_message_wait_for_this_one() -> None:
    later: list[asyncio.Task[Any]] = []

    def hear(event: Event) -> None:
        if isinstance(event, Replied) and not later:
            later.append(asyncio.create_task(agent.send("next")))

    provider = ScriptedProvider({SEAT.name: [asks(look("a")), "done", "more"]})
    async with Agent(SEAT, provider=provider, tools=[tool()], on_event=hear) as agent:
        assert (await agent.send("go")).text == "done"
        assert (await later[0]).text == "more"


async def test_what_a_tool_leaves_to_a_task_has_to_be_waited_for() -> None:
    """Its finding would have no place: the call is over."""
    begun, over = asyncio.Event(), asyncio.Event()
    opened: list[str] = []
    later: list[asyncio.Task[Any]] = []

    async def afterwards(sub: Agent) -> None:
        with pytest.raises(RunError, match=r"the call .* is over by now; await this in the tool's handler"):
            await agent.complete_sub_conversation(sub.id)

    async def handler(_: str) -> str:
        sub = await agent.create_sub_conversation("Look.")
        opened.append(sub.id)
        await sub.send("What is there?")
        later.append(asyncio.create_task(afterwards(sub)))
        await begun.wait()
        return "begun"

    class Slow(ScriptedProvider):
        async def complete(self, request: Request, **more: Any) -> Reply:
            if request.role != SEAT.name and len(request.window.turns) > 1:
                begun.set()
                await over.wait()
            elif len(request.window.turns) > 1:
                over.set()
                await later[0]
            return await super().complete(request, **more)

    provider = Slow({SEAT.name: [asks(look("a")), "done"], f"{SEAT.name}.sub": ["seven", "seven", "seven"]})
    async with Agent(SEAT, provider=provider, tools=[tool(handler)]) as agent:
        assert (await agent.send("go")).text == "done"
        await agent.complete_sub_conversation(opened[0])


def test_a_plain_handler_cannot_wait_for_the_door_that_it_runs_behind() -> None:
    def handler(_: object) -> str:
        with pytest.raises(RunError, match=r"something is under way in it, .*a plain handler .*make it async"):
            door.send("and?")
        return "told"

    plain = ToolDefinition("look", "Looks.", {"type": "object"}, handler)
    provider = ScriptedProvider({SEAT.name: [asks(look("a")), "done", "more"]})
    with SyncAgent(Agent(SEAT, provider=provider, tools=[plain])) as door:
        assert door.send("go").text == "done"
        assert door.send("and?").text == "more"
    assert "told" in str(provider.requests[1].window.turns)
