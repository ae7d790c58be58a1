"""Lines that tell a person that something takes long, so that silence is not taken for a hang."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

FIRST = 15.0
"""Seconds of silence before the first line; each further line comes after twice the time."""

LONGEST = 300.0
"""Seconds between two lines, at most."""


class Waiting:
    """Something that is waited for: a reply of a model, the next item of a batch.

    Args:
        line: makes the line for a person of the whole seconds that the silence has lasted.
    """

    __slots__ = ("began", "due", "line")

    def __init__(self, line: Callable[[int], str]) -> None:
        self.line = line
        self.began = time.monotonic()
        self.due = self.began + FIRST

    def restart(self, *_: object) -> None:
        """Begin to count anew: something was heard. Takes any argument, so that it can listen."""
        self.began = time.monotonic()
        self.due = self.began + FIRST


class SilenceWatch:
    """Tells a person of what is silent for 15 s, and then now and then.

    One timer watches all that is waited for, so that a quick reply costs no timer of its own.

    Attributes:
        tell: shows a line to a person.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self._waiting: set[Waiting] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop that has the timer

    def begin(self, line: Callable[[int], str]) -> Waiting:
        """Watch something until `end`; for `line` see `Waiting`."""
        waiting = Waiting(line)
        self._waiting.add(waiting)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # the timer of a closed loop never fires
            self._loop = loop
            loop.call_later(FIRST, self._look)
        return waiting

    def end(self, waiting: Waiting) -> None:
        """Watch it no more."""
        self._waiting.discard(waiting)

    def _look(self) -> None:
        now = time.monotonic()
        for waiting in self._waiting:
            if waiting.due <= now:
                silent = now - waiting.began
                # Each line comes after twice the silence of the one before it.
                self.tell(waiting.line(round(silent)))
                waiting.due = now + min(max(silent, FIRST), LONGEST)
        if self._waiting and self._loop:
            next_due = min(waiting.due for waiting in self._waiting)
            self._loop.call_later(max(0.0, next_due - now), self._look)
        else:
            self._loop = None
