"""The end of a command that lasts: what it has opened is closed, however it is told to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from transom.cli.output import say
from transom.errors import TransomError

_NAMES = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Ending:
    """The signal that told a command to end, once it came."""

    def __init__(self) -> None:
        self._received: signal.Signals | None = None

    @property
    def is_requested(self) -> bool:
        """Whether one of the signals came."""
        return self._received is not None

    def handle(self, number: int, _: FrameType | None) -> None:
        """Interrupt the command as Ctrl-C does; a second signal must not cut the end short."""
        if self._received is None:
            self._received = signal.Signals(number)
            # An event loop cancels its task, so that `finally` blocks run, and only then raises.
            signal.raise_signal(signal.SIGINT)

    def pass_on(self) -> None:
        """End the process by the signal that it received, as its parent expects."""
        if self._received is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            signal.signal(self._received, signal.SIG_DFL)
            os.kill(os.getpid(), self._received)


@contextmanager
def orderly_end() -> Iterator[Ending]:
    """Have SIGTERM and SIGHUP raise KeyboardInterrupt in a block, and end the process after it."""
    ending = Ending()
    earlier_handlers: dict[int, Any] = {}
    if threading.current_thread() is not threading.main_thread():
        yield ending  # only the main thread receives signals
        return
    # A shell has SIGINT ignored in what a script runs in the background.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        earlier_handlers[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in _NAMES:
        number = getattr(signal, name, None)
        # `nohup` has SIGHUP ignored, and a program that runs the command may have its own handler.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            earlier_handlers[number] = signal.signal(number, ending.handle)
    try:
        yield ending
    except KeyboardInterrupt:
        if not ending.is_requested:
            raise
    except TransomError as error:
        if not ending.is_requested:
            raise
        say(f"transom: {error}")
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)
        ending.pass_on()
