"""The tables of a store in PostgreSQL. A released step is never edited; changes are new steps."""

from __future__ import annotations

from transom.store.location import PostgresAddress
from transom.store.postgres.connections import PostgresConnection, migrate

ROOM = "store"

# Text is compared by its bytes (COLLATE "C"), as SQLite and Python do.
_TABLES = (
    # JSON stays text: `jsonb` takes no NUL, and would not keep the order of keys.
    """CREATE TABLE records (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        stream TEXT COLLATE "C" NOT NULL, kind TEXT COLLATE "C" NOT NULL,
        data TEXT NOT NULL, at TEXT COLLATE "C" NOT NULL
    )""",
    "CREATE INDEX records_by_stream ON records (stream, seq)",
    'CREATE TABLE blobs (sha256 TEXT COLLATE "C" PRIMARY KEY, zlib BYTEA NOT NULL)',
    # compressed already
    "ALTER TABLE blobs ALTER COLUMN zlib SET STORAGE EXTERNAL",
    """CREATE TABLE documents (
        name TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (name, key)
    )""",
    # The last transaction of each open store. It is overwritten with every commit.
    """CREATE TABLE writers (
        writer TEXT PRIMARY KEY, number BIGINT NOT NULL,
        at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
    ) WITH (fillfactor = 50)""",
    """CREATE TABLE leases (
        stream TEXT COLLATE "C" PRIMARY KEY, token BIGINT NOT NULL, holder TEXT NOT NULL,
        renewed_at TIMESTAMPTZ NOT NULL
    )""",
)


def _first(connection: PostgresConnection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


_STEPS = (_first,)
FORMAT = len(_STEPS)
"""The format of these tables."""


def prepare(connection: PostgresConnection, address: PostgresAddress) -> None:
    """Create the store's tables if they are missing, and bring older ones up to date.

    Raises:
        StoreError: they are newer than this code, or belong to another program.
    """
    migrate(connection, address, ROOM, _STEPS)
