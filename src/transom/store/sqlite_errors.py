"""Messages and hints for SQLite's errors."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transom.errors import StoreError
from transom.store.disk_room import NO_ROOM, has_no_room

_ELSEWHERE = "make the folder writable, or choose another workspace (--workspace, Home)"
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_FULL = (
    "no space left for the database",
    "make room, or choose a workspace on another disk, then try again; what was done is kept",
)
# What SQLite reports if a file of the database could not be made or grow: on a full disk it is
# SQLITE_FULL only for some of its writes.
_FAILED_WRITE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_UNKNOWN = (
    "the database failed",
    (
        "try again; if it stays so, check it with `transom doctor`, or begin another workspace"
        " (--workspace, Home)"
    ),
)
RECOVERY = (
    "copy the file and its -wal first, list the damage with `transom doctor`, then restore an older"
    " copy, or begin another workspace (--workspace, Home)"
)
"""What to do about a damaged database."""
_MEANING: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: ("the database cannot be written", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("the database cannot be opened or made", _ELSEWHERE),
    sqlite3.SQLITE_PERM: ("access to the database is denied", _ELSEWHERE),
    sqlite3.SQLITE_NOTADB: (
        "the file is not a database",
        "move it away, or choose another workspace (--workspace, Home)",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process kept the database locked for too long",
        "look for a stopped transom process, then try again",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk failed while the database was in use",
        "check the disk; on a network file system set state_dir to a local folder",
    ),
}


def primary_code(error: BaseException) -> int | None:
    """Return SQLite's primary result code of an error, or None."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def store_error(error: BaseException, path: Path) -> StoreError:
    """Return the StoreError for an error at the database `path`, with the original as its cause; a
    StoreError stays as it is.
    """
    if isinstance(error, StoreError):
        return error
    code = primary_code(error) or 0
    if code == sqlite3.SQLITE_CORRUPT:
        # SQLite's message may quote what stands on a broken page.
        return _caused(damaged(path, "a page cannot be read"), error)
    undecodable = type(error) is sqlite3.OperationalError and not code
    if undecodable or isinstance(error, UnicodeDecodeError):
        # Errors of Python, not of SQLite: a text, or SQLite's message that quotes one, is not
        # UTF-8. The first one quotes the whole text.
        return _caused(damaged(path, "a text is not UTF-8"), error)
    if code in _NOT_WRITABLE and is_read_only(path):
        return _caused(read_only_error(path), error)
    if _is_for_want_of_room(error, code, path):
        problem, hint = _FULL
    elif isinstance(error, OSError):
        problem, hint = "the folder of the database cannot be made", _ELSEWHERE
    elif isinstance(error, UnicodeEncodeError):
        problem, hint = "the name cannot be kept as text", "give names without unpaired surrogates"
    else:
        problem, hint = _MEANING.get(code, _UNKNOWN)
    return _caused(StoreError(f"{problem} ({error})", place=str(path), hint=hint), error)


def _is_for_want_of_room(error: BaseException, code: int, path: Path) -> bool:
    """Return whether a write failed because the disk is full."""
    if isinstance(error, OSError):
        return error.errno in NO_ROOM
    return code in _FAILED_WRITE and has_no_room(path)


def damaged(path: Path | str, damage: str) -> StoreError:
    """Return the error of a database that can be read, but not trusted."""
    return StoreError(f"the database is damaged: {damage}", place=str(path), hint=RECOVERY)


def is_read_only(database: Path) -> bool:
    """Return whether a database is there and this process must not write to it or its folder."""
    if not database.is_file():
        return False
    return not (os.access(database, os.W_OK) and os.access(database.parent, os.W_OK))


def read_only_error(workspace: Path) -> StoreError:
    """Return the error of a write in a workspace that can only be read."""
    return StoreError(
        "the workspace is read-only",
        place=str(workspace),
        hint="you can look at it; to change it, copy it and name the copy with --workspace",
    )


def _caused(typed: StoreError, error: BaseException) -> StoreError:
    typed.__cause__ = error
    return typed


@contextmanager
def typed_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and of the file system, and texts that are not UTF-8, to
    `StoreError`.
    """
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeError) as error:
        raise store_error(error, path) from error
