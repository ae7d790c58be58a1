"""What a conversation used counts in later lives too, wherever in its sub-conversations it was used."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Caps, Home, Response
from transom.agent.caps import Meter
from transom.agent.prices import Price, Prices
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolCall, Usage

DELEGATING = replace(SEAT, strategy="sub_conversation")
PRICES = Prices(as_of=date(2026, 11, 1), models={"other:big": Price(input=1.0, output=1.0)})


def said(text: str, tokens: int) -> Reply:
    return Reply((Text(text),), usage=Usage(tokens, 1))


def answer(request: Request) -> Reply:
    """Each message of the conversation is looked into for 5,000 tokens; it takes 100 itself, twice."""
    if request.role.endswith(".sub"):
        return said("there", 5_000)
    if len(request.window.turns) % 4 == 1:
        call = ToolCall("d", "delegate", {"purpose": f"turn {len(request.window.turns)}", "sources": []})
        return Reply((call,), "tool_calls", Usage(100, 1))
    return said("done", 100)


async def test_a_delegated_conversation_counts_as_it_did_at_first_when_the_program_runs_again(tmp_path: Path) -> None:
    lives: list[list[Usage]] = []
    for requests in (6, 0):
        provider = ScriptedProvider(answer)
        async with Agent(DELEGATING, provider=provider, at=Home(tmp_path, "t")) as agent:
            lives.append([(await agent.send("One?")).usage, (await agent.send("Two?")).usage])
            assert agent.context().input_tokens == 10_400
        assert len(provider.requests) == requests
    assert [usage.input_tokens for usage in lives[0]] == [5_200, 10_400]
    assert lives[1] == lives[0]


@pytest.mark.parametrize("resumed", [True, False])
async def test_a_cap_holds_for_what_earlier_lives_used_in_sub_conversations(tmp_path: Path, *, resumed: bool) -> None:
    home = Home(tmp_path, "t")
    async with Agent(DELEGATING, provider=ScriptedProvider(answer), at=home) as agent:
        await agent.send("One?")
    provider = ScriptedProvider(answer)
    async with Agent(DELEGATING, provider=provider, at=home, caps=Caps(tokens=1_000)) as agent:
        first = await agent.resume() if resumed else await agent.send("One?")
        assert first is not None
        assert (first.ended, first.text) == ("answered", "done"), "a cap takes away nothing that the journal has"
        assert (await agent.send("Two?")).ended == "tokens"
    assert provider.requests == []


async def looked_into(home: Home, caps: Caps, *, again: bool, **more: list[Reply]) -> tuple[Response, int]:
    """A program that opens a sub-conversation, and goes on; when it runs again it resumes and says one thing more."""
    script = {SEAT.name: more["main"], f"{SEAT.name}.sub": more.get("sub", [])}
    provider = ScriptedProvider(script, name="other:big", local=False)
    async with Agent(SEAT, provider=provider, at=home, caps=caps) as agent:
        if again:
            await agent.resume()
            counted = agent.context().input_tokens
            return await agent.send("More?"), counted
        last = await agent.send("Well?")
        sub = await agent.create_sub_conversation("what is there")
        await sub.send("Look.")
        await agent.complete_sub_conversation(sub.id)
        return last, agent.context().input_tokens


@pytest.mark.parametrize("cap", ["tokens", "usd"])
async def test_what_a_program_had_looked_into_counts_after_a_restart(tmp_path: Path, cap: str) -> None:
    home, caps = Home(tmp_path, "t"), Caps(tokens=10_010) if cap == "tokens" else Caps(usd=0.01, prices=PRICES)
    sub = [said("a", 5_000), said("b", 5_000)]
    _, first = await looked_into(home, Caps(prices=PRICES), again=False, main=[said("yes", 15)], sub=sub)
    response, second = await looked_into(home, caps, again=True, main=[said("no", 15)])
    assert (first, second) == (10_015, 10_015)
    assert response.ended == cap


async def test_a_summary_counts_in_a_run_of_the_process_that_ends_with_it(tmp_path: Path) -> None:
    """It is held by the journal, and nobody goes through the reply that it is of."""
    used: list[object] = []
    for life in range(3):
        main = [replace(asks(look("it")), usage=Usage(100, 1)), said("yes", 15)]
        script = {SEAT.name: main, f"{SEAT.name}.sub": [said("a", 5_000), said("b", 5_000)]}
        provider = ScriptedProvider(script if not life else {}, name="other:big", local=False)
        tools, caps = [tool()], Caps(prices=PRICES)
        async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t"), tools=tools, caps=caps) as agent:
            await agent.send("Well?")
            sub = await agent.create_sub_conversation("what is there")
            await sub.send("Look.")
            await agent.complete_sub_conversation(sub.id)
            used.append(agent.context())
        assert not life or provider.requests == []
    assert all(one == used[0] for one in used)
    assert vars(used[0]).items() >= {"input_tokens": 10_115}.items()


def test_replies_side_by_side_count_once_in_whatever_order_they_come_again() -> None:
    past = [(("main", 0), said("m", 1)), (("main/a", 0), said("a", 10)), (("main/b", 0), said("b", 100))]
    past += [(("main/a", 1), said("a", 1_000)), (("main", 1), said("m", 10_000))]
    meter = Meter()
    meter.recall(past)
    meter.recall(past)
    for place, counted in [(("main", 0), 1), (("main/a", 1), 1_111), (("main/b", 0), 1_111), (("main", 1), 11_111)]:
        meter.add(dict(past)[place], place)
        assert meter.usage.input_tokens == counted, place
    meter.add(said("new", 5), ("main", 2))
    meter.add(said("another", 5), ("main", 1))
    assert meter.usage.input_tokens == 11_121, "what is new counts, at a place that was taken too"
