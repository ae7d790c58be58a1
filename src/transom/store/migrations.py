"""The tables of a state database, and their format version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from transom.errors import StoreError

_STEPS: tuple[tuple[str, ...], ...] = (
    (
        # Without AUTOINCREMENT, which would write one more page per commit; see `_FORGET` in
        # `sqlite`.
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
    (
        # See `checksum` in `codec`. Rows of format 1 have none.
        "ALTER TABLE records ADD COLUMN crc INTEGER",
        "ALTER TABLE documents ADD COLUMN crc INTEGER",
    ),
    (
        # See `summaries`. Streams of an older format have outdated ones.
        """CREATE TABLE summaries (
        stream TEXT PRIMARY KEY, kind TEXT NOT NULL, status TEXT NOT NULL, waits TEXT NOT NULL,
        last_at TEXT NOT NULL, data TEXT NOT NULL, crc INTEGER
    ) WITHOUT ROWID""",
        "CREATE INDEX summaries_by_kind ON summaries (kind, status, waits)",
        "INSERT INTO summaries SELECT stream, '', '', '', max(at), '{}', NULL FROM records"
        " WHERE stream <> '' GROUP BY stream",
    ),
    # See `chains`. Records of older formats have none.
    ("ALTER TABLE records ADD COLUMN chain BLOB",),
)
"""Step i has the statements from format i to i + 1. A released step is never edited."""
FORMAT = len(_STEPS)
"""Format of these tables; the database's `user_version`."""
_WITH_CHECKSUMS, _WITH_SUMMARIES, _WITH_CHAINS = 2, 3, 4

_VIEW_OF_RECORDS = """CREATE TEMP VIEW records AS
    SELECT seq, stream, kind, data, at, {crc} AS crc, NULL AS chain FROM main.records"""
_VIEW_BEFORE_CHECKSUMS = """CREATE TEMP VIEW documents AS
    SELECT name, key, value, NULL AS crc FROM main.documents"""
_VIEW_BEFORE_SUMMARIES = """CREATE TEMP VIEW summaries AS
    SELECT stream, '' AS kind, '' AS status, '' AS waits, max(at) AS last_at, '{}' AS data,
    NULL AS crc
    FROM main.records WHERE stream <> '' GROUP BY stream"""


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables if missing, or bring them up to date, atomically, and safely against other
    processes that do the same.

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
        create_tables(connection, check_format(connection, path))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def check_format(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of the database's tables; 0 for an empty database.

    Raises:
        StoreError: the database is newer than this code, or belongs to another program.
    """
    version = _version(connection)
    if version > FORMAT:
        raise StoreError(
            f"the database has format {version}, this version of transom reads up to {FORMAT}",
            place=str(path),
            hint="use the newer transom that wrote it, or another folder with --workspace",
        )
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise StoreError(
            "this SQLite file belongs to another program",
            place=str(path),
            hint="move it away, or use another folder with --workspace",
        )
    return version


def create_tables(connection: sqlite3.Connection, version: int = 0) -> None:
    """Create the tables in an empty database, or bring those of an older format up to date."""
    for step in _STEPS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def show_as_newest(connection: sqlite3.Connection, version: int) -> None:
    """Show the tables of an older format as this version reads them; the database is not changed.

    A reader must not bring them up to date: the database may lie where nothing can be written.
    """
    views: list[str] = []
    if version < _WITH_CHECKSUMS:
        views.append(_VIEW_BEFORE_CHECKSUMS)
    if version < _WITH_CHAINS:
        views.append(_VIEW_OF_RECORDS.format(crc="crc" if version >= _WITH_CHECKSUMS else "NULL"))
    if version < _WITH_SUMMARIES:
        views.append(_VIEW_BEFORE_SUMMARIES)
    for statement in views:
        connection.execute(statement)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
