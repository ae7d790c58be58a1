"""A `once` tool that ran out of its time may be running still: it is not begun again before a
person says so.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from transom.agent import Agent, Home, Response
from transom.cli.app import main
from transom.errors import Paused
from transom.llm import Reply, ToolResults
from transom.tools import ToolDefinition, ToolLimits


class Slow:
    """A tool that hangs as often as it is told to."""

    def __init__(self, hangs: int) -> None:
        self.begun: list[str] = []
        self.hangs = hangs

    async def run(self, at: str) -> str:
        self.begun.append(at)
        if len(self.begun) <= self.hangs:
            await asyncio.Event().wait()
        return f"did {at}"

    def tool(self, **more: Any) -> ToolDefinition:
        return tool(self.run, limits=ToolLimits(seconds=0.05), **more)


async def say(root: Path, slow: Slow, *answers: Reply | str, **more: Any) -> Response:
    tools = [slow.tool(**{"effect": "once", **more})]
    async with Agent(SEAT, provider=scripted(*answers), tools=tools, at=Home(root, "t")) as agent:
        return await agent.send("Do it.")


def told(response: Response) -> list[str]:
    return [
        one.content
        for turn in response.turns
        if isinstance(turn, ToolResults)
        for one in turn.results
    ]


def answer(
    paused: pytest.ExceptionInfo[Paused], word: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.chdir(folder)
    assert main(["answer", paused.value.run_id, word]) == 0


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one reply"])
def test_the_same_call_waits_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, together: bool
) -> None:
    root, slow = tmp_path / ".transom", Slow(1)
    calls = (
        [asks(look("a", "1"), look("a", "2"))]
        if together
        else [asks(look("a", "1")), asks(look("a", "2"))]
    )
    for replies in (calls, []):
        with pytest.raises(
            Paused, match="was begun, and whether it was carried out is not known"
        ) as paused:
            asyncio.run(say(root, slow, *replies))
    assert slow.begun == ["a"]
    answer(paused, "keep", monkeypatch, tmp_path)
    response = asyncio.run(say(root, slow, "ok"))
    assert slow.begun == ["a"]
    first, second = told(response)
    assert "took longer than the 0.05 s" in first
    assert "do not make the same call again" in first
    assert "the call was carried out, and its result was lost" in second


def test_a_person_has_it_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, slow = tmp_path / ".transom", Slow(1)
    with pytest.raises(Paused) as paused:
        asyncio.run(say(root, slow, asks(look("a", "1")), asks(look("a", "2"))))
    answer(paused, "redo", monkeypatch, tmp_path)
    response = asyncio.run(say(root, slow, asks(look("a", "3")), "ok"))
    assert slow.begun == ["a", "a", "a"], "what is known now is in doubt no more"
    assert told(response)[1:] == ["did a", "did a"]


@pytest.mark.parametrize(("at", "effect"), [("b", "once"), ("a", "idempotent")])
async def test_other_calls_and_those_that_may_be_repeated_ask_nobody(
    tmp_path: Path, at: str, effect: str
) -> None:
    slow = Slow(1)
    response = await say(
        tmp_path, slow, asks(look("a", "1")), asks(look(at, "2")), "ok", effect=effect
    )
    assert slow.begun == ["a", at]
    assert told(response)[1] == f"did {at}"


def test_what_was_done_after_all_is_in_doubt_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that is run again for the same call: it came to its end, and the next one begins it
    as any other.
    """
    root, slow = tmp_path / ".transom", Slow(1)
    with pytest.raises(Paused) as paused:
        asyncio.run(say(root, slow, asks(look("a", "1")), asks(look("a", "2")), fresh=True))
    answer(paused, "redo", monkeypatch, tmp_path)
    response = asyncio.run(say(root, slow, asks(look("a", "3")), "ok", fresh=True))
    assert (slow.begun, told(response)[1:]) == (["a"] * 3, ["did a"] * 2)
