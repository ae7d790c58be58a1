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
class RateLimits:
    """Requests and tokens in one period; None for no limit."""

    requests: int | None = None
    tokens: int | None = None

    def __bool__(self) -> bool:
        return self.requests is not None or self.tokens is not None


class RateLimitStore(Protocol):
    """The part of a `Store` that a bucket needs to keep its state."""

    def get(self, table: str, key: str) -> Json | None: ...

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool: ...


class MemoryLimitStore:
    """A store that dies with the process."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], Json] = {}
        # A process may have an event loop in each of its threads.
        self._lock = threading.Lock()

    def get(self, table: str, key: str) -> Json | None:
        return self._values.get((table, key))

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        """Replace the value, if it still is `old`."""
        with self._lock:
            if self._values.get((table, key)) != old:
                return False
            self._values[table, key] = new
            return True


PROCESS = MemoryLimitStore()
"""Spending of this process outside any workspace, all agents together: a server does not
distinguish them.
"""


@dataclass(frozen=True)
class Reservation:
    """Tokens reserved in a bucket, and the number of the slot in which they are counted."""

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
    def read(cls, data: Any, current_time: float, slot: int, grace: int) -> Self:
        """Return the stored ledger, without the slots that no longer count.

        Args:
            data: the stored value, or None.
            now: seconds of the wall clock.
            slot: number of the slot of `now`.
            grace: slots that a reservation may lie ahead.
        """
        if data is None:
            return cls()
        spent = {}
        for number, requests, tokens in data["spent"]:
            # A slot far ahead was written before the clock was set back.
            if -1 - grace <= slot - number <= _SLOTS:
                spent[number] = (requests, tokens)
        until = data["until"]
        if until - current_time >= _LONGEST_HOLD:
            until = 0.0
        return cls(spent, until)

    def has_room(self, limits: RateLimits, tokens: int) -> bool:
        """Return whether there is room for one more request of that many tokens."""
        total_requests, total_tokens = 1, tokens
        for slot_requests, slot_tokens in self.spent.values():
            total_requests += slot_requests
            total_tokens += slot_tokens
        if limits.requests is not None and total_requests > limits.requests:
            return False
        return limits.tokens is None or total_tokens <= limits.tokens

    def add(self, slot: int, requests: int, tokens: int) -> _Ledger:
        """Return the ledger with so much more, or less, in a slot."""
        before_requests, before_tokens = self.spent.get(slot, (0, 0))
        # The slot may have been dropped before its reservation is settled.
        total = (max(0, before_requests + requests), max(0, before_tokens + tokens))
        return _Ledger({**self.spent, slot: total}, self.until)

    def to_json(self) -> Json:
        spent: list[Json] = [[slot, *total] for slot, total in sorted(self.spent.items())]
        return {"spent": spent, "until": self.until}


class Bucket:
    """The rate limit of one provider, for any thread and event loop.

    Requests of one event loop are served in the order in which they come. Between event loops, as
    between processes, the first that finds room is served.

    Args:
        name: of the provider.
        limits: for one period.
        store: keeps the state, so that restarts and other processes count too.
        period: seconds.
        grace: seconds that a request may be under way before it reaches the server. It counts from
            the end of them, or from its reply if that is sooner: the server counts what arrives,
            not what is sent.
        clock: seconds of the wall clock: a monotonic clock would not survive a restart.
    """

    def __init__(
        self,
        name: str,
        limits: RateLimits = RateLimits(),
        *,
        store: RateLimitStore | None = None,
        period: float = 60.0,
        grace: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._name = name
        self._limits = limits
        self._store = MemoryLimitStore() if store is None else store
        self._slot_seconds = period / _SLOTS
        self._grace = int(grace / self._slot_seconds)
        self._clock = clock
        self._locks = PerLoop(asyncio.Lock)

    async def take(self, tokens: int) -> Reservation:
        """Wait until one more request of so many tokens is allowed, and count it.

        Raises:
            RequestRefused: the request alone is above the limit.
        """
        limit = self._limits.tokens
        if limit is not None and tokens > limit:
            raise RequestRefused(
                f"one request of up to {tokens} tokens is more than the {limit} a minute that are"
                " allowed",
                place=self._name,
                hint="raise tokens_per_minute, or let the role answer in fewer tokens (max_tokens)",
            )
        # The lock queues fairly, and the first waiter holds up the others: otherwise a large
        # request would wait for ever behind small ones.
        async with self._locks.get():
            while True:
                current_time = self._clock()
                slot = self._slot(current_time) + self._grace
                data, ledger = self._load(current_time)
                if ledger.until > current_time:
                    await asyncio.sleep(min(ledger.until - current_time, self._slot_seconds))
                elif not ledger.has_room(self._limits, tokens):
                    await asyncio.sleep(self._slot_seconds)
                # Another process may have written meanwhile; then the ledger is read again.
                elif not self._limits or await self._swap(data, ledger.add(slot, 1, tokens)):
                    return Reservation(slot, tokens)

    async def settle(self, reservation: Reservation, tokens: int) -> None:
        """Replace the reservation of an answered request by the tokens that it really took.

        A request without an answer, given up or cut off, is not settled: it may still be on its
        way.
        """
        if not self._limits:
            return
        slot = reservation.slot
        end_slot = min(slot, self._slot(self._clock()))

        def settled(ledger: _Ledger) -> _Ledger:
            without = ledger.add(slot, -1, -reservation.tokens)
            return without.add(end_slot, 1, tokens)

        await self._change(settled)

    async def hold(self, seconds: float) -> None:
        """Send no request for that long: a server that asks one client to wait means all."""
        until = self._clock() + seconds
        await self._change(lambda ledger: _Ledger(ledger.spent, max(ledger.until, until)))

    async def _change(self, change: Callable[[_Ledger], _Ledger]) -> None:
        while True:
            data, ledger = self._load(self._clock())
            if await self._swap(data, change(ledger)):
                return

    def _load(self, current_time: float) -> tuple[Json | None, _Ledger]:
        """Return the stored data, and the ledger of what still counts."""
        data = self._store.get(TABLE, self._name)
        slot = self._slot(current_time)
        return data, _Ledger.read(data, current_time, slot, self._grace)

    def _slot(self, seconds: float) -> int:
        return int(seconds / self._slot_seconds)

    async def _swap(self, old: Json | None, new: _Ledger) -> bool:
        return await self._store.swap(TABLE, self._name, old, new.to_json())
