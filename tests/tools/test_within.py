"""A tool's time: no clock for what is over at once, and for the rest all that `await` does."""

from __future__ import annotations

import asyncio

import pytest

from transom.tools.within import within


async def waiting(log: list[str], future: asyncio.Future[str]) -> str:
    """Waits three times, in different ways, and writes down what came."""
    try:
        await asyncio.sleep(0)
        log.append(await future)
        await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))
    except BaseException as error:
        log.append(type(error).__name__)
        raise
    finally:
        log.append("over")
    return "done"


async def test_what_is_over_at_once_arms_no_clock() -> None:
    async def at_once() -> str:
        return "done"

    limit = asyncio.timeout(60)
    assert await within(limit, at_once()) == "done"
    with pytest.raises((RuntimeError, AssertionError)):  # it was not entered; 3.11.2 asserts that
        limit.reschedule(None)

    async def fails() -> str:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await within(limit, fails())
    assert not limit.expired()


async def test_what_waits_is_given_what_it_waits_for() -> None:
    log: list[str] = []
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, "came")
    assert await within(asyncio.timeout(60), waiting(log, future)) == "done"
    assert log == ["came", "over"]


async def test_an_error_that_it_waits_for_is_raised_in_it() -> None:
    log: list[str] = []
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, KeyError("x"))
    with pytest.raises(KeyError):
        await within(asyncio.timeout(60), waiting(log, future))
    assert log == ["KeyError", "over"]


async def test_its_time_counts_from_the_beginning_and_ends_it() -> None:
    log: list[str] = []
    limit = asyncio.timeout(0.01)
    with pytest.raises(TimeoutError):
        await within(limit, waiting(log, asyncio.get_running_loop().create_future()))
    assert limit.expired()
    assert log == ["CancelledError", "over"]


@pytest.mark.parametrize("steps", [1, 2])
async def test_whoever_cancels_the_task_stops_it_wherever_it_waits(steps: int) -> None:
    log: list[str] = []
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(within(asyncio.timeout(60), waiting(log, future)))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["CancelledError", "over"]
