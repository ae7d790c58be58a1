"""The deadlines of tool calls: one timer watches all of them."""

from __future__ import annotations

import asyncio
import time

import pytest

from transom.tools.deadlines import CallDeadlines


async def work(deadlines: CallDeadlines, limit_seconds: float, seconds: float) -> str:
    """Return how work of that length ends under a limit."""
    limit = asyncio.timeout(None)
    try:
        async with limit:
            deadlines.begin(limit, limit_seconds)
            try:
                await asyncio.sleep(seconds)
            finally:
                deadlines.end(limit)
    except TimeoutError:
        return "over its time"
    return "done"


async def test_each_call_has_its_own_deadline() -> None:
    """Those that come later may be due earlier, and those that end leave the timer to others."""
    deadlines = CallDeadlines()
    began = time.monotonic()
    ends = await asyncio.gather(
        work(deadlines, 30, 0.05),
        work(deadlines, 0.2, 30),
        work(deadlines, 0.1, 30),
        work(deadlines, 0.3, 0.01),
        work(deadlines, 0.25, 30),
        work(deadlines, 0, 30),
        work(deadlines, 30, 0.4),
    )
    over = "over its time"
    assert ends == ["done", over, over, "done", over, over, "done"]
    assert time.monotonic() - began < 10


async def test_a_deadline_counts_from_its_own_call() -> None:
    """The timer of the first call fires while the second one still has time."""
    deadlines = CallDeadlines()
    assert await work(deadlines, 0.15, 0.1) == "done"
    assert await work(deadlines, 0.15, 0.1) == "done"
    began = time.monotonic()
    assert await work(deadlines, 0.15, 30) == "over its time"
    assert time.monotonic() - began >= 0.15


async def test_a_call_that_goes_on_after_its_deadline_is_stopped_once() -> None:
    deadlines = CallDeadlines()
    limit = asyncio.timeout(None)
    stops = 0
    with pytest.raises(TimeoutError):
        async with limit:
            deadlines.begin(limit, 0.02)
            for _ in range(5):
                try:
                    await asyncio.sleep(0.05)
                except asyncio.CancelledError:
                    stops += 1
                    # Another call sets the timer anew meanwhile.
                    await work(deadlines, 0.01, 0.001)
            deadlines.end(limit)
            raise asyncio.CancelledError
    assert (stops, limit.expired()) == (1, True)


def test_the_deadlines_of_one_loop_serve_the_next() -> None:
    deadlines = CallDeadlines()
    assert asyncio.run(work(deadlines, 60, 0.001)) == "done"
    assert asyncio.run(work(deadlines, 0.05, 30)) == "over its time"
