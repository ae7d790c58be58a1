"""Objects that belong to one event loop: a process may have a loop in each thread, and one after
another.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One of a kind for each event loop: a lock or a connection of one loop is of no use to
    another.

    It is kept as long as its loop. Weak keys would not do, since locks and connections refer to
    their loop.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._held: dict[asyncio.AbstractEventLoop, T] = {}
        self._one = threading.Lock()

    def get(self) -> T:
        """The one of the running loop; made where there is none yet."""
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        if held is None:
            held = self._make()
            with self._one:
                self._drop_closed()
                self._held[loop] = held
        return held

    def pop(self) -> T | None:
        """Remove and return the one of the running loop; None where there is none."""
        with self._one:
            self._drop_closed()
            return self._held.pop(asyncio.get_running_loop(), None)

    def _drop_closed(self) -> None:
        self._held = {loop: held for loop, held in self._held.items() if not loop.is_closed()}
