"""A new database, made in memory and put into its place at once: SQLite alone would sync seven times for it."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from transom.canonical import sync_folder
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
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        beside = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(_blank())
                out.flush()
                os.fsync(handle)
            beside.chmod(0o644)
            os.link(beside, path)  # not a rename, which takes the place of one that another process just made
        finally:
            beside.unlink()
        sync_folder(path.parent)


@cache
def _blank() -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, Path(":memory:"))
        made = bytearray(connection.serialize())
    made[_FORMAT] = _WITH_LOG
    return bytes(made)
