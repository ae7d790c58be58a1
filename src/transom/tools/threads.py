"""Threads for plain handlers: each call has one of its own, and none holds up the end of a program."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Final, TypeVar

from transom.errors import ToolBusyError

T = TypeVar("T")

_log = logging.getLogger(__name__)

_PATIENCE = 60.0  # seconds that a call waits for a thread where it may take any time


class Threads:
    """So many threads at once. A call that hangs keeps its own; an executor would keep a program from ending by it.

    Args:
        most: that are alive at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._alive = 0
        self._waiting: deque[Future[None]] = deque()

    async def place(self, seconds: float | None) -> None:
        """Wait for a place, which `run` takes at once.

        Raises:
            ToolBusyError: there was none within that time.
        """
        with self._lock:
            if self._alive < self._most:
                self._alive += 1
                return
            waiter: Future[None] = Future()
            self._waiting.append(waiter)
        try:
            async with asyncio.timeout(_PATIENCE if seconds is None else seconds):
                await asyncio.wrap_future(waiter)
        except BaseException as error:
            if not waiter.cancel():  # it was given one in the last moment
                self._leave()
            if not isinstance(error, TimeoutError):
                raise
            _log.warning("all %d threads for tools are taken by calls that do not end", self._most)
            what = "the tool could not begin: too many calls are still being carried out"
            raise ToolBusyError(what, hint="go on without it, or call it again later") from error

    async def run(self, work: Callable[[], T]) -> T:
        """Do something in a thread, which has the variables of the context. Whoever stops waiting leaves it alone."""
        done: Future[T] = Future()
        done.set_running_or_notify_cancel()
        context = copy_context()

        def thread() -> None:
            try:
                result = context.run(work)
            except BaseException as error:  # noqa: BLE001  it is raised where somebody waits for it
                done.set_exception(error)
            else:
                done.set_result(result)
            finally:
                self._leave()

        try:
            threading.Thread(target=thread, name="transom-tool", daemon=True).start()
        except BaseException:
            self._leave()
            raise
        return await asyncio.wrap_future(done)

    def _leave(self) -> None:
        """Hand a place on to who has waited longest."""
        with self._lock:
            while self._waiting:
                waiter = self._waiting.popleft()
                if waiter.set_running_or_notify_cancel():
                    break
            else:
                self._alive -= 1
                return
        waiter.set_result(None)


THREADS: Final = Threads(64)
"""Of this process: however many conversations it has, a machine has so many threads for them."""
