"""A room's own tables in a state database: plain SQL, synchronous, safe for any number of
processes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Self, TypeVar

from transom.errors import StoreError
from transom.store.cleaning import Cleaner
from transom.store.connecting import connect_for_writing
from transom.store.protocol import Connection, MigrationStep, Value
from transom.store.read_only import connect_for_reading
from transom.store.sqlite import IN_MEMORY
from transom.store.sqlite_errors import is_read_only, typed_errors
from transom.store.sqlite_words import SqliteWordIndex, creation_of
from transom.telemetry.redact import Redactor

T = TypeVar("T")
_BUSY_SECONDS = 30.0


class Tables:
    """A connection for one room. Threads may share it and take turns.

    A write returns once it is committed: it then survives `kill -9`, and other processes see it.

    Attributes:
        read_only: whether every write is refused.
        where: the database, for errors.
        cleaned: returns a text as `write` keeps it; see `RoomTables`.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        read_only: bool = False,
        redact: Redactor | None = None,
    ) -> None:
        self.read_only = read_only
        self.where = str(path)
        self.cleaned = Cleaner(redact)
        self._path = path
        self._connection = connection
        self._lock = RLock()
        self._closed = False

    @classmethod
    def open(
        cls,
        path: Path | None,
        room: str,
        steps: Sequence[MigrationStep],
        redact: Redactor | None = None,
        *,
        full_sync: bool = False,
    ) -> Self:
        """Open the database, creating it if missing, and bring the room's tables up to date.

        Args:
            path: the database file; None for a database in memory.
            room: the owner of the tables; their version is in the table `rooms`.
            steps: step i has the statements from version i to i + 1. A released step is never
                edited.
            redact: finds secrets; see `open_tables`.
            full_sync: whether every write has to survive power loss.

        Raises:
            StoreError: the file is not a state database, is newer than this code, or cannot be
                written.
        """
        location = path or IN_MEMORY
        with typed_errors(location):
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            connection = connect_for_writing(location, _BUSY_SECONDS, wal=path is not None)
        tables = cls(location, connection, redact=redact)
        try:
            connection.execute(f"PRAGMA synchronous = {'FULL' if full_sync else 'NORMAL'}")
            tables.write(lambda run: tables._upgrade(run, room, steps))
        except BaseException:
            connection.close()
            raise
        return tables

    @classmethod
    def open_for_reading(cls, path: Path | None, room: str, steps: Sequence[MigrationStep]) -> Self:
        """Open a database that is only read. It may lie where nothing can be written.

        Args:
            path: the database file; None for a database in memory. Tables of this room that it
                does not have are empty.
            room, steps: see `open`.

        Raises:
            StoreError: the file is not a state database, has another version of the room's tables,
                or cannot be read; every write raises it, too.
        """
        if path is None:
            return cls._empty(room, steps)
        with typed_errors(path):
            connection = connect_for_reading(path, _BUSY_SECONDS)
            tables = cls(path, connection, read_only=True)
            try:
                version = tables._version(connection, room, len(steps))
            except BaseException:
                connection.close()
                raise
        if version == len(steps):
            return tables
        connection.close()
        if not version:
            return cls._empty(room, steps)
        if is_read_only(path):
            raise StoreError(
                f"the tables of {room} have the older format {version}, and the workspace is"
                " read-only",
                place=str(path),
                hint="copy it, and name the copy with --workspace",
            )
        return cls.open(path, room, steps)

    @classmethod
    def _empty(cls, room: str, steps: Sequence[MigrationStep]) -> Self:
        tables = cls.open(None, room, steps)
        tables._connection.execute("PRAGMA query_only = ON")
        tables.read_only = True
        return tables

    def query(self, sql: str, values: Sequence[Value] = ()) -> list[Any]:
        """Return all rows of a statement; StoreError where it or the medium failed, or the
        tables are closed.
        """
        with self._using() as connection:
            rows: list[Any] = connection.execute(sql, values).fetchall()
            return rows

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction without other writers; its result after the commit, or a
        StoreError.
        """
        with self._using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = self.cleaned.carry_out(work, connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def word_index(self, name: str) -> SqliteWordIndex:
        """Return a full-text index; see `RoomTables`."""
        return SqliteWordIndex(self.query, name)

    def json_is_among(self, column: str, count: int) -> str:
        """Return a condition; see `RoomTables`."""
        # `->` returns JSON, so that true and "1" differ from 1.
        return f"{column} -> ('$.\"' || ? || '\"') IN ({','.join('?' * count)})"

    def json_compares(self, column: str, sign: str, *, numeric: bool) -> str:  # noqa: ARG002
        """Return a condition; see `RoomTables`. SQLite knows the types of the values."""
        return f"{column} ->> ('$.\"' || ? || '\"') {sign} ?"

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        with self._lock:
            self._closed = True
            self._connection.close()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock, typed_errors(self._path):
            if self._closed:
                raise StoreError("the tables are closed", place=str(self._path))
            yield self._connection

    def _upgrade(self, connection: Connection, room: str, steps: Sequence[MigrationStep]) -> None:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS rooms (room TEXT PRIMARY KEY, version INTEGER) WITHOUT"
            " ROWID"
        )
        for step in steps[self._version(connection, room, len(steps)) :]:
            for statement in step:
                parts = (statement,) if isinstance(statement, str) else creation_of(statement.name)
                for part in parts:
                    connection.execute(part)
        connection.execute("INSERT OR REPLACE INTO rooms VALUES (?, ?)", (room, len(steps)))

    def _version(self, connection: Connection, room: str, newest: int) -> int:
        """Return the version of the room's tables; 0 if there are none."""
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'rooms'").fetchone():
            return 0
        row = connection.execute("SELECT version FROM rooms WHERE room = ?", (room,)).fetchone()
        version = int(row[0]) if row else 0
        if version > newest:
            raise StoreError(
                f"the tables of {room} have format {version}, this version of transom reads up to"
                f" {newest}",
                place=str(self._path),
                hint="use the newer transom that wrote them, or another folder with --workspace",
            )
        return version
