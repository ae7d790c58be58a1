"""The deadlines of tool calls, watched by one timer for each event loop."""

from __future__ import annotations

import asyncio


class CallDeadlines:
    """Ends calls that take longer than they may, with one timer for all calls of an event loop.

    A timer for each call, which is cancelled when the call ends, costs more than a quick call.
    Nearly all calls end in time, so the timer of an earlier call serves the later ones, too.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._deadlines: dict[asyncio.Timeout, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, limit: asyncio.Timeout, seconds: float) -> None:
        """Let a limit that was entered without a time expire in so many seconds."""
        deadline = self._loop.time() + seconds
        self._deadlines[limit] = deadline
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._look)
        elif deadline < self._timer.when():
            self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._look)

    def end(self, limit: asyncio.Timeout) -> None:
        """Watch a limit no more: its call has ended."""
        self._deadlines.pop(limit, None)

    def _look(self) -> None:
        """Let the limits expire that are due, and set the timer for the next one."""
        now = self._loop.time()
        # A loop may call this a little early, by the resolution of its clock.
        if self._timer is not None:
            now = max(now, self._timer.when())
        self._timer = None
        for limit, deadline in list(self._deadlines.items()):
            if deadline <= now:
                del self._deadlines[limit]
                limit.reschedule(deadline)
        if self._deadlines:
            self._timer = self._loop.call_at(min(self._deadlines.values()), self._look)


_of_loops: dict[asyncio.AbstractEventLoop, CallDeadlines] = {}


def running_deadlines() -> CallDeadlines:
    """Return the deadlines of the running event loop."""
    loop = asyncio.get_running_loop()
    deadlines = _of_loops.get(loop)
    if deadlines is None:
        for other in list(_of_loops):
            if other.is_closed():
                _of_loops.pop(other, None)
        deadlines = _of_loops[loop] = CallDeadlines(loop)
    return deadlines
