"""The one thread that writes: whatever was handed over while a commit ran shares the next one (group commit)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from transom.errors import StoreError
from transom.store.sqlite_errors import primary_code, store_error

_GATHERING = 0.02  # seconds that a write which nobody waits for yet waits for the next one, to share its commit

Work = Callable[[sqlite3.Connection], Any]


@dataclass(slots=True)
class _Job:
    work: Work  # may be run twice: in a batch that failed, and then alone
    future: asyncio.Future[Any]
    sync: bool
    is_append: bool


@dataclass(slots=True)
class _Outcome:
    result: Any = None
    error: BaseException | None = None


class Writer:
    """Owns a connection; runs jobs in the order they were handed over, many in one transaction.

    Args:
        connection: in autocommit mode, usable from another thread; closed by the writer.
        path: the database file, for messages.
        after_append: see `SqliteStore.open`.

    Attributes:
        commits: transactions committed so far.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, after_append: Callable[[int], None] | None = None
    ) -> None:
        self.commits = 0
        self._connection = connection
        self._path = path
        self._after_append = after_append
        self._appends = 0
        self._synchronous = ""
        self._queue: SimpleQueue[list[_Job] | None] = SimpleQueue()
        self._held: list[_Job] = []
        self._timed = False
        self._door = Lock()  # so that no job can slip in behind the last one
        self._closed = False
        self._ended = False
        self._closing: list[asyncio.Future[Any]] = []
        # A daemon: a process that dies without closing must not hang; an open transaction then rolls back.
        self._thread = Thread(target=self._serve, name="transom-store", daemon=True)
        self._thread.start()

    async def submit(self, work: Work, *, sync: bool = False, is_append: bool = False) -> Any:
        """Run `work` in a transaction; returns its result after the commit. See `hand_over`."""
        return await self.hand_over(work, sync=sync, is_append=is_append)

    def hand_over(
        self, work: Work, *, sync: bool = False, is_append: bool = False, soon: bool = False
    ) -> asyncio.Future[Any]:
        """Have `work` run in a transaction, after all that was handed over before.

        Args:
            work: is given the connection, may be called again after a rollback.
            sync: the commit reaches the disk (`synchronous=FULL`) before its result is there.
            is_append: count it for `after_append`.
            soon: it may wait a moment for the next write, to share its commit.

        Returns:
            Its result after the commit; StoreError where the write failed and left nothing behind.

        Raises:
            StoreError: the store is closed.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work, loop.create_future(), sync, is_append)
        with self._door:
            if self._closed:
                raise StoreError("the store is closed", where=str(self._path))
            self._held.append(job)
            if not soon:
                self._push()
            elif not self._timed:
                self._timed = True
                loop.call_later(_GATHERING, self._time_is_up)
        return job.future

    def _push(self) -> None:
        held, self._held = self._held, []
        if held:
            self._queue.put(held)

    def _time_is_up(self) -> None:
        with self._door:
            self._timed = False
            self._push()

    async def close(self) -> None:
        """Finish the queue, then close the connection. Closing twice does no harm."""
        ended = asyncio.get_running_loop().create_future()
        with self._door:
            if not self._closed:
                self._closed = True
                self._push()
                self._queue.put(None)
            if not self._ended:
                self._closing.append(ended)
            else:
                ended.set_result(None)
        await ended  # not by a thread that joins: starting one, and ending it, costs more than the last commit
        self._thread.join()

    def _serve(self) -> None:
        try:
            while batch := self._next_batch():
                self._settle(batch, self._commit(batch))
            self._connection.close()
        finally:
            with self._door:
                self._ended = True
            for ended in self._closing:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    ended.get_loop().call_soon_threadsafe(_resolve, [(ended, _Outcome())])

    def _next_batch(self) -> list[_Job]:
        """Everything that waits, at least one job; empty once the store is closed and the queue is done."""
        batch: list[_Job] = []
        while not batch or not self._queue.empty():  # nobody else takes from it
            jobs = self._queue.get()
            if jobs is None:
                if batch:
                    self._queue.put(None)  # the end, seen while jobs were collected: meet it again afterwards
                break
            batch += jobs
        return batch

    def _commit(self, batch: Sequence[_Job]) -> list[_Outcome]:
        try:
            return [_Outcome(result) for result in self._transaction(batch)]
        except Exception as error:  # noqa: BLE001 - re-raised, typed, where the job is awaited
            if len(batch) == 1 or primary_code(error) == sqlite3.SQLITE_BUSY:
                return [_Outcome(error=store_error(error, self._path)) for _ in batch]
        # One bad write must not take its neighbours along: each gets a transaction of its own.
        return [self._commit([job])[0] for job in batch]

    def _transaction(self, batch: Sequence[_Job]) -> list[Any]:
        connection = self._connection
        synchronous = "FULL" if any([job.sync for job in batch]) else "NORMAL"  # noqa: C419  a list costs no calls
        if synchronous != self._synchronous:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = [job.work(connection) for job in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite has rolled back by itself after some errors
                connection.execute("ROLLBACK")
            raise
        self.commits += 1
        return results

    def _settle(self, batch: Sequence[_Job], outcomes: Sequence[_Outcome]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], _Outcome]]] = {}
        for job, outcome in zip(batch, outcomes, strict=True):
            if job.is_append and outcome.error is None:
                self._tell(outcome)
            by_loop.setdefault(job.future.get_loop(), []).append((job.future, outcome))
        for loop, settled in by_loop.items():
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_resolve, settled)

    def _tell(self, outcome: _Outcome) -> None:
        self._appends += 1
        if self._after_append is None:
            return
        try:
            self._after_append(self._appends)
        except BaseException as error:  # noqa: BLE001 - raised where the append is awaited
            outcome.error = error


def _resolve(settled: Sequence[tuple[asyncio.Future[Any], _Outcome]]) -> None:
    for future, outcome in settled:
        if future.done():  # cancelled while it waited
            continue
        if outcome.error is None:
            future.set_result(outcome.result)
        else:
            future.set_exception(outcome.error)
