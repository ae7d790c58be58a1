"""A room's own tables in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import local
from typing import Any, Self, TypeVar

from transom.errors import StoreError
from transom.store.cleaning import Cleaner
from transom.store.location import PostgresAddress
from transom.store.postgres.committer import lock_of
from transom.store.postgres.connections import (
    PostgresConnection,
    SharedPool,
    migrate,
    query,
)
from transom.store.postgres.dialect import keep_nul, translate
from transom.store.postgres.errors import typed_errors
from transom.store.postgres.full_text import PostgresWordIndex, creation_of
from transom.store.protocol import Connection, MigrationStep, StatementResult
from transom.telemetry.redact import Redactor

T = TypeVar("T")
_PATIENCE = 30.0


class _RoomConnection:
    """A connection that reads the rooms' SQL."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> StatementResult:
        return self._connection.execute(translate(sql), values)


class PostgresTables:
    """The tables of one room. Threads share its pool; see `RoomTables`.

    Attributes:
        read_only: whether every write is refused.
        where: the database, for errors.
        cleaned: returns a text as `write` keeps it; see `RoomTables`.
    """

    def __init__(
        self,
        address: PostgresAddress,
        pool: SharedPool,
        room: str,
        *,
        read_only: bool = False,
        redact: Redactor | None = None,
    ) -> None:
        self.read_only = read_only
        self.where = str(address)
        self.cleaned = Cleaner(redact)
        self._address = address
        self._shared = pool
        self._pool = pool.pool
        self._is_closed = False
        self._lock = lock_of("room", room)
        # The connection of the thread's open transaction: its queries must see what it wrote.
        self._open = local()

    @classmethod
    def open(
        cls,
        address: PostgresAddress,
        room: str,
        steps: Sequence[MigrationStep],
        *,
        read_only: bool = False,
        redact: Redactor | None = None,
    ) -> Self:
        """Connect to the database and bring the room's tables up to date; see `Tables.open`."""
        pool = SharedPool.take(address, _PATIENCE, keep_nul)
        try:
            with typed_errors(address), pool.pool.connection() as connection:
                migrate(connection, address, room, [_runner(step) for step in steps])
        except BaseException:
            pool.give_back()
            raise
        return cls(address, pool, room, read_only=read_only, redact=redact)

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with typed_errors(self._address):
            connection: PostgresConnection | None = getattr(self._open, "connection", None)
            if connection is not None:
                return connection.execute(translate(sql), values).fetchall()
            self._check_open()
            return query(self._pool, translate(sql), values)

    def write(self, work: Callable[[Connection], T]) -> T:
        if self.read_only:
            raise StoreError("the tables are read-only", place=str(self._address))
        with typed_errors(self._address):
            self._check_open()
            with self._pool.connection() as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock($1)", (self._lock,))
                self._open.connection = connection
                try:
                    return self.cleaned.carry_out(work, _RoomConnection(connection))
                finally:
                    self._open.connection = None

    def word_index(self, name: str) -> PostgresWordIndex:
        return PostgresWordIndex(self.query, name)

    def json_is_among(self, column: str, count: int) -> str:
        # `json`, unlike `jsonb`, keeps a member's text as it was written.
        return f"({column}::json -> ?::text)::text IN ({','.join('?' * count)})"

    def json_compares(self, column: str, sign: str, *, numeric: bool) -> str:
        if numeric:
            cases = (
                "WHEN 'number' THEN (member #>> '{}')::numeric"
                " WHEN 'boolean' THEN (member #>> '{}')::boolean::integer"
                " WHEN 'null' THEN NULL ELSE 'Infinity'::numeric"
            )
        else:
            # A number is less than every text.
            number = "''" if sign.startswith("<") else "NULL"
            cases = (
                f"WHEN 'null' THEN NULL WHEN 'number' THEN {number} WHEN 'boolean' THEN {number}"
                " ELSE member #>> '{}'"
            )
        member = f"SELECT {column}::json -> ?::text AS member"
        value = f"(SELECT CASE json_typeof(member) {cases} END FROM ({member}) AS found)"
        collation = "" if numeric else ' COLLATE "C"'
        return f"{value}{collation} {sign} ?"

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._shared.give_back()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError("the tables are closed", place=str(self._address))


def _runner(step: MigrationStep) -> Callable[[PostgresConnection], None]:
    """Return the function that runs a step of a room's migrations."""

    def run(connection: PostgresConnection) -> None:
        for statement in step:
            parts = (statement,) if isinstance(statement, str) else creation_of(statement.name)
            for part in parts:
                connection.execute(translate(part))

    return run
