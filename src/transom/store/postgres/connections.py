"""Connections to PostgreSQL: how they are made, pooled and prepared."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, ClassVar, TypeAlias, TypeVar

import psycopg
from psycopg import RawCursor, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from transom.errors import StoreError
from transom.store.location import PostgresAddress
from transom.store.postgres.errors import lost_connection, typed_errors
from transom.store.postgres.outages import end_outage, watch_outages

T = TypeVar("T")
PostgresConnection: TypeAlias = psycopg.Connection[Any]
MOST_IDLE_SECONDS = 10
"""A process that is stopped in the middle of a transaction holds its locks, and all others would
wait for it. After this time the server ends its connection; in a pipeline, where the server does
not see that the client is idle, a process that waits for a lock ends it.
"""
Pool: TypeAlias = ConnectionPool[PostgresConnection]

MOST_CONNECTIONS = 4
"""Connections of one store or one room: threads of one process share them."""

# A network that is cut must not hold a process up for the two hours of TCP's defaults.
_OPTIONS: dict[str, str | int] = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
# Sessions of this program that wait for their client in the middle of a pipelined transaction.
_END_STOPPED = """
    SELECT application_name, pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name LIKE 'transom %' AND datname = current_database()
        AND usename = current_user AND xact_start IS NOT NULL
        AND state = 'active' AND wait_event = 'ClientRead'
        AND state_change < clock_timestamp() - $1 * interval '1 second'
"""
# any number that no other program is likely to take
_MIGRATION_LOCK = 0x7472_616E_736F_6D00

_log = logging.getLogger(__name__)


def client_name() -> str:
    """Return the name of this process for other processes: its host and its number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def connection_text(address: PostgresAddress) -> str:
    """Return the address with the limits after which a connection counts as broken."""
    chosen = conninfo_to_dict(address.url)
    missing = {name: value for name, value in _OPTIONS.items() if name not in chosen}
    return make_conninfo(address.url, **missing)


def open_pool(
    address: PostgresAddress,
    wait_seconds: float,
    configure: Callable[[PostgresConnection], None] | None = None,
) -> Pool:
    """Open a pool of connections in autocommit mode, with placeholders `$1`, `$2`, ...

    Args:
        address: the database.
        wait_seconds: seconds that a caller waits for a connection.
        configure: called with each new connection.

    Raises:
        StoreError: the database cannot be reached, or does not keep UTF-8.
    """
    with typed_errors(address):
        text = connection_text(address)
        settings: dict[str, Any] = {"autocommit": True, "cursor_factory": RawCursor}
        # The pool only says that it has no connection. This one says why.
        with psycopg.connect(text, **settings) as connection:
            _check_encoding(connection, address)

        watch_outages()

        def prepare(connection: PostgresConnection) -> None:
            end_outage()
            connection.execute(f"SET idle_in_transaction_session_timeout = '{MOST_IDLE_SECONDS}s'")
            if configure is not None:
                configure(connection)

        pool: Pool = ConnectionPool(
            text,
            kwargs=settings | {"application_name": f"transom {client_name()}"[:63]},
            min_size=1,
            max_size=MOST_CONNECTIONS,
            num_workers=1,
            configure=prepare,
            timeout=wait_seconds,
            reconnect_timeout=wait_seconds,
            open=False,
        )
        pool.open()
        return pool


class SharedPool:
    """A pool that all rooms of this process share which use one database.

    A worker has many items at work, each of which opens the playbook and the memory. With pools of
    their own they would use up the connections that a server has.
    """

    _lock = Lock()
    _pools: ClassVar[dict[str, SharedPool]] = {}

    def __init__(self, address: PostgresAddress, pool: Pool) -> None:
        self.pool = pool
        self._address = address
        self._users = 0

    @classmethod
    def take(
        cls,
        address: PostgresAddress,
        wait_seconds: float,
        configure: Callable[[PostgresConnection], None],
    ) -> SharedPool:
        """Return the pool of a database, opening it for the first user; see `open_pool`."""
        with cls._lock:
            shared = cls._pools.get(address.url)
            if shared is None:
                shared = cls(address, open_pool(address, wait_seconds, configure))
                cls._pools[address.url] = shared
            shared._users += 1
            return shared

    def give_back(self) -> None:
        """Close the pool after its last user."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                del self._pools[self._address.url]
                self.pool.close()


def _check_encoding(connection: PostgresConnection, address: PostgresAddress) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"the database keeps text as {encoding}, and Transom needs UTF8",
            place=str(address),
            hint="create another one: createdb -E UTF8 -T template0 NAME",
        )


def query(pool: Pool, statement: str, values: Sequence[Any] = ()) -> list[Any]:
    """Return all rows of a statement that only reads; it is repeated once on a new connection.

    A server that was restarted leaves broken connections in the pool, and reading twice does no
    harm.
    """
    try:
        with pool.connection() as connection:
            return connection.execute(statement, values).fetchall()
    except psycopg.OperationalError as error:
        if not lost_connection(error):
            raise
    pool.check()
    with pool.connection() as connection:
        return connection.execute(statement, values).fetchall()


def limit_waits(connection: PostgresConnection) -> None:
    """Let statements of a connection raise `LockNotAvailable` where they would wait long for a
    lock.
    """
    connection.execute(f"SET lock_timeout = '{MOST_IDLE_SECONDS}s'")


def with_locks(pool: Pool, work: Callable[[], T]) -> T:
    """Run work whose connections have `limit_waits`, again for as long as others hold its locks."""
    while True:
        try:
            return work()
        except errors.LockNotAvailable:
            end_stopped_sessions(pool)


def end_stopped_sessions(pool: Pool) -> None:
    """End the sessions of processes that stopped in the middle of a transaction."""
    for name, is_ended in query(pool, _END_STOPPED, (MOST_IDLE_SECONDS,)):
        if is_ended:
            _log.warning("%s stopped in the middle of a write, and lost its connection", name)


def migrate(
    connection: PostgresConnection,
    address: PostgresAddress,
    room: str,
    steps: Sequence[Callable[[PostgresConnection], None]],
) -> None:
    """Bring the tables of a room up to date, atomically, and safely against other processes.

    Args:
        connection: a connection in autocommit mode.
        address: the database, for errors.
        room: the owner of the tables; `rooms` has the version of each.
        steps: step i leads from version i to i + 1. A released step is never edited.

    Raises:
        StoreError: the tables are newer than this code, or belong to another program.
    """
    if version_of(connection, address, room, len(steps)) == len(steps):
        return  # the usual case, without a lock
    with connection.transaction():
        # Another process may bring large tables up to date.
        connection.execute("SET LOCAL lock_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock($1)", (_MIGRATION_LOCK,))
        connection.execute(
            'CREATE TABLE IF NOT EXISTS rooms (room TEXT COLLATE "C" PRIMARY KEY, version BIGINT)'
        )
        # again: another process may have been first
        version = version_of(connection, address, room, len(steps))
        for step in steps[version:]:
            step(connection)
        connection.execute(
            "INSERT INTO rooms VALUES ($1, $2) ON CONFLICT (room) DO UPDATE SET version = $2",
            (room, len(steps)),
        )


def version_of(
    connection: PostgresConnection, address: PostgresAddress, room: str, newest: int
) -> int:
    """Return the version of a room's tables; 0 if there are none.

    Raises:
        StoreError: they are newer than `newest`, or the schema belongs to another program.
    """
    has_rooms, has_records = connection.execute(
        "SELECT to_regclass('rooms') IS NOT NULL, to_regclass('records') IS NOT NULL"
    ).fetchall()[0]
    if not has_rooms:
        if has_records:
            raise StoreError(
                "the tables of this schema belong to another program",
                place=str(address),
                hint="use another database, or another schema: ?options=-csearch_path%3DNAME",
            )
        return 0
    rows = connection.execute("SELECT version FROM rooms WHERE room = $1", (room,)).fetchall()
    version = int(rows[0][0]) if rows else 0
    if version > newest:
        raise StoreError(
            f"the tables of {room} have format {version}, this version of transom reads up to"
            f" {newest}",
            place=str(address),
            hint="use the newer transom that wrote them, or another database",
        )
    return version
