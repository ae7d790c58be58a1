"""The strategy `memory`: recalled before each message, kept after each answer, and nothing
twice.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home
from transom.llm import ScriptedProvider
from transom.memory import Recall, SqliteMemory
from transom.telemetry.read import read_traces
from transom.telemetry.stats import statistics

ROLE = replace(SEAT, strategy="memory", sees=SEAT.sees | {"memory"})


def answering(*answers: object) -> ScriptedProvider:
    return ScriptedProvider({SEAT.name: [*answers]})  # type: ignore[list-item]  # texts and calls


async def kept(memory: SqliteMemory) -> list[tuple[str, str, object, str]]:
    found = await memory.retrieve("", 20)
    return sorted(
        (one.entry.id, one.entry.content, one.entry.metadata["sources"], one.entry.egress)
        for one in found
    )


async def test_an_answer_is_kept_with_its_sources_and_recalled_by_another_conversation(
    tmp_path: Path,
) -> None:
    memory = SqliteMemory.open(tmp_path / "memory.db")
    told = "The gateway waits for Ada's approval."
    provider = answering(asks(look("ledger")), told, "As said.", "Ada's, I was told.")

    async def said(at: str) -> str:
        return "pending: Ada"

    # the program is run again: it is answered from the journal, and nothing is kept twice
    for _ in range(2):
        home = Home(tmp_path / "w", "monday")
        async with Agent(
            ROLE, provider=provider, tools=[tool(said)], at=home, sources=[Recall(memory)]
        ) as agent:
            await agent.send("What does the gateway wait for?")
            await agent.send("Sure?")
        entries = await kept(memory)
        assert [(content, egress) for _, content, _, egress in entries] == [
            (told, "any"),
            ("As said.", "any"),
        ]
        assert entries[0][0].endswith(" message 1")
        assert entries[0][2] == ['look {"at":"ledger"}']
    assert len(provider.requests) == 3
    async with Agent(
        ROLE, provider=provider, at=Home(tmp_path / "w", "tuesday"), sources=[Recall(memory)]
    ) as other:
        await other.send("Whose approval does the gateway wait for?")
    (block,) = [one for one in provider.requests[-1].window.blocks if one.name == "memory"]
    assert told in block.text
    assert block.trust == "untrusted"
    traces = (spans for _, spans in read_traces(tmp_path / "w" / "traces"))
    found = statistics(traces, by="role", price=lambda *_: None)
    assert found.memory.queries == 3
    assert found.memory.hit_rate == pytest.approx(1 / 3)
    assert found.memory.seconds.max > 0


async def test_what_was_answered_before_a_kill_is_kept_when_the_program_runs_again(
    tmp_path: Path,
) -> None:
    """The answer stands in the journal, and the process ended before its memory had it."""
    home = Home(tmp_path / "w", "monday")
    async with Agent(
        replace(ROLE, strategy="truncate"), provider=answering("It waits."), at=home
    ) as agent:
        await agent.send("And the gateway?")
    memory = SqliteMemory.open(None)
    async with Agent(ROLE, provider=answering(), at=home, sources=[Recall(memory)]) as agent:
        await agent.send("And the gateway?")
    assert [content for _, content, *_ in await kept(memory)] == ["It waits."]


async def test_a_memory_that_breaks_stops_nothing_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = SqliteMemory.open(tmp_path / "memory.db")
    recall = Recall(memory)
    async with Agent(ROLE, provider=answering("one", "two"), sources=[recall]) as agent:
        await agent.send("first")
        await memory.close()
        with caplog.at_level(logging.WARNING):
            assert (await agent.send("second")).text == "two"
    assert recall.status == "broken"
    assert "the run goes on without it" in caplog.text
