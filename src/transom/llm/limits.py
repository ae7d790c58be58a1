"""Rate limits: requests and tokens a minute of a provider, over all processes of one workspace."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from transom.canonical import Json
from transom.errors import RequestRefused
from transom.llm.loops import PerLoop

TABLE = "buckets"
_SLOTS = 60
_LONGEST_HOLD = 3_600.0


@dataclass(frozen=True)
class Limits:
    """Requests and tokens in one period; None for no limit."""

    requests: int | None = None
    tokens: int | None = None

    def __bool__(self) -> bool:
        return self.requests is not None or self.tokens is not None


class RateLimitStore(Protocol):
    """Where a bucket keeps its state: the part of a `Store` that a bucket needs."""

    def get(self, table: str, key: str) -> Json | None: ...

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool: ...


class Memory:
    """A store that dies with the process."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Json] = {}
        self._one = threading.Lock()  # a process may have an event loop in each of its threads

    def get(self, table: str, key: str) -> Json | None:
        return self._held.get((table, key))

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        """Replace the value, if it still is `old`."""
        with self._one:
            if self._held.get((table, key)) != old:
                return False
            self._held[table, key] = new
            return True


PROCESS = Memory()
"""Spending of this process outside any workspace, all agents together: a server does not
distinguish them.
"""


@dataclass(frozen=True)
class Taken:
    """Tokens taken from a bucket, and the number of the slot in which they were taken."""

    slot: int
    tokens: int


@dataclass(frozen=True)
class _Ledger:
    """Spending, slot by slot, and the time until which no request may be sent.

    A bucket that refills drop by drop lets twice its size pass in the minute after a quiet one.
    This one looks back over a whole period instead, so no period of that length, wherever it
    begins, holds more than the limit.
    """

    spent: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    until: float = 0.0

    @classmethod
    def read(cls, data: Any, now: float, slot: int, grace: int) -> Self:
        """The stored ledger, as far as it counts now; what is far ahead was written before the
        clock was set back.
        """
        if data is None:
            return cls()
        spent = {number: (requests, used) for number, requests, used in data["spent"]}
        spent = {
            number: cost for number, cost in spent.items() if -1 - grace <= slot - number <= _SLOTS
        }
        return cls(spent, data["until"] if data["until"] - now < _LONGEST_HOLD else 0.0)

    def has_room(self, limits: Limits, tokens: int) -> bool:
        """Whether there is room for one more request of that many tokens."""
        requests = 1 + sum(requests for requests, _ in self.spent.values())
        used = tokens + sum(used for _, used in self.spent.values())
        return (limits.requests is None or requests <= limits.requests) and (
            limits.tokens is None or used <= limits.tokens
        )

    def add(self, slot: int, requests: int, tokens: int) -> _Ledger:
        """With that much more in a slot."""
        before = self.spent.get(slot, (0, 0))
        return _Ledger(
            {**self.spent, slot: (max(0, before[0] + requests), max(0, before[1] + tokens))},
            self.until,
        )

    def to_json(self) -> Json:
        return {
            "spent": [[slot, *cost] for slot, cost in sorted(self.spent.items())],
            "until": self.until,
        }


class Bucket:
    """The rate limit of one provider, for any thread and event loop.

    Who comes first is served first; between event loops, as between processes, it is who looks
    first.

    Args:
        name: of the provider.
        limits: for one period.
        store: where the state lies, usually a store, so that restarts and other processes count
            too.
        period: seconds.
        grace: seconds that a request may be under way before it reaches the server. It counts from
            the end of them, or from its reply if that is sooner: the server counts what arrives,
            not what is sent.
        clock: seconds of the wall clock: a monotonic one would not survive a restart.
    """

    def __init__(
        self,
        name: str,
        limits: Limits = Limits(),
        *,
        store: RateLimitStore | None = None,
        period: float = 60.0,
        grace: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._name = name
        self._limits = limits
        self._store = Memory() if store is None else store
        self._slot_seconds = period / _SLOTS
        self._grace = int(grace / self._slot_seconds)
        self._clock = clock
        self._doors = PerLoop(asyncio.Lock)

    async def take(self, tokens: int) -> Taken:
        """Wait until one more request of so many tokens is allowed, and count it; RequestRefused
        where it never is.
        """
        limit = self._limits.tokens
        if limit is not None and tokens > limit:
            raise RequestRefused(
                f"one request of up to {tokens} tokens is more than the {limit} a minute that are"
                " allowed",
                where=self._name,
                hint="raise tokens_per_minute, or let the role answer in fewer tokens (max_tokens)",
            )
        # the lock queues fairly: the first waiter holds up the others
        async with self._doors.get():
            while True:
                now = self._clock()
                slot, (data, held) = self._slot(now), self._look(now)
                if held.until > now or not held.has_room(self._limits, tokens):
                    wait = held.until - now if held.until > now else self._slot_seconds
                    await asyncio.sleep(min(wait, self._slot_seconds))
                elif not self._limits or await self._swap(
                    data, held.add(slot + self._grace, 1, tokens)
                ):
                    return Taken(slot + self._grace, tokens)

    async def settle(self, taken: Taken, tokens: int) -> None:
        """Replace the reservation of an answered request by the tokens that it really took.

        One without an answer, given up or cut off, is not settled: it may still be on its way.
        """
        if self._limits:
            ended = min(taken.slot, self._slot(self._clock()))
            await self._change(
                lambda held: held.add(taken.slot, -1, -taken.tokens).add(ended, 1, tokens)
            )

    async def hold(self, seconds: float) -> None:
        """Send no request for that long: a server that asks one client to wait means all."""
        until = self._clock() + seconds
        await self._change(lambda held: _Ledger(held.spent, max(held.until, until)))

    async def _change(self, change: Callable[[_Ledger], _Ledger]) -> None:
        while True:
            data, held = self._look(self._clock())
            if await self._swap(data, change(held)):
                return

    def _look(self, now: float) -> tuple[Json | None, _Ledger]:
        """The stored data, and the ledger of what still counts."""
        data = self._store.get(TABLE, self._name)
        return data, _Ledger.read(data, now, self._slot(now), self._grace)

    def _slot(self, now: float) -> int:
        return int(now / self._slot_seconds)

    async def _swap(self, old: Json | None, new: _Ledger) -> bool:
        return await self._store.swap(TABLE, self._name, old, new.to_json())
