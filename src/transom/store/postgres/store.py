"""The store of many machines: a PostgreSQL database."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from transom.canonical import Json
from transom.errors import StoreError
from transom.store.blobs import packed, sha_of
from transom.store.codec import check_name, decode, encode, now
from transom.store.location import PostgresAddress
from transom.store.postgres.committer import PostgresCommitter, PostgresWork, lock_of
from transom.store.postgres.connections import (
    Pool,
    PostgresConnection,
    limit_waits,
    open_pool,
    query,
    with_locks,
)
from transom.store.postgres.dialect import translate
from transom.store.postgres.errors import typed_errors
from transom.store.postgres.leases import PostgresLease, PostgresLeases
from transom.store.postgres.migrations import prepare
from transom.store.protocol import (
    EVERY,
    Record,
    StatementResult,
    StreamSummary,
    Summarise,
    SummaryCount,
    SummaryFilter,
    keep_unchanged,
)
from transom.store.summaries import (
    FORGET,
    READ,
    count_of,
    keep_summary,
    list_of,
    reads_summary,
    summarise_records,
    summary_of,
    write_summary,
)
from transom.store.writer import Writer

PATIENCE = 30.0
"""Seconds that a call waits for a database that cannot be reached."""
_MOST_KNOWN = 1024

# The chain is that of `transom.store.chains`. The stream's lock keeps other appends away.
_INSERT = """
    INSERT INTO records (stream, kind, data, at, chain)
    SELECT $1::text, $2::text, $3::text, $4::text, sha256(
        coalesce(
            (SELECT chain FROM records WHERE stream = $1 ORDER BY seq DESC LIMIT 1), ''::bytea
        ) || convert_to($1, 'UTF8') || '\\x00'::bytea || convert_to($2, 'UTF8')
        || '\\x00'::bytea || convert_to($4, 'UTF8') || '\\x00'::bytea || convert_to($3, 'UTF8')
    )
"""
_HELD = "WHERE EXISTS (SELECT 1 FROM leases WHERE stream = $1 AND token = $5)"
_INSERT_ALWAYS = f"{_INSERT} RETURNING seq"
_INSERT_IF_HELD = f"{_INSERT} {_HELD} RETURNING seq"
_READ = "SELECT seq, kind, data, at FROM records WHERE stream = $1 AND seq > $2 ORDER BY seq"
_PUT = """
    INSERT INTO documents (name, key, value) VALUES ($1, $2, $3)
    ON CONFLICT (name, key) DO UPDATE SET value = excluded.value
"""
_PUT_BLOB = "INSERT INTO blobs (sha256, zlib) VALUES ($1, $2) ON CONFLICT DO NOTHING"
_PRESENT = "SELECT sha256 FROM blobs WHERE sha256 = ANY($1::text[])"
_CLAIM = "INSERT INTO documents (name, key, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
_GET = "SELECT value FROM documents WHERE name = $1 AND key = $2"


class _Translating:
    """A connection for the statements that both databases share."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> StatementResult:
        """Run a statement, see `Connection`."""
        return self._connection.execute(translate(sql), values)


class PostgresStore:
    """A `Store` in a PostgreSQL database. Create it with `open`; it is an async context manager."""

    def __init__(
        self,
        address: PostgresAddress,
        pool: Pool,
        after_append: Callable[[int], None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._address = address
        self._pool = pool
        committer = PostgresCommitter(pool, address, patience)
        self._writer = Writer(committer, address, after_append)
        self._leases = PostgresLeases(address, pool, self._writer)
        # Blobs that were in the database lately: they are looked for in the transaction that needs
        # them, which costs no round trip, and are not sent again.
        self._known_blobs: set[str] = set()
        self._closed = False

    @classmethod
    def open(
        cls,
        address: PostgresAddress,
        *,
        after_append: Callable[[int], None] | None = None,
        patience: float = PATIENCE,
        read_only: bool = False,
    ) -> Self:
        """Connect to the database, and create the tables if they are missing.

        Args:
            address: the database.
            after_append: hook for failpoints, see `SqliteStore.open`.
            patience: seconds that a call waits for a database that cannot be reached.
            read_only: whether the store is only read, as by a role that may do no more.

        Raises:
            StoreError: it cannot be reached, refuses the login, is newer than this code, or belongs
                to another program.
        """
        pool = open_pool(address, patience, limit_waits)
        try:
            with typed_errors(address), pool.connection() as connection:
                prepare(connection, address)
                if not read_only:
                    connection.execute(
                        "DELETE FROM writers WHERE at < clock_timestamp() - interval '30 days'"
                    )
        except BaseException:
            pool.close()
            raise
        return cls(address, pool, after_append, patience)

    @property
    def commits(self) -> int:
        """Number of transactions committed by this object."""
        return self._writer.commits

    async def append(
        self,
        stream: str,
        kind: str,
        data: Json,
        *,
        sync: bool = True,
        summarise: Summarise | None = None,
        recorded_at: str | None = None,
        blobs: Sequence[bytes] = (),
    ) -> int:
        work = self._insertion(stream, kind, data, summarise, recorded_at)
        if blobs:
            work = await self._with_blobs(work, blobs)
        number: int = await self._writer.submit(work, sync=sync, stream=stream)
        self._remember_blobs(blobs)
        return number

    def append_soon(
        self,
        stream: str,
        kind: str,
        data: Json,
        *,
        summarise: Summarise | None = None,
        recorded_at: str | None = None,
    ) -> asyncio.Future[int]:
        insertion = self._insertion(stream, kind, data, summarise, recorded_at)
        return self._writer.hand_over_soon(insertion, stream=stream)

    def read(self, stream: str, after: int = 0) -> list[Record]:
        self._writer.finish(stream)
        return _records(stream, self._query(_READ, stream, after))

    def read_all(self, after: int) -> list[Record]:
        rows = self._query(
            "SELECT seq, stream, kind, data, at FROM records WHERE seq > $1 ORDER BY seq", after
        )
        return [Record(seq, stream, kind, decode(data), at) for seq, stream, kind, data, at in rows]

    def last_seq(self) -> int:
        if self._closed:
            raise StoreError("the store is closed", place=str(self._address))
        with typed_errors(self._address):
            return with_locks(self._pool, self._last_seq)

    def _last_seq(self) -> int:
        # Transactions of several processes may end in another order than that of their numbers.
        # After the table's lock no smaller number is still to come.
        with self._pool.connection() as connection, connection.transaction():
            connection.execute("LOCK TABLE records IN SHARE MODE")
            rows = connection.execute(
                "SELECT last_value FROM records_seq_seq WHERE is_called"
            ).fetchall()
        return int(rows[0][0]) if rows else 0

    def summaries(
        self,
        only: SummaryFilter = EVERY,
        *,
        limit: int | None = None,
        offset: int = 0,
        by_stream: bool = True,
    ) -> list[StreamSummary]:
        sql, values = list_of(only, limit, offset, by_stream=by_stream)
        return [summary_of(row) for row in self._query(translate(sql), *values)]

    def count_summaries(self, only: SummaryFilter = EVERY) -> list[SummaryCount]:
        sql, values = count_of(only)
        return [SummaryCount(*row) for row in self._query(translate(sql), *values)]

    async def summarise_again(self, stream: str, summarise: Summarise) -> None:
        def work(connection: PostgresConnection) -> None:
            records = _records(stream, connection.execute(_READ, (stream, 0)).fetchall())
            if summary := summarise_records(records, summarise):
                write_summary(_Translating(connection), summary)

        await self._writer.submit(PostgresWork(work, (lock_of("stream", stream),)))

    def changes(self) -> int:
        # Each commit of an open store adds one. A store that is closed takes its number away.
        rows = self._query("SELECT coalesce(sum(number), 0) + count(*) FROM writers")
        return int(rows[0][0])

    def streams(self, prefix: str = "") -> list[str]:
        rows = self._query(
            "SELECT DISTINCT stream FROM records"
            " WHERE stream >= $1 AND starts_with(stream, $1) ORDER BY stream",
            prefix,
        )
        return [name for (name,) in rows]

    async def put_blob(self, data: bytes) -> str:
        sha = sha_of(data)
        if not self._query("SELECT 1 FROM blobs WHERE sha256 = $1", sha):
            await self._write(_PUT_BLOB, (sha, await packed(data)), lock_of("blob", sha))
        self._remember_blobs([data])
        return sha

    def get_blob(self, sha: str) -> bytes:
        rows = self._query("SELECT zlib FROM blobs WHERE sha256 = $1", sha)
        if not rows:
            raise StoreError(f"unknown blob {sha}", place=str(self._address))
        try:
            data = zlib.decompress(rows[0][0])
        except zlib.error as error:
            raise self._damaged(sha) from error
        if sha_of(data) != sha:
            raise self._damaged(sha)
        return data

    async def put(self, table: str, key: str, value: Json) -> None:
        text = _checked(table, key, value)
        await self._write(_PUT, (table, key, text), _document_lock(table, key))

    async def put_if_absent(self, table: str, key: str, value: Json) -> Json:
        text = _checked(table, key, value)

        def claim(connection: PostgresConnection) -> str:
            connection.execute(_CLAIM, (table, key, text))
            return str(connection.execute(_GET, (table, key)).fetchall()[0][0])

        work = PostgresWork(claim, (_document_lock(table, key),))
        return decode(await self._writer.submit(work))

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        text = _checked(table, key, new)

        def change(connection: PostgresConnection) -> bool:
            # The document's lock keeps every other writer away until the commit.
            rows = connection.execute(_GET, (table, key)).fetchall()
            if (decode(rows[0][0]) if rows else None) != old:
                return False
            connection.execute(_PUT, (table, key, text))
            return True

        work = PostgresWork(change, (_document_lock(table, key),))
        return bool(await self._writer.submit(work))

    def get(self, table: str, key: str) -> Json | None:
        rows = self._query(_GET, table, key)
        return decode(rows[0][0]) if rows else None

    def items(self, table: str) -> dict[str, Json]:
        rows = self._query("SELECT key, value FROM documents WHERE name = $1 ORDER BY key", table)
        return {key: decode(value) for key, value in rows}

    async def delete(self, table: str, key: str) -> None:
        await self._write(
            "DELETE FROM documents WHERE name = $1 AND key = $2",
            (table, key),
            _document_lock(table, key),
        )

    async def forget(self, stream: str, blobs: Collection[str] = ()) -> None:
        check_name(stream, "stream")
        shas = [*blobs]

        def remove(connection: PostgresConnection) -> None:
            connection.execute("DELETE FROM records WHERE stream = $1", (stream,))
            connection.execute(translate(FORGET), (stream,))
            connection.execute("DELETE FROM blobs WHERE sha256 = ANY($1::text[])", (shas,))

        locks = [lock_of("stream", stream), *(lock_of("blob", sha) for sha in shas)]
        await self._writer.submit(PostgresWork(remove, tuple(locks)))
        self._known_blobs.difference_update(shas)

    def hold(self, stream: str) -> PostgresLease | None:
        """Take the lease of a stream for this process; see `LeasingStore`."""
        return self._leases.take(stream)

    def holder_of(self, stream: str) -> str:
        """Return who holds a stream now; see `LeasingStore`."""
        return self._leases.holder_of(stream)

    def interrupt(self, stream: str) -> bool:
        """Ask the process that holds a stream to stop; see `LeasingStore`."""
        return self._leases.interrupt(stream)

    async def close(self) -> None:
        self._closed = True
        self._leases.close()
        await self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _with_blobs(self, work: PostgresWork, blobs: Sequence[bytes]) -> PostgresWork:
        """Return a write that stores blobs, too."""
        known, new = {}, {}
        for data in blobs:
            sha = sha_of(data)
            if sha in self._known_blobs:
                known[sha] = data
            else:
                new[sha] = await packed(data)

        def run(connection: PostgresConnection) -> Any:
            for row in new.items():
                connection.execute(_PUT_BLOB, row)
            present = connection.execute(_PRESENT, ([*known],)) if known else None
            result = work.run(connection)
            if present is not None:
                # Another process may have deleted a run that had the same blob.
                for sha in sorted(known.keys() - {sha for (sha,) in present.fetchall()}):
                    connection.execute(_PUT_BLOB, (sha, zlib.compress(known[sha])))
            return result

        return PostgresWork(run, (*work.locks, *(lock_of("blob", sha) for sha in new)))

    def _remember_blobs(self, blobs: Sequence[bytes]) -> None:
        if len(self._known_blobs) + len(blobs) > _MOST_KNOWN:
            self._known_blobs.clear()
        self._known_blobs.update(sha_of(data) for data in blobs)

    def _insertion(
        self,
        stream: str,
        kind: str,
        data: Json,
        summarise: Summarise | None,
        recorded_at: str | None,
    ) -> PostgresWork:
        check_name(stream, "stream")
        check_name(kind, "kind of record")
        at = recorded_at or now()
        row = (stream, kind, encode(data, stream), at)
        token = self._leases.token_of(stream)

        def read(connection: PostgresConnection, after: int) -> list[Record]:
            rows = connection.execute(_READ, (stream, after)).fetchall()
            return _records(stream, rows)[:-1]

        def insert(connection: PostgresConnection) -> int:
            if token is None:
                inserting = connection.execute(_INSERT_ALWAYS, row)
            else:
                inserting = connection.execute(_INSERT_IF_HELD, (*row, token))
            # The server answers both in one round trip.
            shared = _Translating(connection)
            reading = shared.execute(READ, (stream,)) if reads_summary(summarise) else None
            rows = inserting.fetchall()
            if not rows:
                raise self._leases.lost(stream)
            seq = int(rows[0][0])
            if summarise is not keep_unchanged:
                record = Record(seq, stream, kind, data, at)
                keep_summary(shared, record, summarise, partial(read, connection), reading)
            return seq

        return PostgresWork(insert, (lock_of("stream", stream),))

    async def _write(self, statement: str, values: tuple[str | bytes, ...], lock: int) -> None:
        def run(connection: PostgresConnection) -> None:
            connection.execute(statement, values)

        await self._writer.submit(PostgresWork(run, (lock,)))

    def _query(self, statement: str, *values: str | int) -> list[Any]:
        if self._closed:
            raise StoreError("the store is closed", place=str(self._address))
        # Nothing has such a name, and PostgreSQL refuses to look for it.
        if any(isinstance(value, str) and "\0" in value for value in values):
            return []
        with typed_errors(self._address):
            return query(self._pool, statement, values)

    def _damaged(self, sha: str) -> StoreError:
        return StoreError(
            f"blob {sha} is damaged",
            place=str(self._address),
            hint="look into PostgreSQL's log, and restore the database from a backup",
        )


def _records(stream: str, rows: Iterable[Any]) -> list[Record]:
    """Return the records in rows of `_READ`."""
    return [Record(seq, stream, kind, decode(data), at) for seq, kind, data, at in rows]


def _document_lock(table: str, key: str) -> int:
    return lock_of("document", table, key)


def _checked(table: str, key: str, value: Json) -> str:
    check_name(table, "table")
    check_name(key, "key")
    return encode(value, f"{table}/{key}")
