"""The tables of a state database, and their format version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from transom.errors import StoreError

FORMAT = 1
"""Format of these tables; the database's `user_version`."""
_TABLES = (
    # Without AUTOINCREMENT, which would write one more page per commit; see `_FORGET` in `sqlite`.
    """CREATE TABLE records (
        seq INTEGER PRIMARY KEY,
        stream TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, at TEXT NOT NULL
    )""",
    "CREATE INDEX records_by_stream ON records (stream, seq)",
    "CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, zlib BLOB NOT NULL)",
    """CREATE TABLE documents (
        name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)
    ) WITHOUT ROWID""",
    f"PRAGMA user_version = {FORMAT}",
)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables if missing, atomically, and safely against other processes that do the
    same.

    Args:
        connection: a connection in autocommit mode (`isolation_level=None`) without an open
            transaction.
        path: the database file, for errors.

    Raises:
        StoreError: the database is newer than this code, or belongs to another program.
    """
    if _version(connection) == FORMAT:
        return  # the usual case, without a write lock
    connection.execute("BEGIN IMMEDIATE")
    try:
        # again: another process may have been first
        if not check_format(connection, path):
            create_tables(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def check_format(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the database has these tables; False for an empty one.

    Raises:
        StoreError: the database is newer than this code, or belongs to another program.
    """
    version = _version(connection)
    if version > FORMAT:
        raise StoreError(
            f"the database has format {version}, this version of transom reads up to {FORMAT}",
            where=str(path),
            hint="use the newer transom that wrote it, or another folder with --workspace",
        )
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise StoreError(
            "this SQLite file belongs to another program",
            where=str(path),
            hint="move it away, or use another folder with --workspace",
        )
    return version > 0


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database."""
    for statement in _TABLES:
        connection.execute(statement)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
