"""A provider's limits: held over every period, in every process, first come, first served."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.canonical import Json
from transom.errors import RequestRefused
from transom.llm import limits
from transom.llm.limits import TABLE, MemoryLimitStore, RateLimits, Reservation
from transom.store import SqliteStore

PERIOD = 0.3
Bucket = partial(limits.Bucket, grace=0)
"""Here what is taken arrives at once."""


def most_in_a_period(log: Sequence[tuple[int, int]]) -> int:
    """The most that any period holds, wherever it begins: its ends may lie in slots that are
    sixty apart.
    """
    return max(sum(cost for slot, cost in log if first <= slot <= first + 60) for first, _ in log)


async def spend(bucket: limits.Bucket, jobs: Sequence[int], log: list[tuple[int, int]]) -> None:
    """Take, and note when that was and how much: the bucket's time, since this one may be held
    up by other programs.
    """
    for tokens in jobs:
        taken = await bucket.take(tokens)
        log.append((taken.slot, tokens))


async def test_no_period_holds_more_requests_than_allowed_under_thirty_runs() -> None:
    bucket = Bucket("p", RateLimits(requests=40), period=PERIOD)
    log: list[tuple[int, int]] = []
    await asyncio.gather(*(spend(bucket, [1, 1, 1], log) for _ in range(30)))
    assert len(log) == 90
    assert most_in_a_period(log) <= 40


async def test_who_comes_first_is_served_first() -> None:
    bucket = Bucket("p", RateLimits(requests=20), period=PERIOD)
    order: list[int] = []

    async def run(number: int) -> None:
        for _ in range(2):
            await bucket.take(1)
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(run(number) for number in range(30)))
    assert order == [*range(30), *range(30)]


async def test_a_large_request_is_not_overtaken_for_ever() -> None:
    bucket = Bucket("p", RateLimits(tokens=100), period=PERIOD)
    log: list[tuple[int, int]] = []
    await asyncio.gather(*(spend(bucket, jobs, log) for jobs in ([60], [90], [30, 30, 30])))
    assert [tokens for _, tokens in log][:3] == [60, 90, 30]
    assert most_in_a_period(log) <= 100


async def test_what_was_not_used_is_given_back() -> None:
    bucket = Bucket("p", RateLimits(tokens=100), period=30)
    taken = await bucket.take(100)
    waiting = asyncio.ensure_future(bucket.take(60))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await bucket.settle(taken, 40)
    await asyncio.wait_for(waiting, 30)


async def test_what_is_under_way_counts_from_when_it_may_arrive() -> None:
    now = [1_000.0]
    bucket = limits.Bucket("p", RateLimits(requests=2), clock=lambda: now[0])
    slow, quick = await bucket.take(1), await bucket.take(1)
    now[0] += 1
    await bucket.settle(quick, 1)  # it arrived within this second
    now[0] += 60.5
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bucket.take(1), 0.05)
    now[0] += 1
    await asyncio.wait_for(bucket.take(1), 30)
    await bucket.settle(slow, 1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bucket.take(1), 0.05)
    now[0] += 4
    await asyncio.wait_for(bucket.take(1), 30)


async def test_what_can_never_fit_is_refused_with_both_numbers() -> None:
    with pytest.raises(
        RequestRefused, match=r"p: one request of up to 101 tokens.*the 100 a minute.*max_tokens"
    ):
        await Bucket("p", RateLimits(tokens=100)).take(101)


async def test_what_one_is_told_to_wait_all_wait() -> None:
    bucket = Bucket("p")
    await bucket.hold(0.1)
    began = time.monotonic()
    await asyncio.gather(bucket.take(1), bucket.take(1))
    assert time.monotonic() - began >= 0.09


async def test_a_shorter_wait_takes_nothing_off_a_longer_one() -> None:
    now = [1_000.0]
    bucket = Bucket("p", clock=lambda: now[0])
    await bucket.hold(300)
    await bucket.hold(1)
    now[0] += 200
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bucket.take(1), 0.05)
    now[0] += 101
    await asyncio.wait_for(bucket.take(1), 30)


async def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    now = [1_000.0]
    for allowed in (3, 0):
        async with SqliteStore.open(tmp_path / "state.db") as store:
            bucket = Bucket("p", RateLimits(requests=3), store=store, clock=lambda: now[0])
            for _ in range(allowed):
                await asyncio.wait_for(bucket.take(1), 30)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(bucket.take(1), 0.05)
    now[0] += 62
    async with SqliteStore.open(tmp_path / "state.db") as store:
        await asyncio.wait_for(
            Bucket("p", RateLimits(requests=3), store=store, clock=lambda: now[0]).take(1), 30
        )


async def test_two_processes_share_one_bucket(tmp_path: Path) -> None:
    log: list[tuple[int, int]] = []
    async with (
        SqliteStore.open(tmp_path / "state.db") as one,
        SqliteStore.open(tmp_path / "state.db") as other,
    ):
        buckets = [
            Bucket("p", RateLimits(requests=10), store=store, period=PERIOD)
            for store in (one, other)
        ]
        await asyncio.gather(*(spend(bucket, [1] * 8, log) for bucket in buckets))
    assert len(log) == 16
    assert most_in_a_period(log) <= 10


@pytest.mark.parametrize(
    "allowed", [RateLimits(), RateLimits(requests=6)], ids=["a wait alone", "limits"]
)
def test_it_may_be_asked_from_several_threads_at_once(allowed: RateLimits) -> None:
    """Each with an event loop, in which some wait for others."""
    now = [1_000.0]
    bucket = Bucket("p", allowed, period=PERIOD, clock=lambda: now[0])
    asyncio.run(bucket.hold(10))
    waiting, ended = threading.Barrier(4), []

    async def take_two() -> None:
        taking = [asyncio.ensure_future(bucket.take(1)) for _ in range(2)]
        await asyncio.sleep(0)  # both have begun to wait
        waiting.wait(30)
        ended.extend(await asyncio.gather(*taking, return_exceptions=True))

    threads = [
        threading.Thread(target=lambda: asyncio.run(take_two()), daemon=True) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    waiting.wait(30)
    assert not ended
    now[0] += 11
    for thread in threads:
        thread.join(30)
    assert [type(one) for one in ended] == [Reservation] * 6


async def test_a_clock_that_was_set_back_holds_up_nobody() -> None:
    now, store = [1_000_000.0], MemoryLimitStore()
    bucket = Bucket("p", RateLimits(requests=1), store=store, clock=lambda: now[0])
    await bucket.take(1)
    await bucket.hold(300)
    now[0] -= 500_000
    await asyncio.wait_for(bucket.take(1), 30)


class Raced(MemoryLimitStore):
    """A store on which somebody else is faster, the first `times`."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        if self.times == 0:
            return await super().swap(table, key, old, new)
        self.times -= 1
        return False


def spent_on(store: MemoryLimitStore) -> tuple[int, int]:
    """Requests and tokens that a store holds."""
    held: Any = store.get(TABLE, "p")
    return sum(requests for _, requests, _ in held["spent"]), sum(
        tokens for _, _, tokens in held["spent"]
    )


async def test_what_was_lost_to_somebody_faster_is_counted_once() -> None:
    store = Raced(3)
    bucket = Bucket("p", RateLimits(requests=10), store=store, clock=lambda: 1_000_000.0)
    await bucket.take(5)
    assert (spent_on(store), store.times) == ((1, 5), 0)


async def test_no_limits_leave_nothing_behind() -> None:
    store = MemoryLimitStore()
    await Bucket("p", store=store).take(10**9)
    assert store.get(TABLE, "p") is None


@pytest.mark.slow
@given(
    st.integers(1, 5),
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 50)), min_size=1, max_size=40),
)
def test_any_stream_of_requests_stays_within_both_limits(
    requests: int, tokens: int, arrivals: list[tuple[float, int]]
) -> None:
    now = [0.0]
    bucket = Bucket("p", RateLimits(requests, tokens), clock=lambda: now[0], period=60)
    served: list[tuple[float, int]] = []

    async def walk() -> None:
        for pause, cost in arrivals:
            now[0] += pause
            if cost > tokens:
                continue
            taking = asyncio.ensure_future(bucket.take(cost))
            for step in itertools.count():
                await asyncio.sleep(0)
                if taking.done():
                    break
                assert step < 300
                now[0] += 0.5
                taking.cancel()
                await asyncio.gather(taking, return_exceptions=True)
                taking = asyncio.ensure_future(bucket.take(cost))
            served.append((now[0], cost))

    asyncio.run(walk())
    for start, _ in served:
        inside = [cost for at, cost in served if start <= at < start + 60]
        assert len(inside) <= requests
        assert sum(inside) <= tokens
