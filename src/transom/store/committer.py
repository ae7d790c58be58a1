"""Transactions on the one writing connection."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from transom.errors import StoreError
from transom.store.sqlite_errors import (
    is_read_only,
    primary_code,
    read_only_error,
    store_error,
)

_LOG_PAGES = 256
# SQLite's write-ahead log: its header, and pages with a header each
_LOG_BYTES = 32 + _LOG_PAGES * (24 + 4096)
_ZEROS = bytes(64 * 1024)
_QUICK = 0.005  # seconds that a commit may block the event loop
PROVEN = 3
"""Number of quick commits in a row after which the next one is expected to be quick."""

Work = Callable[[Any], Any]
"""A write: called with a connection of the store's database."""


@dataclass(slots=True)
class Job:
    """A write and the future of its result."""

    work: Work  # may run twice: in a batch that failed, and then alone
    future: asyncio.Future[Any] | None  # None while the caller may commit by itself
    sync: bool
    stream: str  # stream that it appends to; "" for another write
    soon: bool = False  # the caller does not wait for it before the next write


@dataclass(slots=True)
class CommitOutcome:
    """The outcome of a job: its result or its error."""

    result: Any = None
    error: BaseException | None = None


class TransactionRunner(Protocol):
    """Commits the jobs of a `Writer`, each batch in one transaction.

    Attributes:
        commits: number of transactions so far.
        quick: number of quick commits in a row; from `PROVEN` on, the event loop may commit.
    """

    commits: int
    quick: int

    def commit(self, batch: Sequence[Job]) -> list[CommitOutcome]:
        """Commit all jobs in one transaction, or, if one fails, each in its own."""
        ...

    def commit_at_once(self, batch: Sequence[Job]) -> list[CommitOutcome] | None:
        """Do the same in the event loop; None if that would wait for another process."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


def commit_separately(
    batch: Sequence[Job], commit: Callable[[Sequence[Job]], list[CommitOutcome]]
) -> list[CommitOutcome]:
    """Commit each job of a failed batch in its own transaction, so that it affects no other.

    If an append that the caller did not wait for fails, later jobs of its stream fail too: they may
    depend on it.
    """
    broken: dict[str, CommitOutcome] = {}
    outcomes = []
    for job in batch:
        outcome = broken.get(job.stream) or commit([job])[0]
        if outcome.error and job.soon:
            broken[job.stream] = CommitOutcome(error=outcome.error)
        outcomes.append(outcome)
    return outcomes


class Committer:
    """Owns a connection and commits jobs with it. Only one thread at a time may use it.

    Args:
        connection: a connection in autocommit mode.
        path: the database file.
        busy_seconds: timeout for the lock of another process.
        full_sync: whether every transaction is synced, also where no job asks for it.

    Attributes:
        commits: number of transactions so far.
        generation: changes if the database may differ from what this connection left: when another
            connection has committed, and when a transaction was rolled back. It is right within a
            transaction.
        quick: number of the last synced transactions in a row that took less than 5 ms. It starts
            at `PROVEN`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        busy_seconds: float,
        *,
        full_sync: bool = False,
    ) -> None:
        self._full_sync = full_sync
        self.commits = 0
        self.generation = 0
        self._version = 0  # SQLite's count of the commits of other connections
        self.quick = PROVEN
        self._connection = connection
        self._path = path
        self._patience = int(busy_seconds * 1000)
        self._set: tuple[int, bool] | None = None  # current settings: busy timeout, sync
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        self._has_log = False

    def commit(self, batch: Sequence[Job]) -> list[CommitOutcome]:
        """Commit all jobs in one transaction, or, if one fails, each in its own."""
        try:
            return [CommitOutcome(result) for result in self._transaction(batch, self._patience)]
        except Exception as error:  # noqa: BLE001 - re-raised, typed, where the job is awaited
            if len(batch) == 1 or primary_code(error) == sqlite3.SQLITE_BUSY:
                return [CommitOutcome(error=store_error(error, self._path)) for _ in batch]
        return commit_separately(batch, self.commit)

    def commit_at_once(self, batch: Sequence[Job]) -> list[CommitOutcome] | None:
        """Do the same without waiting for another process; None if nothing could be done at
        once.
        """
        try:
            return [CommitOutcome(result) for result in self._transaction(batch, 0)]
        except Exception:  # noqa: BLE001 - `commit` follows, and reports it to the job that failed
            return None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _transaction(self, batch: Sequence[Job], patience: int) -> list[Any]:
        connection, began = self._connection, time.monotonic()
        sync = self._full_sync
        for job in batch:
            sync = sync or job.sync
        if self._set != (patience, sync):
            connection.execute(f"PRAGMA busy_timeout = {patience}")
            connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            self._set = patience, sync
        try:
            connection.execute("BEGIN IMMEDIATE")
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            if version != self._version:
                self._version = version
                self.generation += 1
            if sync and not self._has_log:
                self._lengthen_log()
            results = [job.work(connection) for job in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite has rolled back by itself after some errors
                connection.execute("ROLLBACK")
            self.generation += 1
            raise
        self.commits += 1
        if sync:
            self.quick = self.quick + 1 if time.monotonic() - began < _QUICK else 0
        return results

    def _lengthen_log(self) -> None:
        """Extend the write-ahead log to its full length with zeros, which SQLite takes for its end.

        A file that grew is synced in two steps, its data and its length, so it should not grow with
        every reply. No other process appends to it now, since this one holds the write lock.
        """
        self._has_log = True
        with suppress(OSError):  # a failure only makes syncs slower
            log = os.open(f"{self._path}-wal", os.O_WRONLY | os.O_CLOEXEC)
            try:
                length = os.fstat(log).st_size
                # In pieces: Linux caches what is written at once as one block, and looks at the
                # whole block for each page of a reply that is written into it later.
                for place in range(length, _LOG_BYTES, len(_ZEROS)):
                    missing = min(len(_ZEROS), _LOG_BYTES - place)
                    if os.pwrite(log, _ZEROS[:missing], place) < missing:
                        os.ftruncate(log, length)  # leave the last space on the disk to real data
                        break
            finally:
                os.close(log)


class RefusingCommitter(Committer):
    """Refuses every job: its connection is for reading only."""

    def _transaction(self, batch: Sequence[Job], patience: int) -> list[Any]:
        del batch, patience
        if is_read_only(self._path):
            raise read_only_error(self._path)
        raise StoreError(
            "the database cannot be written, it was opened for reading",
            place=str(self._path),
            hint="open it with `open`",
        )
