"""A purse that the runs of many processes share: its balance is kept in their database.

Each run writes one document, the dollars of all its replies, which only the holder of the run's
lease changes. One more document, the ledger, has the calls under way. It is replaced as a whole,
and only if nobody changed it meanwhile, so two processes never reserve the same dollar.

A process that dies leaves its reservations. Once another process can take its run over, they count
as spent: the server may have billed the calls, and no journal has their replies.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, TypeAlias

from transom.canonical import Json
from transom.errors import StoreError
from transom.llm.prices import Prices
from transom.llm.purse import Estimate, Purse, PurseBalance
from transom.llm.reply import Usage
from transom.store import Store

PURSES = "purse/"
"""What the names of the tables of all purses begin with."""
_LEDGER = "ledger"
_LOOK_SECONDS = 2.0  # between two looks for reservations of dead processes
_POLL_SECONDS = 0.25

_log = logging.getLogger(__name__)

_Calls: TypeAlias = dict[str, dict[str, Any]]


class PurseStore(Protocol):
    """The part of a `LeasingStore` that keeps a purse."""

    def get(self, table: str, key: str) -> Json | None: ...

    def items(self, table: str) -> dict[str, Json]: ...

    async def put(self, table: str, key: str, value: Json) -> None: ...

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool: ...

    def holder_of(self, stream: str) -> str: ...


class SharedPurse(Purse):
    """What one run spends from a purse that it shares with runs of other processes.

    Its limit is in dollars. A call waits until its estimate fits beside those of all processes;
    between processes, the first that finds room goes ahead.

    Args:
        store: the database.
        name: the purse's name.
        run_id: the run, whose lease this process holds.
        usd, prices, free: see `Purse`.
    """

    def __init__(
        self,
        store: PurseStore,
        name: str,
        run_id: str,
        *,
        usd: float,
        prices: Prices | None = None,
        free: Iterable[str] = (),
    ) -> None:
        super().__init__(usd=usd, prices=prices, free=free)
        self._store, self._table, self._run_id = store, f"{PURSES}{name}", run_id
        self._holder = ""
        self._tickets: defaultdict[Estimate, list[str]] = defaultdict(list)
        self._ended: list[str] = []
        self._published = (0.0, "")  # dollars, and who gave a reply of unknown cost
        self._publishing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def like(cls, purse: Purse, store: PurseStore, name: str, run_id: str) -> Self:
        """Return the purse of a run with the limit and the prices of another one.

        Args:
            purse: has a limit in dollars.
            store, name, run_id: see above.
        """
        assert purse.usd is not None
        return cls(store, name, run_id, usd=purse.usd, prices=purse.prices, free=purse.free)

    def take_in(self, account: Hashable, replies: Sequence[tuple[str, Usage]]) -> None:
        super().take_in(account, replies)
        # What a run spent before it was opened counts for the others, too.
        if self._is_news:
            self._publish_soon()

    async def reserve(self, estimate: Estimate) -> None:
        looked_at = time.monotonic()
        while True:
            await self._publish()
            ledger, shared = self._shared_balance()
            if shared.fits(estimate, None, self.usd):
                ticket = secrets.token_hex(6)
                self._holder = self._holder or self._store.holder_of(f"run/{self._run_id}")
                call = {"run": self._run_id, "holder": self._holder, "usd": estimate.usd}
                calls = {**_calls_of(ledger), ticket: call}
                try:
                    is_reserved = await self._swap(ledger, {"calls": calls})
                except BaseException:
                    # Nobody knows whether it is in the ledger.
                    self._ended.append(ticket)
                    self._publish_soon()
                    raise
                if is_reserved:
                    self._tickets[estimate].append(ticket)
                    return
                continue
            if time.monotonic() - looked_at >= _LOOK_SECONDS:
                looked_at = time.monotonic()
                await self._count_lost(ledger)
            await asyncio.sleep(_POLL_SECONDS)

    def release(self, estimate: Estimate) -> None:
        self._ended.append(self._tickets[estimate].pop())
        self._publish_soon()

    def check(self) -> None:
        self._shared_balance()[1].check(None, self.usd)

    # -- the database ------------------------------------------------------------------------------

    def _shared_balance(self) -> tuple[Any, PurseBalance]:
        """Return the ledger, and the balance of all runs.

        The ledger is read first. If a call ends between the two reads, it counts twice, and the
        ledger is another one when it is to be replaced.
        """
        ledger: Any = self._store.get(self._table, _LEDGER)
        shared = PurseBalance()
        if ledger is not None:
            shared.dearest = Estimate(0, ledger["dearest"])
            shared.unpriced = ledger["unpriced"]
        for key, usd in self._store.items(self._table).items():
            if key != _LEDGER:
                shared.usd += float(usd)  # type: ignore[arg-type]  # written by `_publish`
        for call in _calls_of(ledger).values():
            if not call.get("lost"):
                shared.under_way.append(Estimate(0, call["usd"]))
            elif call["usd"] != 0:
                # As for calls under way, the dearest reply so far is the least that counts.
                shared.usd += max(call["usd"] or 0.0, _dearest_of(ledger))
        return ledger, shared

    @property
    def _is_news(self) -> bool:
        return (self.balance.usd, self.balance.unpriced) != self._published

    def _publish_soon(self) -> None:
        task = asyncio.get_running_loop().create_task(self._publish())
        self._tasks.add(task)
        task.add_done_callback(self._note_published)

    def _note_published(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # The next reservation tries it again, and raises the error if it stays so.
        if not task.cancelled() and isinstance(task.exception(), StoreError):
            _log.warning("the purse was not told what a call cost: %s", task.exception())

    async def _publish(self) -> None:
        """Tell the others what this run has spent, and which of its calls have ended."""
        async with self._publishing:
            balance, ended = replace(self.balance), [*self._ended]
            if not self._is_news and not ended:
                return
            # In this order: a call that waits must never see the sum without either.
            await self._store.put(self._table, self._run_id, balance.usd)

            def without_ended(ledger: Any) -> dict[str, Json]:
                calls = _calls_of(ledger)
                for ticket in ended:
                    calls.pop(ticket, None)
                # `dict` is invariant for mypy.
                changed: dict[str, Any] = {"calls": calls}
                changed["dearest"] = max(_dearest_of(ledger), balance.dearest.usd or 0.0)
                changed["unpriced"] = (ledger or {}).get("unpriced", "") or balance.unpriced
                return changed

            await self._change(without_ended)
            self._published = (balance.usd, balance.unpriced)
            for ticket in ended:
                self._ended.remove(ticket)

    async def _count_lost(self, ledger: Any) -> None:
        """Count calls as spent whose process no longer holds their run."""
        lost: list[str] = []
        for ticket, call in _calls_of(ledger).items():
            if call.get("lost"):
                continue
            holder = self._store.holder_of(f"run/{call['run']}")
            if not holder or holder != call["holder"]:
                lost.append(ticket)
        if not lost:
            return

        def with_lost(ledger: Any) -> dict[str, Json]:
            calls = _calls_of(ledger)
            for ticket in lost:
                # It may have ended meanwhile.
                if ticket in calls:
                    calls[ticket] = {**calls[ticket], "lost": True}
            changed: dict[str, Any] = {"calls": calls}
            return changed

        await self._change(with_lost)
        _log.warning("%d calls of processes that ended count as spent", len(lost))

    async def _change(self, change: Callable[[Any], dict[str, Json]]) -> None:
        while True:
            ledger: Any = self._store.get(self._table, _LEDGER)
            if await self._swap(ledger, change(ledger)):
                return

    async def _swap(self, ledger: Any, changes: dict[str, Any]) -> bool:
        """Replace the ledger, if nobody did meanwhile; its number tells it from an earlier one."""
        old = ledger or {"calls": {}, "dearest": 0.0, "unpriced": "", "number": 0}
        new = {**old, **changes, "number": old["number"] + 1}
        return await self._store.swap(self._table, _LEDGER, ledger, new)


async def forget_purse(store: Store, name: str) -> None:
    """Remove a purse that no run spends from any more."""
    table = f"{PURSES}{name}"
    for key in store.items(table):
        await store.delete(table, key)


def _calls_of(ledger: Any) -> _Calls:
    return {**ledger["calls"]} if ledger else {}


def _dearest_of(ledger: Any) -> float:
    return float(ledger["dearest"]) if ledger else 0.0
