"""What each call saw, read back from a journal that keeps every turn once."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.agent import Agent, Home, Setup
from transom.config import Settings
from transom.llm import Block, Reply, Request, Role, ScriptedProvider, Text, Tier, ToolCallPart
from transom.runs.windows import journaled_calls, requests_of
from transom.store import SqliteStore
from transom.tools import Arguments, ToolDefinition

SEAT = Role("t.seat", (Block("role", "You look.", Tier.STABLE),), frozenset({"role", "extra"}))


async def talk(
    folder: Path, course: list[tuple[int, int]], keep: int
) -> tuple[list[Any], list[Any], list[Any]]:
    """What was asked, what the journal says was asked, and the windows as it has them.

    Args:
        folder: of the workspace.
        course: for each message how many rounds of calls it takes, and how many calls a round; 0
            rounds come with a block and no call.
        keep: events that a window holds before it is folded.
    """
    left: list[int] = []

    def answer(request: Request) -> Reply:
        if not left or left[-1] == 0:
            return Reply((Text("done"),))
        left[-1] -= 1
        calls = [ToolCallPart(f"c{number}", "look", {"n": number}) for number in range(many)]
        return Reply((Text("I look."), *calls), stop="tool_calls")

    async def look(arguments: Arguments) -> str:
        return f"saw {arguments['n']} " * 30

    tools = [ToolDefinition("look", "Looks.", {"type": "object"}, look, effect="pure", fresh=True)]
    window = {"compact_at": keep, "keep_recent": max(1, keep - 1)}
    provider = ScriptedProvider(answer)
    setup = Setup(provider, Settings.model_validate({"window": window}))
    many = 1
    for rounds, many in course:  # noqa: B007  a process for each message; `answer` reads `many`
        left.append(rounds)
        async with Agent(SEAT, provider=setup, tools=tools, at=Home(folder, "t")) as agent:
            await agent.resume()
            await agent.send("go", *([] if rounds else [Block("extra", "only now")]))
    async with SqliteStore.open(folder / "state.db") as store:
        records = [record for name in store.streams("run/") for record in store.read(name)]
        found: list[Any] = [record.data for record in records if record.kind == "model_reply"]
        return (
            [one.to_json() for one in provider.requests],
            requests_of(store, records),
            [one["window"] for one in found],
        )


@pytest.mark.slow
@pytest.mark.fence
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=4),
    st.integers(1, 4),
)
@settings(max_examples=15, deadline=None)
def test_any_course_of_windows_is_read_back(course: list[tuple[int, int]], keep: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked, read, _ = asyncio.run(talk(Path(folder), course, keep))
    assert read == asked


async def test_a_turn_is_named_by_its_place_and_not_written_again(tmp_path: Path) -> None:
    asked, read, windows = await talk(tmp_path, [(6, 1)], 50)
    assert read == asked
    assert [window["turns"] for window in windows] == [[0, 1 + 2 * number] for number in range(7)]
    assert len(json.dumps(windows)) < 1_000
    folded = (await talk(tmp_path / "f", [(8, 1)], 2))[2]
    notes = [
        place
        for window in folded
        for place in window.get("head", [])
        if not isinstance(place, list)
    ]
    assert notes and all("are folded" in note["text"] for note in notes), "only the note is written"


async def test_a_program_reads_what_each_call_saw(tmp_path: Path) -> None:
    asked, _, _ = await talk(tmp_path, [(2, 1), (0, 1)], 50)
    async with SqliteStore.open(tmp_path / "state.db") as store:
        (stream,) = store.streams("run/")
        calls, saved = journaled_calls(store, store.read(stream))
    assert [one.request.to_json() for one in calls] == asked
    shown = [one.to_json() for one in calls]
    assert [(one["call"], one["role"], len(one["turns"])) for one in shown] == [
        (number, SEAT.name, turns) for number, turns in enumerate((1, 3, 5, 7), 1)
    ]
    assert [[block["name"] for block in one["blocks"]] for one in shown] == [["role"]] * 3 + [
        ["role", "extra"]
    ]
    assert (
        all(block["tokens"] > 0 for one in shown for block in one["blocks"])
        and "only now" in calls[-1].text
    )
    assert [*saved] == [shown[0]["by"]]
