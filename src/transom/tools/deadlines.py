"""The deadlines of tool calls, watched by one timer."""

from __future__ import annotations

import asyncio


class CallDeadlines:
    """Ends calls that take longer than they may, with one timer for all of them.

    A timer for each call, which is cancelled when the call ends, costs more than a quick call.
    Nearly all calls end in time, so the timer of an earlier call serves the later ones, too.
    """

    def __init__(self) -> None:
        self._deadlines: dict[asyncio.Timeout, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop that has the timer
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, limit: asyncio.Timeout, seconds: float) -> None:
        """Let a limit that was entered without a time expire in so many seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        self._deadlines[limit] = deadline
        timer = self._timer
        # The timer of a closed loop never fires.
        if timer is None or self._loop is not loop or deadline < timer.when():
            if timer is not None:
                timer.cancel()
            self._loop = loop
            self._timer = loop.call_at(deadline, self._look)

    def end(self, limit: asyncio.Timeout) -> None:
        """Watch a limit no more: its call has ended."""
        self._deadlines.pop(limit, None)

    def _look(self) -> None:
        """Let the limits expire that are due, and set the timer for the next one."""
        timer, self._timer = self._timer, None
        if timer is None or self._loop is None:
            return
        # A loop may call this a little early, by the resolution of its clock.
        now = max(timer.when(), self._loop.time())
        for limit, deadline in list(self._deadlines.items()):
            if deadline <= now:
                del self._deadlines[limit]
                limit.reschedule(deadline)
        if self._deadlines:
            self._timer = self._loop.call_at(min(self._deadlines.values()), self._look)
