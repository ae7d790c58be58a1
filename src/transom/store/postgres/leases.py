"""Leases of streams: a worker holds a run while it renews the lease, and nobody else writes to it.

A lease has a token, which grows each time the stream is taken. Every append of a holder carries its
token, and the database refuses another one. So a worker that was paused, or cut off from the
network, cannot write once another has taken its run over, however late it wakes up.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
from threading import Event, Lock, Thread
from typing import Any

import psycopg

from transom.errors import StoreError
from transom.store.location import PostgresAddress
from transom.store.postgres.committer import PostgresWork, lock_of
from transom.store.postgres.connections import (
    Pool,
    PostgresConnection,
    client_name,
    query,
    with_locks,
)
from transom.store.postgres.errors import typed_errors
from transom.store.writer import Writer

LEASE_SECONDS = 10.0
"""Seconds after the last renewal from which on another process may take the stream."""
HEARTBEAT_SECONDS = 2.0

_log = logging.getLogger(__name__)

# All times are the server's: clocks of workers may differ.
_TAKE = """
    INSERT INTO leases (stream, token, holder, renewed_at)
    VALUES ($1, 1, $2, clock_timestamp())
    ON CONFLICT (stream) DO UPDATE
        SET token = leases.token + 1, holder = $2, renewed_at = clock_timestamp(), stops = FALSE
        WHERE leases.holder IN ('', $2)
            OR leases.renewed_at < clock_timestamp() - $3 * interval '1 second'
    RETURNING token
"""
_HOLDER = """
    SELECT holder FROM leases
    WHERE stream = $1 AND renewed_at >= clock_timestamp() - $2 * interval '1 second'
"""
_RENEW = """
    UPDATE leases SET renewed_at = clock_timestamp()
    FROM unnest($1::text[], $2::bigint[]) AS held (stream, token)
    WHERE leases.stream = held.stream AND leases.token = held.token
    RETURNING leases.stream, leases.token, leases.stops
"""
_STOP = """
    UPDATE leases SET stops = TRUE
    WHERE stream = $1 AND holder NOT IN ('', $2)
        AND renewed_at >= clock_timestamp() - $3 * interval '1 second'
    RETURNING holder
"""
_FREE = "UPDATE leases SET holder = '' WHERE stream = $1 AND token = $2"


class PostgresLease:
    """The right of this process to write to a stream. It is renewed until it is released."""

    def __init__(self, leases: PostgresLeases, stream: str, token: int) -> None:
        self.stream = stream
        self.token = token
        self.is_ended = False
        self._leases = leases

    def release(self) -> None:
        """Free the stream after the writes that were begun; may be called twice."""
        self._leases.release(self)


class PostgresLeases:
    """The leases of one store, renewed by one thread."""

    def __init__(self, address: PostgresAddress, pool: Pool, writer: Writer) -> None:
        self._address = address
        self._pool = pool
        self._writer = writer
        # A process may have several stores, which do not share their leases.
        self._name = f"{client_name()}/{secrets.token_hex(4)}"
        self._leases: dict[str, PostgresLease] = {}
        # Released here; the database may not know it yet.
        self._released: dict[str, int] = {}
        self._lock = Lock()
        self._end = Event()
        self._thread: Thread | None = None

    def take(self, stream: str) -> PostgresLease | None:
        """Take the lease of a stream; None if another process holds it, or this one does."""
        with self._lock:
            if stream in self._leases:
                return None
            token = self._released.pop(stream, None)
        if token is None:
            with typed_errors(self._address):
                token = with_locks(self._pool, lambda: self._token_from_database(stream))
        if token is None:
            return None
        lease = PostgresLease(self, stream, token)
        with self._lock:
            self._leases[stream] = lease
            if self._thread is None:
                self._thread = Thread(target=self._renew, name="transom-leases", daemon=True)
                self._thread.start()
        return lease

    def _token_from_database(self, stream: str) -> int | None:
        with (
            self._pool.connection() as connection,
            connection.pipeline(),
            connection.transaction(),
        ):
            # Appends take this lock, too: none of an earlier holder is half done.
            connection.execute("SELECT pg_advisory_xact_lock($1)", (lock_of("stream", stream),))
            rows = connection.execute(_TAKE, (stream, self._name, LEASE_SECONDS)).fetchall()
        return int(rows[0][0]) if rows else None

    def holder_of(self, stream: str) -> str:
        """Return the name of the process that holds a stream now; "" if none does."""
        with typed_errors(self._address):
            rows = query(self._pool, _HOLDER, (stream, LEASE_SECONDS))
        return str(rows[0][0]).rpartition("/")[0] if rows else ""

    def interrupt(self, stream: str) -> bool:
        """Ask the process that holds a stream to stop; False if no other process holds it."""
        with typed_errors(self._address):
            return bool(query(self._pool, _STOP, (stream, self._name, LEASE_SECONDS)))

    def token_of(self, stream: str) -> int | None:
        """Return the token that appends to a stream must carry; None for a stream not held."""
        lease = self._leases.get(stream)
        return lease.token if lease else self._released.get(stream)

    def lost(self, stream: str) -> StoreError:
        """Return the error of an append to a stream that another process has taken."""
        holder = self.holder_of(stream)
        return StoreError(
            f"{holder or 'another process'} has taken {stream} over, because this process did not"
            f" renew its lease for {LEASE_SECONDS:.0f} s",
            place=str(self._address),
            hint="nothing is lost: the other process goes on with it",
        )

    def release(self, lease: PostgresLease) -> None:
        """Free a stream, after the writes that were handed over before."""
        with self._lock:
            if self._leases.get(lease.stream) is not lease:
                return
            del self._leases[lease.stream]
            self._released[lease.stream] = lease.token
        work = PostgresWork(
            lambda connection: self._free(connection, lease), (lock_of("stream", lease.stream),)
        )
        try:
            asyncio.get_running_loop()
            future = self._writer.hand_over_soon(work)
        except (RuntimeError, StoreError):  # no loop runs, or the store is closed
            self._free_at_once(lease)
        else:
            future.add_done_callback(_ignore_error)

    def _free(self, connection: PostgresConnection, lease: PostgresLease) -> None:
        # This process may have taken it again meanwhile, with the same token. No lock is held while
        # the database works: `take` and the thread that commits would wait for each other.
        with self._lock:
            if self._released.get(lease.stream) == lease.token:
                del self._released[lease.stream]
                lease.is_ended = True
        if lease.is_ended:  # also when the transaction is repeated
            connection.execute(_FREE, (lease.stream, lease.token))

    def _free_at_once(self, lease: PostgresLease) -> None:
        try:
            with self._pool.connection(timeout=1.0) as connection:
                self._free(connection, lease)
        except psycopg.Error as error:
            _log.warning("the lease of %s is not freed, and expires: %s", lease.stream, error)

    def close(self) -> None:
        """Release all leases and end the thread."""
        for lease in [*self._leases.values()]:
            lease.release()
        self._end.set()
        if self._thread:
            self._thread.join(timeout=1.0)  # a renewal may wait for a database that is away

    def _renew(self) -> None:
        # A second signal would end the process without the time to note where it was.
        interrupted: set[tuple[str, int]] = set()
        while not self._end.wait(HEARTBEAT_SECONDS):
            with self._lock:
                leases = [*self._leases.values()]
            if not leases:
                continue
            streams, tokens = [lease.stream for lease in leases], [lease.token for lease in leases]
            try:
                rows = query(self._pool, _RENEW, (streams, tokens))
            except psycopg.Error as error:
                if self._end.is_set():
                    return
                # An append says more if it stays so. The lease lasts over some failed renewals.
                _log.warning("the leases of %d runs are not renewed: %s", len(leases), error)
                continue
            renewed = {stream for stream, _, _ in rows}
            stopped = {(stream, token) for stream, token, stops in rows if stops} - interrupted
            interrupted |= stopped
            for stream, _ in sorted(stopped):
                _log.warning("%s: another process asks this one to stop", stream)
            if stopped:
                # As Ctrl-C does: the main thread ends its work, and the runs can be resumed.
                os.kill(os.getpid(), signal.SIGINT)
            for stream in sorted({*streams} - renewed):
                _log.warning("%s: another process has taken it over", stream)


def _ignore_error(future: asyncio.Future[Any]) -> None:
    """Retrieve the error of a release, which needs no answer: the lease expires."""
    if error := future.exception():
        _log.warning("a lease is not freed, and expires: %s", error)
