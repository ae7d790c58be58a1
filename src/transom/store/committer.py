"""Transactions on the one connection that writes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.errors import TransomError
from transom.store.sqlite_errors import primary_code, store_error

_LOG_PAGES = 256
_LOG_BYTES = 32 + _LOG_PAGES * (24 + 4096)  # SQLite's write-ahead log: its header, and pages with a header each
_QUICK = 0.005  # seconds that a commit may hold up the event loop
PROVEN = 3
"""Quick commits in a row, after which the next one is expected to be quick, too."""

Work = Callable[[sqlite3.Connection], Any]


@dataclass(slots=True)
class Job:
    """A write, and who waits for it."""

    work: Work  # may be run twice: in a batch that failed, and then alone
    future: asyncio.Future[Any]
    sync: bool
    stream: str  # that it appends to; "" for another write
    soon: bool = False  # nobody waits for it before the next one


@dataclass(slots=True)
class CommitOutcome:
    """What came of a job."""

    result: Any = None
    error: BaseException | None = None


class Committer:
    """Owns a connection, and commits jobs with it. One thread at a time may use it.

    Args:
        connection: in autocommit mode.
        path: the database file.
        busy_seconds: how long `commit` waits for another process.

    Attributes:
        commits: transactions committed so far.
        quick: how many synced ones, up to the last, took less than 5 ms each. A disk is trusted until it is slow.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
        self.commits = 0
        self.quick = PROVEN
        self._connection = connection
        self._path = path
        self._patience = int(busy_seconds * 1000)
        self._set: tuple[int, bool] | None = None  # how long it waits for others, and whether it syncs
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        self._has_log = False

    def commit(self, batch: Sequence[Job]) -> list[CommitOutcome]:
        """All of them in one transaction, or where one is bad each in one of its own.

        What follows an append in its stream that nobody waits for yet fails with it: it may rest on it.
        """
        try:
            return [CommitOutcome(result) for result in self._transaction(batch, self._patience)]
        except Exception as error:  # noqa: BLE001 - re-raised, typed, where the job is awaited
            if len(batch) == 1 or primary_code(error) == sqlite3.SQLITE_BUSY:
                return [CommitOutcome(error=store_error(error, self._path)) for _ in batch]
        # One bad write must not take its neighbours along: each gets a transaction of its own.
        broken: dict[str, CommitOutcome] = {}
        outcomes = []
        for job in batch:
            outcome = broken.get(job.stream) or self.commit([job])[0]
            if outcome.error and job.soon:
                broken[job.stream] = CommitOutcome(error=outcome.error)
            outcomes.append(outcome)
        return outcomes

    def commit_at_once(self, batch: Sequence[Job]) -> list[CommitOutcome] | None:
        """The same without waiting for another process; None where something was in the way and nothing was done."""
        try:
            return [CommitOutcome(result) for result in self._transaction(batch, 0)]
        except (sqlite3.Error, TransomError):  # `commit` is next, and tells what is wrong
            return None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _transaction(self, batch: Sequence[Job], patience: int) -> list[Any]:
        connection, began = self._connection, time.monotonic()
        sync = any([job.sync for job in batch])  # noqa: C419  a list costs no calls
        if self._set != (patience, sync):
            connection.execute(f"PRAGMA busy_timeout = {patience}")
            connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            self._set = patience, sync
        try:
            connection.execute("BEGIN IMMEDIATE")
            if sync and not self._has_log:
                self._lengthen_log()
            results = [job.work(connection) for job in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite has rolled back by itself after some errors
                connection.execute("ROLLBACK")
            raise
        self.commits += 1
        if sync:
            self.quick = self.quick + 1 if time.monotonic() - began < _QUICK else 0
        return results

    def _lengthen_log(self) -> None:
        """Give the write-ahead log its whole length, in zeros, which SQLite takes for its end.

        A file that grew is synced in two steps, what was written and how long it is. So it should not grow with every
        reply. Nobody else appends to it now: this process holds the write lock.
        """
        self._has_log = True
        with suppress(OSError):  # it is merely slower then
            log = os.open(f"{self._path}-wal", os.O_WRONLY | os.O_CLOEXEC)
            try:
                length = os.fstat(log).st_size
                missing = max(0, _LOG_BYTES - length)
                if os.pwrite(log, bytes(missing), length) < missing:
                    os.ftruncate(log, length)  # the last room on a disk is for what has to be kept
            finally:
                os.close(log)
