"""Marks of code on a conversation's events: in a tool, fresh and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, scripted
from tests.agent.helpers import tool as look_tool
from transom.agent import Agent, Budget, Home
from transom.context import Mark
from transom.llm import Request, Role, ScriptedProvider, ToolCallPart, ToolResults, UserMessage
from transom.tools import Arguments, ToolDefinition, ToolReturn

TRIALS = 60


def note(request: Request) -> str:
    first = request.window.turns[0]
    assert isinstance(first, UserMessage)
    return first.text


def last_result(request: Request) -> str:
    turn = request.window.turns[-1]
    assert isinstance(turn, ToolResults)
    return turn.results[0].content


def solve(arguments: Arguments) -> ToolReturn:
    number = arguments["n"]
    assert isinstance(number, int)
    return ToolReturn(
        f"trial {number}",
        mark=Mark("half of the mass is gone" if number == 3 else "", values={"mass": 10 - number}),
    )


SOLVE = ToolDefinition("solve", "Solves.", {"type": "object"}, solve)
TWO_AT_ONCE = [
    asks(*(ToolCallPart(f"c{n}", "solve", {"n": n}) for n in (2 * i, 2 * i + 1)))
    for i in range(TRIALS)
]


async def study(at: Home, *answers: Any) -> list[Request]:
    provider = scripted(*answers)
    async with Agent(
        SEAT, provider=provider, tools=[SOLVE], at=at, budget=Budget(turns=TRIALS + 1)
    ) as agent:
        await agent.send("Find the least mass.")
        await agent.send("And now?")
    return provider.requests


@pytest.mark.slow
async def test_what_a_tool_says_of_its_call_lasts_and_is_counted_exactly(tmp_path: Path) -> None:
    """Trials 2 and 3 are one event; so are they when the program runs again and its tool does
    not.
    """
    requests = await study(Home(tmp_path, "one life"), *TWO_AT_ONCE, "ok", "ok")
    for name, answers in (("cut off", TWO_AT_ONCE[:40]), ("between", [*TWO_AT_ONCE, "ok"])):
        with pytest.raises(Exception, match="script"):
            await study(Home(tmp_path, name), *answers)
        again = await study(Home(tmp_path, name), *[*TWO_AT_ONCE, "ok", "ok"][len(answers) :])
        requests.append(again[-1])
    # after a restart a conversation is folded anew, maybe at another event
    for told in map(note, requests[-3:]):
        assert "- event 2, milestone: half of the mass is gone" in told
        folded = int(told.partition("events 1 to ")[2].split()[0])
        gone = [
            10 - n
            for event in range(1, folded + 1)
            if event != 2
            for n in (2 * event - 2, 2 * event - 1)
        ]
        assert len(gone) > TRIALS / 2
        figures = (
            f"mass {len(gone)} times, least {min(gone)}, most {max(gone)}, mean"
            f" {sum(gone) / len(gone)!r}"
        )
        assert figures in told


@pytest.mark.parametrize("wrong", ["no mark", Mark])
async def test_what_is_no_mark_is_the_tools_failure(wrong: Any) -> None:
    provider = scripted(asks(ToolCallPart("1", "bad", {})), "ok")
    bad = ToolDefinition("bad", "Bad.", {"type": "object"}, lambda _: ToolReturn("x", mark=wrong))
    async with Agent(SEAT, provider=provider, tools=[bad]) as agent:
        assert (await agent.send("go")).text == "ok"
    assert "its result cannot be kept" in last_result(provider.requests[-1])


async def test_what_is_folded_is_read_back_where_it_was_said() -> None:
    """A sub-conversation reads its own events, and its parent's are not among them."""
    calls = [asks(ToolCallPart(f"c{n}", "look", {"at": f"{n}"})) for n in range(55)]
    read = asks(ToolCallPart("r", "read_slice", {"source": "event 2"}))
    delegated = asks(ToolCallPart("d", "delegate", {"purpose": "look closer"}))
    provider = ScriptedProvider(
        {
            SEAT.name: [*calls, read, delegated, "done"],
            f"{SEAT.name}.sub": [*calls[10:], *calls[:10], read, "found"],
        }
    )
    role = Role(SEAT.name, SEAT.prompt, SEAT.sees, strategy="sub_conversation")
    async with Agent(
        role, provider=provider, tools=[look_tool()], budget=Budget(turns=60)
    ) as agent:
        assert (await agent.send("go")).text == "done"
    slices = [
        last_result(one)
        for one in provider.requests
        if one.window.turns
        and isinstance(one.window.turns[-1], ToolResults)
        and "lines 1 to" in last_result(one)
    ]
    assert ["saw 11" in one for one in slices] == [False, True]
    assert "saw 1" in slices[0]
