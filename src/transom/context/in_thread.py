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
    """Return the result of `work`, which awaits nothing: at once for a short text, else from a
    thread.

    Each loop has one such thread at a time: several would take all the time of the interpreter from
    it.
    """
    if size <= LARGE:
        return work()
    async with _turns.get():
        return await asyncio.to_thread(work)
