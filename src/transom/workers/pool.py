"""The hands of a worker: as many as there are cores, given to the commands that have jobs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Any

from transom.workers.hands import Hand

_IDLE_SECONDS = 30.0


class HandPool:
    """Starts hands when there are jobs for them, and ends them when there are none.

    A hand reads the settings and the knowledge when it starts, so it serves one group of jobs
    only: the next command finds the files of its own day.
    """

    def __init__(self, places: int, environ: Mapping[str, str]) -> None:
        """Start with no hand.

        Args:
            places: how many jobs are done at once.
            environ: variables of the hands' environment.
        """
        self._limit = min(places, os.cpu_count() or 1)
        self._environ = dict(environ)
        self._hands: dict[str, list[Hand]] = {}
        self._idle_since: dict[Hand, float] = {}
        self._starting = asyncio.Lock()

    async def do(
        self, group: str, place: Mapping[str, Any], job: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Have a job done by a hand of its group.

        Raises:
            HandEnded: the hand ended before it answered.
        """
        # One at a time: two jobs that find no idle hand would both start one.
        async with self._starting:
            hand = await self._hand_for(group, place)
            self._idle_since.pop(hand, None)
            doing = asyncio.ensure_future(hand.do(job))
            await asyncio.sleep(0)  # so that it counts as a job of the hand
        try:
            return await doing
        except asyncio.CancelledError:
            # The job is cancelled because the worker ends, and so do all others.
            doing.cancel()
            await hand.end()
            raise
        finally:
            if not hand.jobs:
                self._idle_since[hand] = time.monotonic()

    async def _hand_for(self, group: str, place: Mapping[str, Any]) -> Hand:
        """Return the hand of a group that has least to do, or a new one."""
        hands = self._hands.setdefault(group, [])
        for ended in [hand for hand in hands if hand.has_ended]:
            hands.remove(ended)
        # A hand that is at work already costs less memory, and an idle one answers sooner.
        idle = [hand for hand in hands if not hand.jobs]
        if idle:
            return idle[0]
        if len(hands) < self._limit:
            hands.append(await Hand.start(place, **self._environ))
            return hands[-1]
        return min(hands, key=lambda hand: hand.jobs)

    async def end_idle(self, seconds: float = _IDLE_SECONDS) -> None:
        """End the hands that had nothing to do for some seconds."""
        async with self._starting:
            for group, hands in [*self._hands.items()]:
                for hand in [*hands]:
                    since = self._idle_since.get(hand)
                    if hand.jobs or since is None or time.monotonic() - since < seconds:
                        continue
                    hands.remove(hand)
                    del self._idle_since[hand]
                    await hand.end()
                if not hands:
                    del self._hands[group]

    async def close(self) -> None:
        """End all hands."""
        for hands in self._hands.values():
            for hand in hands:
                await hand.end()
