"""Threads for plain handlers: one for each call; none delays the end of a program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Run a function in a thread of its own, with the context's variables.

    A caller that stops waiting does not stop the function.
    """
    # Not in an executor, which would keep a program from ending while a call hangs.
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    context = copy_context()

    def thread() -> None:
        try:
            future.set_result(context.run(work))
        # These would end a loop or a program.
        except (StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt) as error:
            future.set_exception(RuntimeError(f"{type(error).__name__} {error}".strip()))
        except BaseException as error:  # noqa: BLE001  the caller receives it
            future.set_exception(error)

    threading.Thread(target=thread, name="transom-tool", daemon=True).start()
    return await asyncio.wrap_future(future)
