"""A time limit that arms no clock for what comes to its end at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def within(limit: asyncio.Timeout, work: Coroutine[Any, Any, T]) -> T:
    """Await `work`, within a time that counts from when `limit` was made.

    It is begun in this task; most tools that only look something up are over with that.

    Raises:
        TimeoutError: it is not over in time; `limit.expired()` tells it from one of its own.
    """
    try:
        first = work.send(None)
    except StopIteration as over:
        found: T = over.value
        return found
    async with limit:
        return await _the_rest(work, first)


@coroutine
def _the_rest(work: Coroutine[Any, Any, T], waits_for: object) -> Generator[Any, Any, T]:
    """What `await` does with a coroutine, from where it waits for the first time."""
    try:
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001  it is the coroutine's to take
                waits_for = work.throw(error)
            else:
                waits_for = work.send(sent)
    except StopIteration as over:
        found: T = over.value
        return found
