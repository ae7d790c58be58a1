"""The store of one machine: a SQLite file in WAL mode, one writer per process, any number of
processes.
"""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from transom.canonical import Json
from transom.errors import StoreError
from transom.store.blobs import packed, sha_of
from transom.store.chains import chain_of
from transom.store.codec import check_name, checksum, decode, encode, now
from transom.store.committer import Committer, RefusingCommitter, Work
from transom.store.connecting import connect, connect_for_writing
from transom.store.protocol import (
    EVERY,
    Record,
    StreamSummary,
    Summarise,
    SummaryCount,
    SummaryFilter,
    keep_unchanged,
)
from transom.store.read_only import connect_for_reading
from transom.store.sqlite_errors import damaged, typed_errors
from transom.store.summaries import (
    FORGET,
    count_of,
    keep_summary,
    list_of,
    summarise_records,
    summary_of,
    write_summary,
)
from transom.store.writer import Writer

IN_MEMORY = Path(":memory:")
_BUSY_SECONDS = 30.0

_READ = "SELECT seq, kind, data, at, crc FROM records WHERE stream = ? AND seq > ? ORDER BY seq"
_READ_CHECKSUMS = (
    "SELECT seq, at, crc FROM records WHERE stream = ? AND seq > ? AND seq < ? ORDER BY seq"
)
_MOST_UNCOUNTED = 1024
_LAST_CHAIN = "SELECT chain FROM records WHERE stream = ? ORDER BY seq DESC LIMIT 1"
_INSERT = "INSERT INTO records (stream, kind, data, at, crc, chain) VALUES (?, ?, ?, ?, ?, ?)"
_PUT = "INSERT OR REPLACE INTO documents (name, key, value, crc) VALUES (?, ?, ?, ?)"
_PUT_BLOB = "INSERT OR IGNORE INTO blobs (sha256, zlib) VALUES (?, ?)"
_GET = "SELECT key, value, crc FROM documents WHERE name = ? AND key = ?"
# The row with the highest number is kept, empty and without a stream, so that its number is never
# reused.
_FORGET = (
    "UPDATE records SET stream = '', kind = '', data = '', at = '', crc = NULL, "
    "chain = NULL WHERE stream = :stream AND seq = (SELECT max(seq) FROM records)",
    "DELETE FROM records WHERE stream = :stream",
    "DELETE FROM records WHERE stream = '' AND seq < (SELECT max(seq) FROM records)",
)


class SqliteStore:
    """A `Store` in one SQLite file. Create it with `open`; it is an async context manager."""

    def __init__(
        self, path: Path, committer: Committer, writer: Writer, reader: sqlite3.Connection
    ) -> None:
        self._path = path
        self._committer = committer
        self._writer = writer
        self._reader = reader
        self._reading = Lock()
        self._closed = False
        # Records that this object appended, and whose summaries are still to count them, with their
        # checksums.
        self._uncounted: dict[int, tuple[int, Record]] = {}
        # The generation, the stream and the chain of the record that was appended last.
        self._newest: tuple[int, str, bytes] = (0, "", b"")

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        after_append: Callable[[int], None] | None = None,
        busy_seconds: float = _BUSY_SECONDS,
        full_sync: bool = False,
    ) -> Self:
        """Open the database file; the file and its folder are created if missing.

        Args:
            path: the database; must not lie on a network file system (see `is_network`), where WAL
                does not work.
            after_append: hook for failpoints: called with n = 1, 2, ... after the commit of this
                store's n-th append and before its caller goes on. The caller gets the exceptions
                that it raises; the record is stored.
            busy_seconds: timeout for the lock of another process.
            full_sync: whether every write has to survive power loss.

        Raises:
            StoreError: not a database, damaged, newer than this code, or not writable.
        """
        with typed_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = connect_for_writing(path, busy_seconds)
            reader = connect(path, busy_seconds)
            reader.execute("PRAGMA query_only = ON")
            committer = Committer(connection, path, busy_seconds, full_sync=full_sync)
        return cls(path, committer, Writer(committer, path, after_append), reader)

    @classmethod
    def open_for_reading(cls, path: Path | None, *, busy_seconds: float = _BUSY_SECONDS) -> Self:
        """Open a database that is only read. It may lie where nothing can be written.

        Args:
            path: the database; None for an empty one in memory.
            busy_seconds: timeout for the lock of another process.

        Raises:
            StoreError: not a database, damaged, newer than this code, or not readable; every write
                raises it, too.
        """
        location = path or IN_MEMORY
        with typed_errors(location):
            reader = connect_for_reading(path, busy_seconds)
            committer = RefusingCommitter(reader, location, busy_seconds)
        return cls(location, committer, Writer(committer, location), reader)

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
        rows = [row for blob in blobs if (row := await self._blob_row(blob))] if blobs else ()
        insertion = self._insertion(stream, kind, data, summarise, recorded_at, rows)
        number: int = await self._writer.submit(insertion, sync=sync, stream=stream)
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
        return self._records(stream, self._query(_READ, stream, after))

    def read_all(self, after: int) -> list[Record]:
        rows = self._query(
            "SELECT seq, stream, kind, data, at, crc FROM records WHERE seq > ? AND stream != ''"
            " ORDER BY seq",
            after,
        )
        return [self._record(*columns) for columns in rows]

    def last_seq(self) -> int:
        return int(self._query("SELECT coalesce(max(seq), 0) FROM records")[0][0])

    def summaries(
        self,
        only: SummaryFilter = EVERY,
        *,
        limit: int | None = None,
        offset: int = 0,
        by_stream: bool = True,
    ) -> list[StreamSummary]:
        sql, values = list_of(only, limit, offset, by_stream=by_stream)
        try:
            return [summary_of(row) for row in self._query(sql, *values)]
        except (ValueError, TypeError) as error:
            raise damaged(self._path, "a row of the table summaries") from error

    def count_summaries(self, only: SummaryFilter = EVERY) -> list[SummaryCount]:
        sql, values = count_of(only)
        return [SummaryCount(*row) for row in self._query(sql, *values)]

    async def summarise_again(self, stream: str, summarise: Summarise) -> None:
        def work(connection: sqlite3.Connection) -> None:
            records = self._records(stream, connection.execute(_READ, (stream, 0)))
            # The write lock is held, so no record can come in between.
            if summary := summarise_records(records, summarise):
                write_summary(connection, summary)

        await self._writer.submit(work)

    def changes(self) -> int:
        # It counts the commits of other connections, also those of other processes.
        return int(self._query("PRAGMA data_version")[0][0])

    def streams(self, prefix: str = "") -> list[str]:
        rows = self._query(
            "SELECT DISTINCT stream FROM records WHERE stream >= ? ORDER BY stream", prefix
        )
        return [name for (name,) in rows if name and name.startswith(prefix)]

    async def put_blob(self, data: bytes) -> str:
        if row := await self._blob_row(data):
            await self._write(_PUT_BLOB, *row)
        return sha_of(data)

    def get_blob(self, sha: str) -> bytes:
        rows = self._query("SELECT zlib FROM blobs WHERE sha256 = ?", sha)
        if not rows:
            raise StoreError(f"unknown blob {sha}", place=str(self._path))
        try:
            data = zlib.decompress(rows[0][0])
        except (zlib.error, TypeError) as error:
            raise damaged(self._path, f"blob {sha}") from error
        if sha_of(data) != sha:
            raise damaged(self._path, f"blob {sha}")
        return data

    async def put(self, table: str, key: str, value: Json) -> None:
        row = _document(table, key, value)
        await self._write(_PUT, *row)

    async def put_if_absent(self, table: str, key: str, value: Json) -> Json:
        row = _document(table, key, value)

        def claim(connection: sqlite3.Connection) -> Any:
            connection.execute(_PUT.replace("REPLACE", "IGNORE"), row)
            return connection.execute(_GET, (table, key)).fetchone()

        return self._decoded(table, *await self._writer.submit(claim))

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        row = _document(table, key, new)

        def change(connection: sqlite3.Connection) -> bool:
            present = connection.execute(_GET, (table, key)).fetchone()
            if (self._decoded(table, *present) if present else None) != old:
                return False
            connection.execute(_PUT, row)
            return True

        return bool(await self._writer.submit(change))

    def get(self, table: str, key: str) -> Json | None:
        rows = self._query(_GET, table, key)
        return self._decoded(table, *rows[0]) if rows else None

    def items(self, table: str) -> dict[str, Json]:
        rows = self._query(
            "SELECT key, value, crc FROM documents WHERE name = ? ORDER BY key", table
        )
        return {row[0]: self._decoded(table, *row) for row in rows}

    async def delete(self, table: str, key: str) -> None:
        await self._write("DELETE FROM documents WHERE name = ? AND key = ?", table, key)

    async def forget(self, stream: str, blobs: Collection[str] = ()) -> None:
        check_name(stream, "stream")

        def remove(connection: sqlite3.Connection) -> None:
            self._newest = (0, "", b"")
            for statement in _FORGET:
                connection.execute(statement, {"stream": stream})
            connection.execute(FORGET, (stream,))
            connection.executemany(
                "DELETE FROM blobs WHERE sha256 = ?", [(blob,) for blob in blobs]
            )

        await self._writer.submit(remove)

    async def close(self) -> None:
        with self._reading:
            self._closed = True
            self._reader.close()
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

    async def _blob_row(self, data: bytes) -> tuple[str, bytes] | None:
        """Return the row of a blob; None if the database has it."""
        sha = sha_of(data)
        if self._query("SELECT 1 FROM blobs WHERE sha256 = ?", sha):
            return None
        return sha, await packed(data)

    def _insertion(
        self,
        stream: str,
        kind: str,
        data: Json,
        summarise: Summarise | None,
        recorded_at: str | None,
        blob_rows: Sequence[tuple[str, bytes]] = (),
    ) -> Work:
        check_name(stream, "stream")
        check_name(kind, "kind of record")
        text, at = encode(data, stream), recorded_at or now()
        row = (stream, kind, text, at, checksum(stream, kind, text, at))

        def insert(connection: sqlite3.Connection) -> int | None:
            for blob_row in blob_rows:
                connection.execute(_PUT_BLOB, blob_row)
            chain = chain_of(self._last_chain(connection, stream), stream, kind, text, at)
            seq = connection.execute(_INSERT, (*row, chain)).lastrowid
            self._newest = self._committer.generation, stream, chain
            record = Record(seq or 0, stream, kind, data, at)
            if summarise is keep_unchanged:
                if len(self._uncounted) >= _MOST_UNCOUNTED:
                    self._uncounted.clear()
                self._uncounted[record.seq] = row[-1], record
            else:
                read = partial(self._uncounted_records, connection, record)
                keep_summary(connection, record, summarise, read)
            return seq

        return insert

    def _last_chain(self, connection: sqlite3.Connection, stream: str) -> bytes | None:
        """Return the chain of the last record of a stream, or None if it has no record."""
        generation, newest_stream, chain = self._newest
        # Nobody else has written to the database since, so no record comes after it.
        if generation == self._committer.generation and newest_stream == stream:
            return chain
        last = connection.execute(_LAST_CHAIN, (stream,)).fetchone()
        return last[0] if last else None

    def _uncounted_records(
        self, connection: sqlite3.Connection, record: Record, after: int
    ) -> list[Record]:
        """Return the records of a stream between a number and a record that was just inserted."""
        rows = connection.execute(_READ_CHECKSUMS, (record.stream, after, record.seq)).fetchall()
        records: list[Record] = []
        for seq, at, crc in rows:
            known_crc, known = self._uncounted.pop(seq, (None, None))
            # The number alone may be that of a transaction that was rolled back.
            if known is None or (known.stream, known.at, known_crc) != (record.stream, at, crc):
                return self._records(
                    record.stream, connection.execute(_READ, (record.stream, after))
                )[:-1]
            records.append(known)
        return records

    def _records(self, stream: str, rows: Iterable[Any]) -> list[Record]:
        return [self._record(seq, stream, *columns) for seq, *columns in rows]

    def _record(
        self, seq: int, stream: str, kind: str, data: str, at: str, crc: int | None
    ) -> Record:
        try:
            value = decode(data, crc, stream, kind, at)
        except (ValueError, TypeError) as error:
            # The stream is not named: it may be what was altered.
            raise damaged(self._path, f"record {seq}") from error
        return Record(seq, stream, kind, value, at)

    def _decoded(self, table: str, key: str, text: str, crc: int | None) -> Json:
        try:
            return decode(text, crc, table, key)
        except (ValueError, TypeError) as error:
            # The key is not named: it may be what was altered.
            raise damaged(self._path, f"a document of the table {table}") from error

    async def _write(self, sql: str, *values: str | bytes | int) -> None:
        def run(connection: sqlite3.Connection) -> None:
            connection.execute(sql, values)

        await self._writer.submit(run)

    def _query(self, sql: str, *values: str | int) -> list[Any]:
        with self._reading, typed_errors(self._path):
            if self._closed:
                raise StoreError("the store is closed", place=str(self._path))
            # to the end: an open cursor would pin the WAL
            return self._reader.execute(sql, values).fetchall()


def _document(table: str, key: str, value: Json) -> tuple[str, str, str, int]:
    """Return the row of a document, for `_PUT`."""
    check_name(table, "table")
    check_name(key, "key")
    text = encode(value, f"{table}/{key}")
    return table, key, text, checksum(table, key, text)
