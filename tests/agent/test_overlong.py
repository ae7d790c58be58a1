"""Messages and results that are too long: a conversation goes on after them, in this life and in
the next one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, scripted, sent, tool
from tests.context.streams import orphans
from transom.agent import Agent, Home, Setup
from transom.agent.models import Event, ToolCallFinished
from transom.config import Settings
from transom.context import TokenCorrection
from transom.errors import InputError, RequestRefused, ToolError, ToolRefused, WindowOverflow
from transom.llm import Block, Reply, ScriptedProvider, ToolCallPart, ToolResults, Turn, UserMessage

SMALL = Settings.model_validate({"window": {"tokens": 8_000}})
LONG = "x y " * 20_000
LARGE = "some words " * 350  # several of these do not fit together


def agent(folder: Path, provider: ScriptedProvider, **more: Any) -> Agent:
    return Agent(SEAT, provider=Setup(provider, SMALL), at=Home(folder, "x"), **more)


async def test_a_message_that_can_never_fit_is_not_said(tmp_path: Path) -> None:
    async with agent(tmp_path, scripted("1", "2")) as talk:
        assert (await talk.send("a")).text == "1"
        with pytest.raises(
            WindowOverflow, match=r"the message has about \d+ tokens, and role t.seat has room for"
        ):
            await talk.send(LONG)
        assert [message.content for message in talk.history()] == ["a", "1"]
        assert (await talk.send("b")).text == "2"
    again = scripted("3")
    async with agent(tmp_path, again) as talk:
        await talk.resume()
        assert (await talk.send("c")).text == "3"
    assert len(again.requests) == 1


@pytest.mark.parametrize("beside", [(), (Block("extra", "rows"),)], ids=["alone", "with blocks"])
@pytest.mark.parametrize("content", ["", " ", "\n\t", "\u3000"], ids=repr)
async def test_a_blank_message_is_not_said(
    tmp_path: Path, content: str, beside: tuple[Block, ...]
) -> None:
    """A server takes no conversation that holds one, so that nothing could be said after it
    either.
    """
    provider = scripted("ok")
    async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t")) as agent:
        with pytest.raises(InputError, match="the message is blank; write what is to be done"):
            await agent.send(content, *beside)
        assert agent.history() == []
        assert (await agent.send("go")).text == "ok"
    assert [turn for request in provider.requests for turn in request.window.turns] == [
        UserMessage("go")
    ]


async def test_messages_without_an_answer_make_room_for_the_next_one(tmp_path: Path) -> None:
    async with agent(tmp_path, scripted(*[RequestRefused("not now")] * 4)) as talk:
        for number in range(4):
            with pytest.raises(RequestRefused):
                await talk.send(f"{number}: {LARGE}")
    for said in ("in the next life", "and in the one after that"):
        provider = scripted(said, said)
        async with agent(tmp_path, provider) as talk:
            await talk.resume()
            assert (await talk.send(said)).text == said
        assert said in str(provider.requests[-1].window.turns)


async def test_a_journal_with_a_message_that_is_too_long_is_left_behind(tmp_path: Path) -> None:
    """A message as it was kept before such a one was refused."""
    async with agent(tmp_path, scripted(RequestRefused("not now"))) as talk:
        with pytest.raises(RequestRefused):
            await talk.send("long")
    with closing(sqlite3.connect(tmp_path / "state.db")) as database, database:
        (data,) = database.execute(
            "SELECT data FROM records WHERE kind = 'user_message'"
        ).fetchone()
        told = json.loads(data)
        told["text"] = LONG
        database.execute(
            "UPDATE records SET data = ?, crc = NULL WHERE kind = 'user_message'",
            [json.dumps(told)],
        )
    async with agent(tmp_path, scripted("1")) as talk:
        with pytest.raises(WindowOverflow, match="the window of role"):
            await talk.resume()
        assert (await talk.send("short")).text == "1"
        before = [message.content for message in talk.history()]
    assert before == [LONG, "short", "1"]
    again = scripted("2")
    async with agent(tmp_path, again) as talk:
        last = await talk.resume()
        assert (last and last.text, again.requests) == ("1", [])
        assert (await talk.send("and now")).text == "2"


def calls(number: int, count: int, tool: str = "look") -> Reply:
    return asks(
        *(ToolCallPart(f"{number}-{at}", tool, {"at": f"{number}-{at}"}) for at in range(count))
    )


def contents(turns: Sequence[Turn]) -> list[str]:
    return [
        result.content for turn in turns if isinstance(turn, ToolResults) for result in turn.results
    ]


async def yields(at: str) -> str:
    return (
        f"{at}: small"
        if at.endswith("-0")
        else f"{at}: " + "some words of a report, " * (60 if at == "1-1" else 90)
    )


@pytest.mark.parametrize("journal", ["whole", "without the outlines"])
async def test_results_of_one_reply_are_held_to_a_bound_together(
    tmp_path: Path, journal: str
) -> None:
    many = [tool(yields)]
    async with agent(
        tmp_path, scripted(calls(1, 6), *[RequestRefused("no")] * 2), tools=many
    ) as talk:
        with pytest.raises(RequestRefused):
            await talk.send("go")
    if journal != "whole":  # killed before they were kept
        with closing(sqlite3.connect(tmp_path / "state.db")) as database, database:
            assert (
                database.execute("DELETE FROM records WHERE data LIKE '%\"kept\"%'").rowcount == 5
            )
    provider = scripted("done")
    async with agent(tmp_path, provider, tools=many) as talk:
        assert (await talk.send("go")).text == "done"
        view = talk.history()
    came = contents(provider.requests[-1].window.turns)
    assert sum(TokenCorrection().count(one) for one in came) <= 1_200
    assert came[0] == "1-0: small", "what is small stays"
    assert [("kept whole" in one) for one in came] == [False, *[True] * 5]
    assert [one.content for message in view for one in message.tool_results] == came
    assert all(one.metadata["seconds"] >= 0 for message in view for one in message.tool_results)  # type: ignore[operator]  # a number
    again = scripted()
    async with agent(tmp_path, again, tools=many) as talk:
        await talk.resume()
        assert talk.history() == view


async def test_a_listener_is_told_once_of_each_and_a_repeated_call_has_the_outline(
    tmp_path: Path,
) -> None:
    heard: list[Event] = []
    again = asks(ToolCallPart("again", "look", {"at": "1-3"}))
    provider = scripted(calls(1, 6), again, "done")
    async with agent(tmp_path, provider, tools=[tool(yields)], on_event=heard.append) as talk:
        response = await talk.send("go")
    *first, repeated = contents(response.turns)
    assert "kept whole as" in first[3] and "kept whole as" in repeated
    assert TokenCorrection().count(repeated) < TokenCorrection().count(await yields("1-3")) / 2
    once = [event.call.id for event in heard if isinstance(event, ToolCallFinished)]
    assert sorted(once) == sorted([*(f"1-{at}" for at in range(6)), "again"])


@pytest.mark.parametrize("how", ["large", "many", "failing"])
async def test_no_number_of_calls_ends_where_going_on_does_not_help(
    tmp_path: Path, how: str
) -> None:
    async def run(at: str) -> str:
        if how == "failing":
            raise ToolRefused("words of an error " * 300)
        return "some words of a report, " * (1 if how == "many" else 180)

    count = {"large": 40, "many": 400, "failing": 30}[how]
    provider = scripted(calls(1, count), calls(2, count), "done", "later")
    async with agent(tmp_path, provider, tools=[tool(run)]) as talk:
        assert (await talk.send("go")).text == "done"
        assert (await talk.send("on")).text == "later"
    for request in provider.requests:
        assert len(sent(request).encode()) / 3 <= 7_200 - request.settings.max_tokens
        assert orphans(request.window.turns) == []


@pytest.mark.parametrize("name", ["read_slice", "delegate"])
def test_names_of_the_runtimes_own_tools_are_refused_at_once(name: str) -> None:
    with pytest.raises(
        ToolError,
        match=rf"{name}: the runtime has a tool of that name, which .*another name.*prefix",
    ):
        Agent(SEAT, provider=scripted(), tools=[tool(name=name)])
    with pytest.raises(ToolError, match="the runtime has a tool of that name"):
        Agent(SEAT, provider=scripted()).register_tool(tool(name=name))


async def test_an_agent_that_is_opened_again_has_its_own_tools_once(tmp_path: Path) -> None:
    seat = replace(SEAT, strategy="sub_conversation")
    talk = Agent(seat, provider=scripted("1", "2"), at=Home(tmp_path, "x"))
    async with talk:
        await talk.send("a")
    async with talk:
        await talk.resume()
        assert (await talk.send("b")).text == "2"
