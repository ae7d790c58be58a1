"""Read-only connections, also to a database in a folder that nobody may write to."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from transom.store.migrations import check_format, create_tables, show_as_newest
from transom.store.sqlite_errors import primary_code

_WITHOUT_LOG = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
"""Codes with which SQLite refuses a database whose log files it cannot make or map."""


def connect_for_reading(path: Path | None, busy_seconds: float) -> sqlite3.Connection:
    """Connect to a database that is never changed; None gives an empty one in memory.

    A database in WAL mode needs two files beside it, even for reading. Where they are missing and
    the folder cannot be written, no process has the database open, so it is read as it lies there.
    A log that a killed process left in such a folder is replayed on a copy.

    Raises:
        sqlite3.Error: the file cannot be read, or is not a database.
        StoreError: it is newer than this code, or belongs to another program.
    """
    if path is None:
        return _empty()
    try:
        connection = _connect(path, busy_seconds)
    except sqlite3.OperationalError as error:
        if primary_code(error) not in _WITHOUT_LOG or not path.is_file():
            raise
        connection = _connect_without_log(path, busy_seconds)
    try:
        version = check_format(connection, path)
        if version:
            show_as_newest(connection, version)
    except BaseException:
        connection.close()
        raise
    if version:
        return connection
    # A process was killed, or is at work, before it made the first table.
    connection.close()
    return _empty()


class _ReadConnection(sqlite3.Connection):
    """A read-only connection; the folder of a copy is deleted with it."""

    path: Path | None = None
    copied_to: TemporaryDirectory[str] | None = None

    def close(self) -> None:
        super().close()
        if self.copied_to is not None:
            self.copied_to.cleanup()
        elif self.path is not None:
            _delete_empty_log(self.path)


def _connect(path: Path, busy_seconds: float, options: str = "") -> _ReadConnection:
    connection = sqlite3.connect(
        f"{_address(path)}?mode=ro{options}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=_ReadConnection,
    )
    try:
        # SQLite opens the file and its log with the first statement that reads.
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    connection.path = path
    return connection


def _delete_empty_log(path: Path) -> None:
    """Delete the log files of a database if nobody else has it open.

    SQLite makes them for a reader, too, but only a connection that may write deletes them. An empty
    log holds nothing that such a connection would write into the database.
    """
    log = path.with_name(f"{path.name}-wal")
    # The files that cannot be deleted are in nobody's way.
    with suppress(OSError, sqlite3.Error):
        if log.stat().st_size == 0:
            writer = sqlite3.connect(f"{_address(path)}?mode=rw", uri=True, timeout=0)
            with closing(writer):
                writer.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()


def _address(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}"


def _connect_without_log(path: Path, busy_seconds: float) -> _ReadConnection:
    """Connect to a database whose log files cannot be made."""
    log = path.with_name(f"{path.name}-wal")
    if not log.is_file() or not log.stat().st_size:
        return _connect(path, busy_seconds, "&immutable=1")
    folder = TemporaryDirectory(prefix="transom-")
    try:
        for file in (path, log):
            shutil.copyfile(file, Path(folder.name, file.name))
        copy = _connect(Path(folder.name, path.name), busy_seconds)
    except BaseException:
        folder.cleanup()
        raise
    copy.copied_to = folder
    return copy


def _empty() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    create_tables(connection)
    connection.execute("PRAGMA query_only = ON")
    return connection
