"""A new database, made in memory and put into its place at once: SQLite alone would sync seven times for it."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from transom.store.migrations import migrate

_FORMAT = slice(18, 20)  # of a database's header: the versions that a reader and a writer must know
_WITH_LOG = b"\2\2"


def make_blank(path: Path) -> None:
    """Put an empty database there, in WAL mode and with all tables, unless there is a file.

    Where that cannot be done nothing happens: SQLite then makes one, or says why there can be none.
    """
    if path.exists():
        return
    with suppress(OSError):
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)  # less what umask says
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(_blank())
                out.flush()
                os.fsync(handle)
            os.link(beside, path)  # not a rename, which takes the place of one that another process just made
        finally:
            beside.unlink()  # SQLite syncs the folder, before it keeps anything, as it makes the log there


@cache
def _blank() -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, Path(":memory:"))
        made = bytearray(connection.serialize())
    made[_FORMAT] = _WITH_LOG
    return bytes(made)
