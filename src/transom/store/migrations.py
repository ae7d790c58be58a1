"""The tables of a state database, as numbered steps. A step that was released is never edited: add the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from transom.errors import StoreError

# Statements rather than scripts: `executescript` would commit the transaction that keeps a half-done step away.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # Without AUTOINCREMENT, with which every commit writes a page more; see `_FORGET` in `sqlite`.
        """CREATE TABLE records (
            seq INTEGER PRIMARY KEY,
            stream TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, at TEXT NOT NULL
        )""",
        "CREATE INDEX records_by_stream ON records (stream, seq)",
        "CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, zlib BLOB NOT NULL)",
        """CREATE TABLE documents (
            name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)
        ) WITHOUT ROWID""",
    ),
)


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the database up to the last of `steps`, all or nothing, safely against other processes doing the same.

    Args:
        connection: in autocommit mode (`isolation_level=None`), no transaction open.
        path: the database file, for messages.
        steps: step i leads from `user_version` i to i + 1.

    Raises:
        StoreError: the database is newer than this code, or belongs to another program.
    """
    if _version(connection, path, len(steps)) == len(steps):
        return  # the usual case: no write lock taken
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path, len(steps))  # again: another process may have been first
        for step in steps[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: Path, newest: int) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > newest:
        raise StoreError(
            f"the database has format {version}, this version of transom reads up to {newest}",
            where=str(path),
            hint="use the newer transom that wrote it, or another folder with --workspace",
        )
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise StoreError(
            "this SQLite file belongs to another program",
            where=str(path),
            hint="move it away, or use another folder with --workspace",
        )
    return version
