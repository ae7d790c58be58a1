"""Transactions on PostgreSQL, each committed once whatever happens to the connection."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg import errors

from transom.store.committer import CommitOutcome, Job, commit_separately
from transom.store.location import PostgresAddress
from transom.store.postgres.connections import Pool, PostgresConnection, end_stopped_sessions
from transom.store.postgres.errors import lost_connection, store_error

# Locks are numbers of the whole database. A batch takes at most as many as there are buckets.
_FIRST_LOCK = 0x7472_616E_736F_7000
_BUCKETS = 1024
_PAUSE = 0.1  # seconds between two attempts

# The row says which transaction of this writer was the last. It tells whether a commit took effect
# whose connection broke before the answer. Numbers of PostgreSQL's own transactions do not: after a
# crash of the server they are given again.
_BEGIN = """
    WITH marked AS (
        INSERT INTO writers (writer, number) VALUES ($1, $2)
        ON CONFLICT (writer) DO UPDATE SET number = excluded.number
    )
    SELECT count(pg_advisory_xact_lock(key)) FROM unnest($3::bigint[]) AS key
"""
# It waits for a transaction of the broken connection that the server has not ended yet.
_LAST = """
    INSERT INTO writers (writer, number) VALUES ($1, 0)
    ON CONFLICT (writer) DO UPDATE SET number = writers.number RETURNING number
"""


def lock_of(*names: str) -> int:
    """Return the lock of a stream, a document or a blob: a number of the database."""
    value = hashlib.blake2b("\0".join(names).encode(), digest_size=8).digest()
    return _FIRST_LOCK + int.from_bytes(value) % _BUCKETS


def _locks_of(batch: Sequence[Job]) -> list[int]:
    locks: set[int] = set()
    for job in batch:
        locks.update(cast("PostgresWork", job.work).locks)
    return sorted(locks)


@dataclass(frozen=True)
class PostgresWork:
    """A write and the locks of all that it changes.

    A batch takes the locks of all its writes in one order before the first write. So no two
    processes wait for each other, and the records of a stream are committed in the order of their
    numbers: a reader that asks for those after a number misses none.
    """

    run: Callable[[PostgresConnection], Any]
    locks: tuple[int, ...]

    def __call__(self, connection: PostgresConnection) -> Any:
        return self.run(connection)


class PostgresCommitter:
    """Commits jobs with connections of a pool. Their work must be `PostgresWork`.

    Every commit is synced as the server's `synchronous_commit` says, also where a job does not ask
    for it: unlike a process of this machine, the server may crash at any time.

    Args:
        pool: the connections.
        address: the database, for errors.
        patience: seconds after which a commit gives up if the database cannot be reached.
    """

    def __init__(self, pool: Pool, address: PostgresAddress, patience: float) -> None:
        self.commits = 0
        self.quick = 0  # a network must not hold the event loop up, so the thread commits always
        self._pool = pool
        self._address = address
        self._patience = patience
        self._writer = secrets.token_hex(8)
        self._number = 0

    def commit(self, batch: Sequence[Job]) -> list[CommitOutcome]:
        """Commit all jobs in one transaction, or, if one fails, each in its own."""
        try:
            return [CommitOutcome(result) for result in self._commit_once(batch)]
        except Exception as error:  # noqa: BLE001 - re-raised, typed, where the job is awaited
            if len(batch) == 1 or lost_connection(error):
                return [CommitOutcome(error=self._typed(error)) for _ in batch]
        return commit_separately(batch, self.commit)

    def commit_at_once(self, batch: Sequence[Job]) -> None:
        """Leave the batch to the thread."""

    def close(self) -> None:
        """Remove the writer's row and close the pool."""
        try:
            if self._number:
                with self._pool.connection(timeout=1.0) as connection:
                    connection.execute("DELETE FROM writers WHERE writer = $1", (self._writer,))
        except psycopg.Error:
            pass  # the row is removed later, when it is old
        finally:
            self._pool.close()

    def _commit_once(self, batch: Sequence[Job]) -> list[Any]:
        """Commit the batch; after a broken connection try again, unless it was committed."""
        deadline = time.monotonic() + self._patience
        self._number += 1
        locks = _locks_of(batch)
        results: list[Any] = []
        while True:
            try:
                if results and self._last_number() == self._number:
                    break
                results.clear()
                self._run(batch, locks, results)
                break
            except errors.LockNotAvailable:
                # Others are at work for long, or a process stopped while it held the lock.
                end_stopped_sessions(self._pool)
                continue
            except (psycopg.OperationalError, errors.SerializationFailure) as error:
                is_temporary = lost_connection(error) or isinstance(
                    error, errors.SerializationFailure | errors.DeadlockDetected
                )
                if not is_temporary or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)
            self._pool.check()
        self.commits += 1
        return results

    def _run(self, batch: Sequence[Job], locks: Sequence[int], results: list[Any]) -> None:
        with (
            self._pool.connection() as connection,
            # Statements are sent without waiting for the answers of those before them.
            connection.pipeline(),
            connection.transaction(),
        ):
            connection.execute(_BEGIN, (self._writer, self._number, locks))
            for job in batch:
                results.append(job.work(connection))

    def _last_number(self) -> int:
        with self._pool.connection() as connection:
            row = connection.execute(_LAST, (self._writer,)).fetchone()
        return int(row[0]) if row else 0

    def _typed(self, error: Exception) -> Exception:
        is_typed = not isinstance(error, psycopg.Error | UnicodeEncodeError)
        return error if is_typed else store_error(error, self._address)
