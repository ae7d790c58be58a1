"""The cost of a turn, as counts that are the same on every machine: calls, and bytes of the
journal.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Budget, Home
from transom.llm import Reply, Request, ScriptedProvider, Text, Usage
from transom.runs import Workspace
from transom.store import committer, writer
from transom.telemetry import read_trace

CALLS, BYTES = 660, 2_800
PAYLOAD = ("one kibibyte of what a tool may find in a log " * 30)[:1024]


async def talk(folder: Path, turns: int) -> None:
    """A conversation of so many turns, each with one call of 1 KiB, journaled and traced."""
    numbers = iter(range(turns))

    async def run(at: str) -> str:
        return PAYLOAD

    def answer(request: Request) -> Reply:
        number = next(numbers, None)
        parts = (Text("done"),) if number is None else asks(look(str(number), f"c{number}")).parts
        return Reply(parts, stop="end" if number is None else "tool_calls", usage=Usage(1, 1))

    home, caps = Home(folder, "cost"), Budget(turns=turns + 1)
    async with Agent(
        SEAT, provider=ScriptedProvider(answer), tools=[tool(run)], at=home, budget=caps
    ) as agent:
        assert (await agent.send("go")).text == "done"


def calls(folder: Path, turns: int) -> int:
    """Function calls, Python's and C's, in every thread."""
    counted = itertools.count()

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            next(counted)

    before = sys.getprofile()
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        asyncio.run(talk(folder, turns))
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    return next(counted)


async def kept(folder: Path) -> tuple[int, int, int]:
    """Bytes of the journal, its replies and its results."""
    async with Workspace.at(folder).open_store() as store:
        records = [record for stream in store.streams("run/") for record in store.read(stream)]
    kinds = [record.kind for record in records]
    return (
        sum(len(json.dumps(record.data)) for record in records),
        kinds.count("model_reply"),
        kinds.count("tool_result"),
    )


def test_a_turn_costs_few_calls_however_long_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who commits, and with what, must not depend on how busy disk and processor are now.
    monkeypatch.setattr(committer, "_QUICK", math.inf)
    monkeypatch.setattr(writer, "_GATHERING", 3_600.0)
    monkeypatch.setattr(writer, "_TURN", math.inf)
    asyncio.run(talk(tmp_path / "warm", 60))  # imports and caches, folding included
    few, more, many = (calls(tmp_path / str(turns), turns) for turns in (10, 40, 160))
    a_turn = (more - few) / 30
    assert a_turn <= CALLS, a_turn
    assert (many - more) / 120 <= 1.2 * a_turn, "the 160th costs no more than the 40th"


def test_a_journal_grows_with_the_conversation_and_no_faster(tmp_path: Path) -> None:
    sizes = {}
    for turns in (50, 200):
        asyncio.run(talk(tmp_path / str(turns), turns))
        size, replies, results = asyncio.run(kept(tmp_path / str(turns)))
        assert (replies, results) == (turns + 1, turns)
        (trace,) = (tmp_path / str(turns) / "traces").glob("*.jsonl")
        spans = [row for row in read_trace(trace) if not row.name.startswith("compact ")]
        assert len(spans) == 2 * turns + 2, "it is traced, too: a span for each reply and result"
        sizes[turns] = size / turns
    assert max(sizes.values()) <= BYTES, sizes
    assert sizes[200] <= 1.1 * sizes[50], sizes
