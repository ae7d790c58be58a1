"""Connections for writing. A new database file is a copy of an empty database, which appears with
all of its tables.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from secrets import token_hex

from transom.canonical import sync_folder
from transom.errors import StoreError
from transom.store.migrations import create_tables, migrate
from transom.store.sqlite_errors import primary_code

# The two format numbers in the header of a database; 2 stands for WAL mode.
# Source: SQLite's "Database File Format", the database header.
_FORMAT_NUMBERS = slice(18, 20)
_WAL = b"\2\2"


def connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Connect in autocommit mode, for explicit transactions, and for any thread."""
    return sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )


def connect_for_writing(path: Path, busy_seconds: float, *, wal: bool = True) -> sqlite3.Connection:
    """Connect to a database, which is created if it is missing, and bring its tables up to date;
    `wal=False` for a database in memory.
    """
    if wal:
        _create_database(path)
    connection = connect(path, busy_seconds)
    try:
        if wal:
            _prepare(connection, path, busy_seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
    """Switch to WAL and bring the tables up to date.

    SQLite does not wait for a lock during the switch (it might deadlock), so processes that open a
    new database at once get a busy error; hence the retries.
    """
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise StoreError(
                    f"the file system does not support WAL (journal mode {mode})",
                    place=str(path),
                    hint="set state_dir to a folder on a local disk",
                )
            return migrate(connection, path)
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _create_database(path: Path) -> None:
    """Create a database file with all tables in WAL mode, unless it exists.

    SQLite syncs a file six times on its way from nothing to tables in WAL mode, and a process that
    is killed meanwhile leaves it half made. This syncs it once, under another name. Nothing is
    raised: if the file could not be created, SQLite tries it in its own way, and reports why not.
    """
    # SQLite deletes the log of a database that is gone. It would apply the log to a new one.
    leftovers = [f"{path}{suffix}" for suffix in ("", "-wal", "-journal")]
    if any(map(os.path.lexists, leftovers)) or not hasattr(sqlite3.Connection, "serialize"):
        return
    temporary = path.with_name(f".{path.name}.{token_hex(8)}.tmp")
    try:
        _write_synced(temporary, _empty_database())
        # A link, not a rename: another process that was first keeps its file.
        os.link(temporary, path)
        temporary.unlink()
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _write_synced(path: Path, data: bytes) -> None:
    # SQLite creates files with these rights, too.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@lru_cache(maxsize=1)
def _empty_database() -> bytes:
    """Return the file of a database with all tables and no row."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        image = bytearray(connection.serialize())
    image[_FORMAT_NUMBERS] = _WAL
    return bytes(image)
