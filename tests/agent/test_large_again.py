"""Results that are too large: a program and a model get the same texts when a run is resumed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agent_driver import _kill_after
from tests.forked import attempt
from transom import Agent, Home, ReplyDelta, Role, tool
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolCallPart

KINDS = {
    "one": [("rows", 9000)],
    "together": [("rows", 2500), ("table", 2400), ("rows", 40)],
    "both": [("rows", 9000), ("table", 2500), ("secret", 2600), ("rows", 30), ("fails", 1)],
}


def _rows(count: int) -> str:
    return "\n".join(f"row {number} of {count} is as long as rows are" for number in range(count))


@tool(effect="idempotent")
def rows(count: int) -> str:
    """Return rows."""
    return _rows(count)


@tool(effect="pure", trust="ours")
def table(count: int) -> list[dict[str, int]]:
    """Return a table."""
    return [{"number": number, "square": number * number} for number in range(count)]


@tool(effect="idempotent")
def secret(count: int) -> str:
    """Return local rows."""
    return _rows(count)


@tool(effect="pure")
def fails(count: int) -> str:
    """Fail at length."""
    raise ValueError("x" * 100 * count)


def seen_by(request: Request) -> str:
    """The whole window of a request, byte for byte."""
    return json.dumps([repr(turn) for turn in request.window.turns], indent=1)


async def talk(folder: Path, calls: list[tuple[str, int]], strategy: Any) -> None:
    """Send a message; write what the program is told, and what the model is shown."""

    def reply(request: Request) -> Any:
        turns = request.window.turns
        if request.role != "clerk" or len(turns) > 5 or "sums" in str(turns[0]):
            return "All of it is rows."
        (folder / f"seen-{len(turns)}.txt").write_text(seen_by(request))
        if len(turns) == 5:
            return "done"
        if len(turns) == 3:
            return Reply((ToolCallPart("9", "rows", {"count": 3}),), stop="tool_calls")
        made = [ToolCallPart(f"{n}", name, {"count": c}) for n, (name, c) in enumerate(calls)]
        return Reply((Text("I look."), *made), stop="tool_calls")

    role = Role("clerk", "You look.", strategy=strategy)
    provider = ScriptedProvider(reply)
    tools = [rows, table, replace(secret, egress="local"), fails]
    told: list[str] = []
    async with (
        Agent(role, provider=provider, tools=tools, at=Home(folder / "w", "t")) as agent,
        agent.stream("go") as answer,
    ):
        async for event in answer:
            # Pieces of a reply are joined when it comes from the journal.
            if not isinstance(event, ReplyDelta):
                told.append(repr(event))
    (folder / "told.txt").write_text("\n".join(told))


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.glob("*.txt")}


@pytest.mark.parametrize("strategy", ["truncate", "sub_conversation"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_after_a_kill_behind_any_record_the_texts_are_the_same(
    tmp_path: Path, kind: str, strategy: str
) -> None:
    def program(folder: Path, failpoint: int) -> int:
        async def work() -> None:
            _kill_after(failpoint)
            await talk(folder, KINDS[kind], strategy)

        return attempt(lambda: asyncio.run(work()))

    whole = tmp_path / "whole"
    whole.mkdir()
    assert program(whole, 0) == 0
    expected = texts(whole)
    failpoint, status = 0, 1
    while status != 0:
        failpoint += 1
        folder = tmp_path / str(failpoint)
        folder.mkdir()
        status = program(folder, failpoint)
        assert program(folder, 0) == 0
        for name, text in texts(folder).items():
            assert text == expected[name], (failpoint, name)
    assert failpoint > 5
