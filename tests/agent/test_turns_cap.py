"""A cap on turns is on one message, however often it is gone on with, and takes away nothing
that the journal has.
"""

from __future__ import annotations

from pathlib import Path

from tests.agent.helpers import SEAT, asks, look, resumed, scripted, tool
from transom.agent import Agent, Budget, Home
from transom.llm import Reply, ToolResults, Turn


def calls(*ats: str) -> list[Reply]:
    return [asks(look(at, at)) for at in ats]


def results(turns: tuple[Turn, ...]) -> list[str]:
    return [one.content for turn in turns if isinstance(turn, ToolResults) for one in turn.results]


async def test_going_on_at_a_cap_that_nobody_raised_asks_nobody(tmp_path: Path) -> None:
    home, provider = Home(tmp_path, "t"), scripted(*calls(*"abcdef"))
    async with Agent(
        SEAT, provider=provider, tools=[tool()], at=home, budget=Budget(turns=2)
    ) as agent:
        first = await agent.send("Go.")
        assert (first.ended, len(provider.requests)) == ("turns", 4)
        for _ in range(2):
            again = await resumed(agent)
            assert (again.ended, again.turns, len(provider.requests)) == ("turns", first.turns, 4)
    later = scripted(*calls("e"), "done")
    async with Agent(
        SEAT, provider=later, tools=[tool()], at=home, budget=Budget(turns=2)
    ) as agent:
        last = await resumed(agent)
        assert (last.ended, (await resumed(agent)).ended, len(later.requests)) == (
            "turns",
            "turns",
            0,
        )
        agent.budget = Budget(turns=5)
        last = await resumed(agent)
    assert (last.ended, last.text, len(later.requests)) == ("answered", "done", 2)
    assert [content[:5] for content in results(last.turns)] == [
        "saw a",
        "saw b",
        '{"err',
        "saw d",
        "saw e",
    ]


async def test_a_raised_cap_counts_what_the_message_took_before(tmp_path: Path) -> None:
    provider = scripted(*calls(*"abcdefg"))
    async with Agent(
        SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t"), budget=Budget(turns=1)
    ) as agent:
        assert (await agent.send("Go.")).ended == "turns"
        agent.budget = Budget(turns=3)
        last = await resumed(agent)
    assert last.ended == "turns"
    assert [content[:5] for content in results(last.turns)] == ["saw a", '{"err', "saw c", '{"err']


async def test_the_next_message_has_turns_of_its_own(tmp_path: Path) -> None:
    provider = scripted(*calls(*"abc"), *calls("d"), "done")
    async with Agent(
        SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t"), budget=Budget(turns=1)
    ) as agent:
        assert (await agent.send("Go.")).ended == "turns"
        last = await agent.send("And now?")
    assert (last.ended, results(last.turns)[-1]) == ("answered", "saw d")


async def test_a_lower_cap_changes_nothing_that_the_journal_has(tmp_path: Path) -> None:
    home, told = Home(tmp_path, "t"), []
    for caps, replies in (
        (Budget(), [*calls(*"abc"), "answer"]),
        (Budget(turns=1), []),
        (Budget(turns=0), []),
    ):
        async with Agent(
            SEAT, provider=scripted(*replies), tools=[tool()], at=home, budget=caps
        ) as agent:
            response = await agent.send("Go.")
            told.append((response.ended, response.text, results(response.turns)))
    assert told == [("answered", "answer", ["saw a", "saw b", "saw c"])] * 3
