"""A tool that is registered while a conversation is under way is in its journal, and missed by name afterwards."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from transom.agent import Agent, Home
from transom.canonical import digest
from transom.llm import ToolCall, ToolResults
from transom.runs import Workspace
from transom.tools import ToolDefinition

MADE = ToolCall("2", "made", {"at": "x"})


def agent(folder: Path, provider: Any, *, registers: bool) -> Agent:
    """One whose tool `make` registers `made`, if the program does as it is told to."""
    found = Agent(SEAT, provider=provider, at=Home(folder, "late"))

    def make(arguments: Any) -> str:
        found.register_tool(tool(name="made"))
        return "made it"

    parameters: dict[str, Any] = {"type": "object", "properties": {"at": {"type": "string"}}}
    found.register_tool(ToolDefinition("make", "Makes.", parameters, make))
    if registers:
        found.register_tool(tool(name="made"))
    return found


async def first_life(folder: Path) -> None:
    provider = scripted(asks(look("a", name="make")), asks(MADE), "done")
    async with agent(folder, provider, registers=False) as talking:
        assert (await talking.send("go")).text == "done"
    assert [[spec.name for spec in request.tools] for request in provider.requests] == [
        ["make"],
        ["make", "made"],
        ["make", "made"],
    ]


async def test_what_a_late_tool_takes_of_a_window_counts_from_the_next_call_on(tmp_path: Path) -> None:
    provider = scripted(asks(look("a", name="make")), "done")
    async with agent(tmp_path, provider, registers=False) as talking:
        await talking.send("go")
    one, two = (request.window.shares[0] for request in provider.requests)
    assert one.name == two.name == "stable_prefix"
    assert 0 < one.used < two.used


async def registrations(folder: Path) -> list[Any]:
    """What the journal has of registrations, each with how many replies stand before it."""
    async with Workspace.at(folder).open_store() as store:
        records = [record for stream in store.streams("run/") for record in store.read(stream)]
    found, replies = [], 0
    for record in records:
        data: Any = record.data
        replies += record.kind == "reply"
        if record.kind == "registered":
            found.append((replies, data["name"], data["digest"]))
    return found


async def second_life(folder: Path, *, registers: bool) -> tuple[int, list[str]]:
    """How often somebody was asked after a resume, and what came of a call of the late tool."""
    provider = scripted(asks(ToolCall("3", "made", {"at": "y"})), "done again")
    async with agent(folder, provider, registers=registers) as talking:
        resumed = await talking.resume()
        assert resumed is not None and resumed.text == "done"
        asked = len(provider.requests)
        answer = await talking.send("and now?")
        last = answer.turns[-2]
    assert isinstance(last, ToolResults)
    return asked, [result.content for result in last.results]


async def test_it_is_in_the_journal_once_before_the_first_reply_that_may_call_it(tmp_path: Path) -> None:
    await first_life(tmp_path)
    expected = [(1, "made", digest(tool(name="made").spec.canonical))]
    assert await registrations(tmp_path) == expected
    await second_life(tmp_path, registers=True)
    assert await registrations(tmp_path) == expected, "a program that begins with it registers nothing late"


async def test_a_program_that_registers_it_again_goes_on_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await first_life(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert await second_life(tmp_path, registers=True) == (0, ["saw y"])
    assert not caplog.records


async def test_a_program_that_does_not_is_told_and_so_is_the_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await first_life(tmp_path)
    said = "tool made was registered while the program ran; register it again before resume"
    with caplog.at_level(logging.WARNING):
        asked, (content,) = await second_life(tmp_path, registers=False)
    assert asked == 0
    assert [record.getMessage() for record in caplog.records] == [said]
    assert json.loads(content)["error"] == f"the {said}"


async def test_one_that_is_registered_between_messages_is_journaled_too(tmp_path: Path) -> None:
    async with agent(tmp_path, scripted("one", "two"), registers=False) as talking:
        await talking.send("first")
        talking.register_tool(tool(name="made"))
        await talking.send("second")
    assert [(before, name) for before, name, _ in await registrations(tmp_path)] == [(1, "made")]


async def test_another_schema_under_the_same_name_is_journaled_as_well(tmp_path: Path) -> None:
    await first_life(tmp_path)
    other = ToolDefinition("made", "Looks elsewhere.", {"type": "object"}, lambda _: "elsewhere")
    for _ in range(2):
        async with agent(tmp_path, scripted("done again"), registers=False) as talking:
            await talking.resume()
            talking.register_tool(other)
            await talking.send("and now?")
    shas = [digest(tool(name="made").spec.canonical), digest(other.spec.canonical)]
    assert await registrations(tmp_path) == [(1, "made", shas[0]), (3, "made", shas[1])], "each once"
