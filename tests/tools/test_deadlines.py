"""The deadlines of tool calls: one timer watches all of them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from transom.tools.deadlines import running_deadlines


async def work(limit_seconds: float, seconds: float) -> str:
    """Return how work of that length ends under a limit."""
    limit, deadlines = asyncio.timeout(None), running_deadlines()
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
    began = time.monotonic()
    ends = await asyncio.gather(
        work(30, 0.05),
        work(0.2, 30),
        work(0.1, 30),
        work(0.3, 0.01),
        work(0.25, 30),
        work(0, 30),
        work(30, 0.4),
    )
    over = "over its time"
    assert ends == ["done", over, over, "done", over, over, "done"]
    assert time.monotonic() - began < 10


async def test_a_deadline_counts_from_its_own_call() -> None:
    """The timer of the first call fires while the second one still has time."""
    assert await work(0.15, 0.1) == "done"
    assert await work(0.15, 0.1) == "done"
    began = time.monotonic()
    assert await work(0.15, 30) == "over its time"
    assert time.monotonic() - began >= 0.15


async def test_a_call_that_goes_on_after_its_deadline_is_stopped_once() -> None:
    limit, deadlines = asyncio.timeout(None), running_deadlines()
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
                    await work(0.01, 0.001)
            deadlines.end(limit)
            raise asyncio.CancelledError
    assert (stops, limit.expired()) == (1, True)


async def test_calls_that_ended_leave_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    timers: list[asyncio.TimerHandle] = []

    def call_at(*arguments: Any, **options: Any) -> asyncio.TimerHandle:
        timers.append(original(*arguments, **options))
        return timers[-1]

    original = loop.call_at
    monkeypatch.setattr(loop, "call_at", call_at)
    for _ in range(50):
        assert await work(60, 0) == "done"
    assert len(timers) == 1


def test_each_loop_has_its_own_deadlines() -> None:
    assert asyncio.run(work(60, 0.001)) == "done"
    assert asyncio.run(work(0.05, 30)) == "over its time"
