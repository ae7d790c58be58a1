"""What many calls at once may cost: a budget holds for a conversation and all below it."""

from __future__ import annotations

import asyncio
import random
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.helpers import SEAT, asks, look, resumed, tool
from tests.llm.conformance.dialects import Anthropic
from tests.llm.conformance.server import LocalServer, Seen, Wire
from tests.runs.helpers import Desk
from transom.agent import Agent, Budget, Home, SubAgent, call
from transom.canonical import Json
from transom.config.hosted import Retry
from transom.llm import CallSettings, Provider, Reply, Request, Role, Text, ToolCallPart, Usage
from transom.llm.prices import Price, Prices
from transom.llm.purse import Purse
from transom.llm.retrying import RetryingProvider
from transom.runs import Stage, Workspace, text_file
from transom.store import SqliteStore
from transom.tools import Arguments, ToolDefinition

PRICES = Prices(
    as_of=date(2026, 11, 1),
    models={
        "corp:model": Price(input=2, output=100),
        "anthropic:m-1": Price(input=10_000, output=10_000),
    },
)
LONGEST = CallSettings(max_tokens=1_000)  # 0.10 dollars of an answer
BOSS = Role("t.boss", "You decide.", settings=LONGEST)
CLERK = Role("t.clerk", "You file.", settings=LONGEST)
READER = Role("t.reader", "You read.", settings=LONGEST)


@dataclass
class Corp(Provider):
    """A model that hands tasks on by chance, and writes answers of any length that it may.

    Attributes:
        chance: decides how many calls a reply makes, and how long it is; None: the boss makes
            `fan_out` calls once, and every reply is as long as it may be.
        costs: dollars of each reply that was sent.
        stop_at: the number of the reply at which the process is stopped.
    """

    chance: random.Random | None = None
    fan_out: int = 3
    costs: list[float] = field(default_factory=list)
    stop_at: int | None = None

    name = "corp:model"

    async def complete(self, request: Request, *, on_delta: object = None) -> Reply:
        if len(self.costs) == self.stop_at:
            raise KeyboardInterrupt
        calls, written, pauses = self._planned(request)
        for _ in range(pauses):
            await asyncio.sleep(0)
        # A token is at least three bytes of what is sent, as estimates take it.
        usage = Usage(self.estimate_tokens(request) // 2, written)
        cost = PRICES.of(usage, self.name)
        assert cost is not None
        self.costs.append(cost)
        name = "file" if request.role == BOSS.name else "read"
        parts = [
            ToolCallPart(f"c{number}", name, {"task": f"part {len(self.costs)} {number}"})
            for number in range(calls)
        ]
        return Reply(tuple(parts) or (Text("done"),), usage=usage)

    def _planned(self, request: Request) -> tuple[int, int, int]:
        """Return how many calls a reply makes, its tokens, and how long it takes."""
        turns, longest = len(request.window.turns), request.settings.max_tokens
        may_call = request.role in (BOSS.name, CLERK.name)
        if self.chance is None:
            return self.fan_out if may_call and turns == 1 else 0, longest, 3
        calls = self.chance.randint(0, self.fan_out) if may_call and turns < 6 else 0
        return calls, self.chance.randint(0, longest), self.chance.randint(0, 4)


def tools() -> list[ToolDefinition]:
    reader = SubAgent(READER, "read", "Have a part read.")
    return [SubAgent(CLERK, "file", "Have a part filed.", [reader])]


@pytest.mark.fence
@pytest.mark.slow
@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.floats(0.0, 3.0), st.booleans())
def test_any_tree_of_conversations_exceeds_its_cap_by_one_call_at_most(
    chance: random.Random, usd: float, in_tokens: bool
) -> None:
    provider = Corp(chance)
    cap = Budget(tokens=int(usd * 10_000)) if in_tokens else Budget(usd=usd, prices=PRICES)

    async def talk() -> None:
        async with Agent(BOSS, provider=provider, tools=tools(), budget=cap) as agent:
            response = await agent.send("go")
            assert response.ended in ("answered", "tokens", "usd")
            used = response.usage.input_tokens + response.usage.output_tokens
            if in_tokens:
                assert used <= int(usd * 10_000) + 1_000 + 500, "the longest answer, and a window"
            else:
                assert sum(provider.costs) <= usd + max(provider.costs, default=0.0) + 1e-9
            assert response.usd is None or response.usd == pytest.approx(sum(provider.costs))
            # With money again, the conversation comes to its end.
            agent.budget = Budget(prices=PRICES)
            assert (await resumed(agent)).ended == "answered"

    asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.mark.parametrize("fan_out", [1, 5, 40])
@pytest.mark.parametrize("kind", ["usd", "tokens"])
async def test_sub_agents_of_one_reply_exceed_a_cap_by_one_call_at_most(
    fan_out: int, kind: str
) -> None:
    provider = Corp(fan_out=fan_out)
    cap = Budget(usd=0.35, prices=PRICES) if kind == "usd" else Budget(tokens=3_500)
    flat = [SubAgent(READER, "file", "Have a part filed.")]
    async with Agent(BOSS, provider=provider, tools=flat, budget=cap) as agent:
        response = await asyncio.wait_for(agent.send("go"), 60)
    assert len(provider.costs) <= 4
    assert response.ended == ("answered" if fan_out == 1 else kind)


async def test_a_model_that_reads_more_than_was_estimated_still_holds_the_cap() -> None:
    """A server may count a prompt of its own with each request."""

    class Counting(Corp):
        async def complete(self, request: Request, *, on_delta: object = None) -> Reply:
            reply = await super().complete(request)
            return Reply(reply.parts, usage=Usage(50_000, 0))  # 0.10 dollars

    provider = Counting(fan_out=40)
    flat = [SubAgent(READER, "file", "Have a part filed.")]
    cap = Budget(usd=0.35, prices=PRICES)
    async with Agent(BOSS, provider=provider, tools=flat, budget=cap) as agent:
        response = await agent.send("go")
    assert response.usd == pytest.approx(0.4)


@pytest.mark.slow
@pytest.mark.fence
@settings(max_examples=10)
@given(st.integers(0, 8))
def test_what_a_journal_has_counts_after_a_stop(stop_at: int) -> None:
    provider = Corp(fan_out=20, stop_at=stop_at)
    flat = [SubAgent(READER, "file", "Have a part filed.")]

    async def life(folder: str) -> tuple[str, float | None]:
        cap = Budget(usd=0.75, prices=PRICES)
        async with Agent(
            BOSS, provider=provider, tools=flat, budget=cap, at=Home(folder, "x")
        ) as agent:
            response = await agent.send("go")
            return response.ended, response.usd

    with tempfile.TemporaryDirectory() as folder:
        with suppress(KeyboardInterrupt):
            asyncio.run(life(folder))
        provider.stop_at = None
        ended, usd = asyncio.run(asyncio.wait_for(life(folder), 60))
    assert ended == "usd"
    assert usd is not None and usd <= 0.75 + max(provider.costs) + 1e-9


async def test_a_call_that_is_cancelled_while_it_waits_holds_up_no_other() -> None:
    started, go = asyncio.Event(), asyncio.Event()

    class Slow(Corp):
        async def complete(self, request: Request, *, on_delta: object = None) -> Reply:
            started.set()
            await go.wait()
            return await super().complete(request)

    cap = Budget(usd=0.15, prices=PRICES)
    async with Agent(READER, provider=Slow(), budget=cap) as agent:
        subs = [await agent.open_sub(purpose) for purpose in "abc"]
        first = asyncio.create_task(subs[0].send("go"))
        await started.wait()
        waiting = [asyncio.create_task(sub.send("go")) for sub in subs[1:]]
        await asyncio.sleep(0.05)
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        go.set()
        assert [(await first).ended, (await waiting[1]).ended] == ["answered", "answered"]


async def test_nothing_is_reserved_while_tools_run() -> None:
    """A parent that kept its reservation would starve the sub-agents that it waits for."""
    purses: list[Purse] = []
    fits: list[bool] = []

    async def handler(arguments: Arguments) -> Json:
        (purse,) = purses
        before = asyncio.all_tasks()
        await asyncio.wait_for(purse.reserve(purse.estimate([provider], 0, 3_000)), 1)
        fits.append(asyncio.all_tasks() == before)
        purse.release(purse.estimate([provider], 0, 3_000))
        return "seen"

    class Calling(Corp):
        async def complete(self, request: Request, *, on_delta: object = None) -> Reply:
            await super().complete(request)
            first = len(request.window.turns) == 1
            return asks(look("a")) if first else Reply((Text("done"),))

    provider = Calling()
    reading = ToolDefinition("look", "Looks.", tool().parameters, handler, effect="pure")
    cap = Budget(usd=0.35, prices=PRICES)
    async with Agent(BOSS, provider=provider, tools=[reading], budget=cap) as agent:
        purses.append(agent._meter.purse)
        assert (await agent.send("go")).ended == "answered"
    assert fits == [True]


async def test_stages_of_a_map_exceed_the_cap_of_their_run_by_one_call_at_most(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, provider := Corp())
    workspace = Workspace.at(tmp_path / ".transom")

    async def read(stage: Stage, item: str) -> str:
        return (await call(stage, READER, [], str)).value + item

    async with (
        SqliteStore.open(workspace.database) as store,
        await desk.open_run(workspace, store) as run,
    ):
        run.spend_from(Purse(usd=0.35, prices=PRICES))
        items = [str(number) for number in range(40)]
        results = await run.map("read", read, items, key=str, out=text_file("read.md"), limit=16)
    assert len(provider.costs) <= 4
    assert sum(result.artifact is not None for result in results) == len(provider.costs)


@pytest.mark.parametrize("cut", [0, 1, 2])
async def test_an_attempt_that_broke_off_counts(tmp_path: Path, cut: int) -> None:
    dialect, requests = Anthropic(), 0

    def answer(wire: Wire, seen: Seen) -> None:
        nonlocal requests
        requests += 1
        if requests == 1:
            wire.answer(503, b"{}")  # a server that does not answer counts no tokens
            return
        pieces = dialect.pieces([Text("done")], "" if requests <= 1 + cut else None)
        wire.begin(dialect.stream_type)
        for piece in pieces[: -1 if requests <= 1 + cut else None]:
            wire.chunk(piece)
        wire.end()

    with LocalServer(answer) as server:
        policy = Retry(max_attempts=4, initial_delay=0.001, max_retry_after=0.001)
        provider = RetryingProvider(dialect.provider(server.url, seconds=5, stream=True), policy)
        spent = []
        for _ in range(2):
            async with Agent(
                SEAT,
                provider=provider,
                at=Home(tmp_path, "x"),
                budget=Budget(usd=100, prices=PRICES),
            ) as agent:
                spent.append((await agent.send("go")).usd)
    assert requests == 2 + cut
    # Each reads 12 tokens and writes 5, or says so; one that is cut has written two tokens.
    assert spent == [pytest.approx(0.17 + cut * 0.14)] * 2
