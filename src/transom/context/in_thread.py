"""What takes long with a large text is done in a thread, so that the event loop goes on with everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

LARGE = 100_000
"""Characters from which on a text is gone through in a thread."""

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def in_thread_if_large(size: int, work: Callable[[], T]) -> T:
    """What `work` finds: at once where its text is short, else in a thread, of which a loop has one at a time for this.

    Each such thread takes its share of the time from the loop, whose steps wait for it; several would take it all.

    Args:
        size: characters of what it goes through.
        work: awaits nothing.
    """
    if size <= LARGE:
        return work()
    async with _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(1)):
        return await asyncio.to_thread(work)
