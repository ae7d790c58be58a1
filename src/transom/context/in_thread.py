"""Work on a large text runs in a thread, so that the event loop goes on with everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from transom.llm.loops import PerLoop

T = TypeVar("T")

LARGE = 100_000
"""A text of more characters than that is processed in a thread."""

_turns = PerLoop(asyncio.Lock)


async def in_thread_if_large(size: int, work: Callable[[], T]) -> T:
    """Return the result of `work`: computed at once for a short text, else in a thread, one at a time for each loop.

    Several such threads at once would take all the time of the interpreter from the loop.

    Args:
        size: characters of the text.
        work: a function that awaits nothing.
    """
    if size <= LARGE:
        return work()
    async with _turns.get():
        return await asyncio.to_thread(work)
