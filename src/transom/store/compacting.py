"""Gives the space of deleted rows back to the disk."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from transom.store.connecting import connect_for_writing
from transom.store.sqlite_errors import typed_errors

_BUSY_SECONDS: Final = 5.0
_LEAST_SHARE: Final = 0.1
"""A database is written anew only if at least this share of it is free."""


@dataclass(frozen=True)
class DatabaseSize:
    """The bytes of a database and its log, before and after it was written anew."""

    before: int
    after: int


def compact(path: Path, *, busy_seconds: float = _BUSY_SECONDS) -> DatabaseSize | None:
    """Write a database anew without its free pages; the store must be closed.

    Args:
        path: the database file.
        busy_seconds: timeout for the lock of another process.

    Returns:
        Its size, or None if too little of it is free to be worth the time.

    Raises:
        StoreError: another process has the database locked, or the disk is full. The database is
            unchanged then.
    """
    with typed_errors(path), closing(connect_for_writing(path, busy_seconds)) as connection:
        before = _bytes(path)
        if _number(connection, "freelist_count") < _LEAST_SHARE * _number(connection, "page_count"):
            return None
        connection.execute("VACUUM")
        # The new pages stand in the log until a checkpoint copies them and cuts the file off.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return DatabaseSize(before, _bytes(path))


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _bytes(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.is_file())
