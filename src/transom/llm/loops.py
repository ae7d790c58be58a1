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
    """An object for each event loop, such as a lock or a connection, which no other loop can use.

    The object is kept as long as its loop. Weak keys would not do, since locks and connections
    refer to their loop.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._objects: dict[asyncio.AbstractEventLoop, T] = {}
        # Loops of several threads use this dictionary.
        self._lock = threading.Lock()

    def get(self) -> T:
        """Return the object of the running loop; make it if there is none yet."""
        loop = asyncio.get_running_loop()
        instance = self._objects.get(loop)
        if instance is None:
            # Outside the lock: making a client takes seconds, and no other thread asks for this
            # loop's object.
            instance = self._make()
            with self._lock:
                self._drop_closed()
                self._objects[loop] = instance
        return instance

    def pop(self) -> T | None:
        """Remove and return the object of the running loop; None if there is none."""
        with self._lock:
            self._drop_closed()
            return self._objects.pop(asyncio.get_running_loop(), None)

    def _drop_closed(self) -> None:
        for loop in list(self._objects):
            if loop.is_closed():
                del self._objects[loop]
