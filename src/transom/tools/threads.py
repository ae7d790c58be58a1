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
    """Run a function in a thread, with the context's variables. A caller that stops waiting does
    not stop it.

    An executor would keep a program from ending by a call that hangs.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()
    context = copy_context()

    def thread() -> None:
        try:
            done.set_result(context.run(work))
        # would end a loop or a program
        except (StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt) as error:
            done.set_exception(RuntimeError(f"{type(error).__name__} {error}".strip()))
        except BaseException as error:  # noqa: BLE001  the caller receives it
            done.set_exception(error)

    threading.Thread(target=thread, name="transom-tool", daemon=True).start()
    return await asyncio.wrap_future(done)
