"""A purse reserves before a call is sent: a limit is exceeded by one call at most."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import CapReached, InputError
from transom.llm import Capabilities, ScriptedProvider, Usage
from transom.llm.prices import Price, Prices
from transom.llm.purse import Estimate, Purse

PRICES = Prices(as_of=date(2026, 11, 1), models={"corp:model": Price(input=1, output=10)})
MODEL = "corp:model"


class Planned(NamedTuple):
    """A call of a test.

    Attributes:
        begins: after how many steps it asks for its reservation.
        takes: how many steps it is under way.
        cancelled: after how many steps it is cancelled; None if it is not.
        reserved: tokens of its answer that it reserves.
        written: the share of them that it writes.
    """

    begins: int
    takes: int
    cancelled: int | None
    reserved: int
    written: float


PLANS = st.lists(
    st.builds(
        Planned,
        begins=st.integers(0, 6),
        takes=st.integers(0, 6),
        cancelled=st.none() | st.integers(0, 12),
        reserved=st.integers(1, 1_000),
        written=st.floats(0, 1),
    ),
    max_size=12,
)


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def carry_out(purse: Purse, plans: list[Planned]) -> tuple[list[int], int]:
    """Carry out calls side by side; return what each one wrote, and how many were refused."""
    spent: list[tuple[str, Usage]] = []
    refused = 0

    async def call(plan: Planned) -> None:
        nonlocal refused
        await steps(plan.begins)
        estimate = purse.estimate([remote()], 0, plan.reserved)
        try:
            await purse.reserve(estimate)
        except CapReached:
            refused += 1
            return
        try:
            await steps(plan.takes)
            spent.append((MODEL, Usage(0, int(plan.reserved * plan.written))))
        finally:
            purse.take_in("all", spent)
            purse.release(estimate)

    async def cancel(task: asyncio.Task[None], plan: Planned) -> None:
        if plan.cancelled is not None:
            await steps(plan.cancelled)
            task.cancel()

    tasks = [asyncio.create_task(call(plan)) for plan in plans]
    stops = [cancel(task, plan) for task, plan in zip(tasks, plans, strict=True)]
    await asyncio.gather(*tasks, *stops, return_exceptions=True)
    return [usage.output_tokens for _, usage in spent], refused


def remote(**caps: bool) -> ScriptedProvider:
    return ScriptedProvider({}, name=MODEL, local=False, caps=Capabilities(**caps))  # type: ignore[arg-type]  # flags


@given(PLANS, st.integers(0, 3_000))
def test_a_cap_on_tokens_is_exceeded_by_one_call_at_most(plans: list[Planned], cap: int) -> None:
    purse = Purse(tokens=cap)
    written, refused = asyncio.run(asyncio.wait_for(carry_out(purse, plans), 60))
    assert sum(written) <= cap + max(written, default=0)
    assert not refused or sum(written) >= cap, "a call fails only if nothing is left"


@given(PLANS, st.integers(0, 3_000))
def test_a_cap_on_dollars_is_exceeded_by_one_call_at_most(plans: list[Planned], cap: int) -> None:
    usd = 1e-5  # of a written token
    purse = Purse(usd=cap * usd, prices=PRICES)
    written, refused = asyncio.run(asyncio.wait_for(carry_out(purse, plans), 60))
    rounding = 1e-6
    assert sum(written) <= cap + max(written, default=0) + rounding
    assert not refused or sum(written) >= cap - rounding


@given(PLANS)
def test_nothing_stays_reserved(plans: list[Planned]) -> None:
    cap = 1_500

    async def then_all_at_once() -> None:
        purse = Purse(tokens=cap)
        written, _ = await carry_out(purse, plans)
        if sum(written) < cap:
            await asyncio.wait_for(purse.reserve(Estimate(cap - sum(written), None)), 1)

    asyncio.run(then_all_at_once())


async def test_calls_wait_in_the_order_in_which_they_came() -> None:
    purse, admitted = Purse(tokens=100), list[int]()

    async def call(tokens: int) -> None:
        await purse.reserve(Estimate(tokens, None))
        admitted.append(tokens)
        await steps(3)
        purse.release(Estimate(tokens, None))

    await asyncio.gather(*(call(tokens) for tokens in (60, 90, 30, 20)))
    assert admitted == [60, 90, 30, 20], "one that would fit does not overtake one that waits"


async def test_a_call_of_unknown_cost_has_the_purse_to_itself() -> None:
    purse = Purse(usd=100, prices=PRICES)
    provider = ScriptedProvider(
        {}, name="corp:unheard-of", local=False, caps=Capabilities(tells_cost=True)
    )
    unknown, known = purse.estimate([provider], 5, 5), purse.estimate([remote()], 5, 5)
    assert unknown.usd is None and known.usd == pytest.approx(55e-6)
    for first, second in ((unknown, known), (known, unknown)):
        await purse.reserve(first)
        waiting = asyncio.create_task(purse.reserve(second))
        await steps(3)
        assert not waiting.done()
        purse.release(first)
        await waiting
        purse.release(second)


async def test_a_dear_reply_raises_what_later_calls_reserve() -> None:
    """An estimate that was too low once would be too low forty times."""
    purse = Purse(tokens=1_000)
    purse.take_in("all", [(MODEL, Usage(400, 0))])
    await purse.reserve(Estimate(10, None))
    waiting = asyncio.create_task(purse.reserve(Estimate(10, None)))
    await steps(3)
    assert not waiting.done()
    waiting.cancel()


async def test_a_model_on_this_machine_reserves_no_dollars() -> None:
    purse = Purse(usd=1, prices=PRICES)
    purse.take_in("all", [(MODEL, Usage(0, 90_000))])
    local = ScriptedProvider({}, name="ollama:m", local=True)
    for _ in range(50):
        await asyncio.wait_for(purse.reserve(purse.estimate([local], 100, 100)), 1)


async def test_the_dearest_provider_that_may_answer_is_reserved() -> None:
    prices = Prices(
        as_of=PRICES.as_of,
        models={
            MODEL: Price(input=1, output=10),
            "corp:large": Price(input=4, output=20, cache_write=5),
        },
    )
    large = ScriptedProvider({}, name="corp:large", local=False)
    estimate = Purse(usd=1, prices=prices).estimate([remote(), large], 1_000_000, 100_000)
    assert estimate.usd == pytest.approx(5 + 2)


async def test_a_raised_limit_lets_a_waiting_call_go_ahead() -> None:
    purse = Purse(tokens=100)
    await purse.reserve(Estimate(90, None))
    waiting = asyncio.create_task(purse.reserve(Estimate(90, None)))
    await steps(2)
    purse.set_limits(tokens=500, usd=None, prices=None, free=())
    await asyncio.wait_for(waiting, 1)


async def test_an_unknown_cost_ends_a_cap_in_dollars() -> None:
    purse = Purse(usd=100, prices=PRICES)
    purse.take_in("all", [("corp:unheard-of", Usage(5, 5))])
    with pytest.raises(InputError, match="the cost of its reply is unknown"):
        await purse.reserve(Estimate(10, 0.1))


def test_a_journal_that_lost_replies_is_counted_again() -> None:
    purse = Purse(usd=1, prices=PRICES)
    replies = [(MODEL, Usage(0, 10_000)) for _ in range(3)]
    purse.take_in("run", replies)
    purse.take_in("other run", replies[:1])
    purse.take_in("run", replies[:2])
    assert purse.usd_of("run") == pytest.approx(0.2)
    assert purse.usd_of("run", 1) == 0.1
    assert purse.usd_of("other run") == 0.1
