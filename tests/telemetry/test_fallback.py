"""A chain that falls back: what its spans say of whom, and what that adds up to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT
from transom.agent import Agent, Home
from transom.config.hosted import Retry
from transom.errors import NetworkFailed, ProviderError
from transom.llm import Chain, Reply, Request, ScriptedProvider, Text
from transom.llm.retrying import RetryingProvider
from transom.telemetry import SpanRow, read_trace
from transom.telemetry.stats import statistics

SLOW = 0.3  # seconds


class Slow(ScriptedProvider):
    """It takes its time, and fails."""

    async def complete(self, request: Request, **more: object) -> Reply:
        await asyncio.sleep(SLOW)
        raise NetworkFailed("cut", place=self.name)


async def ask(root: Path, second: list[str | Exception]) -> list[SpanRow]:
    once = Retry(max_attempts=1)
    answers = [one if isinstance(one, Exception) else Reply((Text(one),)) for one in second]
    near = ScriptedProvider({SEAT.name: answers}, name="near:m2")
    chain = Chain((RetryingProvider(Slow({}, name="far:m1"), once), RetryingProvider(near, once)))
    async with Agent(SEAT, provider=chain, at=Home(root / ".transom", "x")) as agent:
        for one in second:
            if isinstance(one, Exception):
                with pytest.raises(ProviderError):
                    await agent.send("hello")
            else:
                assert (await agent.send("hello")).text == one
    (path,) = (root / ".transom" / "traces").iterdir()
    return read_trace(path)


async def test_nobody_has_the_time_that_another_one_took(tmp_path: Path) -> None:
    spans = await ask(tmp_path, ["one", "two"])
    rows = {
        row.name: row
        for row in statistics([spans], by="provider", price=lambda who, tokens: None).rows
    }
    assert {name: row.calls for name, row in rows.items()} == {"far": 1, "near": 2}
    assert rows["far"].seconds.max >= SLOW
    slowest = max(
        ((span.end or 0) - span.start) / 1e9 for span in spans if span.name == "attempt near:m2"
    )
    assert rows["near"].seconds.max == pytest.approx(slowest) and slowest < SLOW
    (role,) = statistics([spans], by="role", price=lambda who, tokens: None).rows
    assert (role.calls, role.seconds.max >= SLOW) == (2, True), "a role waits for all of them"


async def test_a_call_that_failed_names_the_one_that_was_asked_last(tmp_path: Path) -> None:
    spans = await ask(tmp_path, [ProviderError("bad", place="near:m2")])
    (chat,) = [span for span in spans if span.attributes.get("gen_ai.operation.name") == "chat"]
    assert (
        chat.status,
        chat.attributes["gen_ai.provider.name"],
        chat.attributes["gen_ai.request.model"],
    ) == (
        "error",
        "near",
        "m2",
    )
