"""Sub-conversations that were left in the middle are gone on with, and use of quotas what their conversation does."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Caps, Home
from transom.agent.events import Event, Replied
from transom.agent.models import SubConversation
from transom.errors import ApprovalNeeded, CapReached, InputError
from transom.llm import Reply, ScriptedProvider, ToolCall, ToolResults, Turn, Usage
from transom.runs import ApprovalRequest
from transom.tools import Arguments, ToolDefinition, ToolLimits

DELEGATING = replace(SEAT, strategy="sub_conversation")


def delegates(purpose: str = "look", ident: str = "d") -> Reply:
    return asks(ToolCall(ident, "delegate", {"purpose": purpose, "sources": []}))


def both(main: list[Any], sub: list[Any]) -> ScriptedProvider:
    return ScriptedProvider({"t.seat": main, "t.seat.sub": sub})


def results(turns: tuple[Turn, ...]) -> list[str]:
    return [one.content for turn in turns if isinstance(turn, ToolResults) for one in turn.results]


def only_sub(agent: Agent) -> SubConversation:
    view = agent.conversation()
    assert view is not None
    (name,) = view.sub_conversations
    sub = agent.conversation(name)
    assert isinstance(sub, SubConversation)
    return sub


@pytest.mark.parametrize("again", [False, True], ids=["same life", "later life"])
@pytest.mark.parametrize("cap", ["tokens", "seconds"])
async def test_a_cap_inside_ends_the_message_and_the_sub_conversation_is_gone_on_with(
    cap: str, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, seen = Home(tmp_path, "t"), list[str]()
    low = Caps(tokens=500) if cap == "tokens" else Caps(seconds=1_000)

    async def run(at: str) -> str:
        seen.append(at)
        if cap == "seconds" and len(seen) == 1:
            late = time.monotonic() + 2_000  # the time of the message is over
            monkeypatch.setattr("transom.agent.caps.time", SimpleNamespace(monotonic=lambda: late))
        return f"saw {at}"

    dear = replace(asks(look("a")), usage=Usage(1_000, 10))
    provider = both([delegates(), "ok"], [dear, "It saw a."])
    first = Agent(DELEGATING, provider=provider, tools=[tool(run)], caps=low, at=home)
    async with first:
        stopped = await first.send("go")
        assert (stopped.ended, results(stopped.turns)) == (cap, [])
        assert only_sub(first).completed_at is None
        if not again:
            first.caps = Caps()
            answer = await first.go_on()
            sub = only_sub(first)
    if again:
        async with Agent(DELEGATING, provider=provider, tools=[tool(run)], at=home) as second:
            found = await second.resume()
            assert found is not None
            answer, sub = found, only_sub(second)
    assert (answer.ended, answer.text, results(answer.turns)) == ("answered", "ok", ["It saw a."])
    assert (sub.summary, [message.content for message in sub.messages]) == ("It saw a.", ["", "saw a", "It saw a."])
    assert seen == ["a"] and len(provider.requests) == 4, "nothing was asked or done again"


async def test_leave_that_is_needed_inside_is_asked_for_once_and_nothing_else_is_done_again() -> None:
    order = tool(name="order", effect="once", needs_approval=True)
    provider = both([delegates(), "ok"], [asks(look("a")), asks(look("b", name="order")), "It saw b."])
    async with Agent(DELEGATING, provider=provider, tools=[tool(), order]) as agent:
        with pytest.raises(ApprovalNeeded) as needed:
            await agent.send("go")
        assert isinstance(needed.value.request, ApprovalRequest)
        await agent.decide(needed.value.request.approve(by="ann"))
        answer = await agent.go_on()
    assert (answer.text, results(answer.turns)) == ("ok", ["It saw b."])
    assert len(provider.requests) == 5


async def test_what_a_listener_breaks_inside_is_not_told_to_the_model_as_a_failed_tool() -> None:
    broken = [True]

    def listener(event: Event) -> None:
        if isinstance(event, Replied) and "/" in event.conversation and broken:
            broken.clear()
            raise ValueError("mine")

    provider = both([delegates(), "ok"], ["It saw a."])
    async with Agent(DELEGATING, provider=provider, on_event=listener) as agent:
        with pytest.raises(ValueError, match="mine"):
            await agent.send("go")
        answer = await agent.go_on()
    assert results(answer.turns) == ["It saw a."]
    assert len(provider.requests) == 3, "the reply was paid for once"


@pytest.mark.parametrize("own", [True, False], ids=["of the run", "of anybody"])
async def test_only_what_is_a_part_of_the_run_ends_a_message_with_its_errors(own: bool) -> None:
    async def fails(arguments: Arguments) -> str:
        raise InputError("the price of a reply is not known")

    failing = ToolDefinition("look", "Looks.", {"type": "object"}, fails, of_run=own)
    async with Agent(SEAT, provider=ScriptedProvider({"t.seat": [asks(look("a")), "ok"]}), tools=[failing]) as agent:
        if own:
            with pytest.raises(InputError, match="price"):
                await agent.send("go")
        else:
            assert "the price of a reply" in results((await agent.send("go")).turns)[0]


async def test_a_cap_that_any_tool_runs_into_is_no_failure_of_the_tool() -> None:
    async def capped(at: str) -> str:
        raise CapReached("usd", 1, 2)

    provider = ScriptedProvider({"t.seat": [asks(look("a")), "ok"]})
    async with Agent(SEAT, provider=provider, tools=[tool(capped)]) as agent:
        assert (await agent.send("go")).ended == "usd"


@pytest.mark.parametrize("again", [False, True], ids=["same life", "later life"])
async def test_a_quota_holds_over_a_conversation_and_its_sub_conversations(again: bool, tmp_path: Path) -> None:
    home, seen = Home(tmp_path, "t"), list[str]()

    async def run(at: str) -> str:
        seen.append(at)
        return f"saw {at}"

    scarce = tool(run, limits=ToolLimits(calls=2))
    main = [asks(look("a")), delegates("one", "d1"), delegates("two", "d2"), "ok", asks(look("e")), "last"]
    sub = [asks(look("b")), "It saw b.", asks(look("c")), "Nothing.", asks(look("d")), "Nothing.", "In short: nothing."]
    provider = both(main, sub)
    agent = Agent(DELEGATING, provider=provider, tools=[scarce], at=home)
    assert (await agent.send("go")).text == "ok"
    if again:
        await agent.close()
        agent = Agent(DELEGATING, provider=provider, tools=[scarce], at=home)
        await agent.resume()
    async with agent:
        opened = await agent.create_sub_conversation("three")
        await opened.send("go")
        await agent.complete_sub_conversation(opened.id)
        answer = await agent.send("and now?")
    assert "called 2 times" in results(answer.turns)[-1]
    assert seen == ["a", "b"]


async def test_a_call_counts_once_however_often_its_message_goes_on() -> None:
    order = tool(name="order", needs_approval=True)
    calls = asks(look("a", "1"), look("b", "2", name="order"))
    provider = ScriptedProvider({"t.seat": [calls, asks(look("c")), "ok"]})
    scarce = tool(limits=ToolLimits(calls=2))
    async with Agent(SEAT, provider=provider, tools=[scarce, order]) as agent:
        with pytest.raises(ApprovalNeeded) as needed:
            await agent.send("go")
        with pytest.raises(ApprovalNeeded):
            await agent.go_on()
        assert isinstance(needed.value.request, ApprovalRequest)
        await agent.decide(needed.value.request.approve(by="ann"))
        assert results((await agent.go_on()).turns) == ["saw a", "saw b", "saw c"]
