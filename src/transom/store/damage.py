"""Search for damage in a state database: in SQLite's pages, and in each row of its tables."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

from transom.store.chains import broken_chains
from transom.store.codec import decode
from transom.store.location import PostgresAddress, StoreLocation
from transom.store.read_only import connect_for_reading
from transom.store.sqlite_errors import typed_errors

_BUSY_SECONDS = 30.0
_STORE_TABLES = ("records", "documents", "blobs", "summaries")


class _Text(bytes):
    """A text as its bytes, which may not be UTF-8."""


_CLASSES = {"TEXT": _Text, "INTEGER": int, "BLOB": bytes}
"""Classes of values by the declared type of their column."""


def find_damage(location: StoreLocation, limit: int = 10, *, deep: bool = False) -> list[str]:
    """Return what is damaged in a database, each in a few words; empty if it is intact.

    It reads the whole file. No stored text is quoted. Damage in a row of format 1, which has no
    checksum, is only noticed if the row cannot be read any more.

    Args:
        location: the database. PostgreSQL looks after its own pages, so its rows are only read if
            `deep`.
        limit: the most entries to return.
        deep: whether to compare the digest chains of all streams, too.

    Raises:
        StoreError: the file cannot be opened, is no state database, or is newer than this code.
    """
    damage: list[str] = []
    if isinstance(location, PostgresAddress):
        from transom.store.postgres.damage import damage_in  # noqa: PLC0415  an extra

        return [*islice(damage_in(location), limit)] if deep else []
    path = location
    with typed_errors(path), closing(connect_for_reading(path, _BUSY_SECONDS)) as connection:
        # SQLite would refuse a text that is not UTF-8, and not say in which row it stands.
        connection.text_factory = _Text
        searches = [
            ("pages", _damaged_pages(connection, limit)),
            ("records", _damaged_records(connection)),
            ("documents", _damaged_documents(connection)),
            ("blobs", _damaged_blobs(connection)),
            ("summaries", _damaged_summaries(connection)),
            ("tables", _damaged_rows(connection)),
        ]
        if deep:
            searches.append(("chains", _damaged_chains(connection)))
        for name, search in searches:
            try:
                damage += islice(search, max(0, limit - len(damage)))
            except sqlite3.DatabaseError:
                damage.append(f"the {name} cannot be read to their end")
    return damage[:limit]


def _damaged_pages(connection: sqlite3.Connection, limit: int) -> Iterator[str]:
    for (answer,) in connection.execute(f"PRAGMA integrity_check({limit})"):
        for line in bytes(answer).decode("ascii", "replace").splitlines():
            # A line of stars is the heading of those that follow.
            if line != "ok" and not line.startswith("***"):
                yield line


def _damaged_records(connection: sqlite3.Connection) -> Iterator[str]:
    rows = connection.execute("SELECT seq, stream, kind, data, at, crc FROM records")
    for seq, stream, kind, data, at, crc in rows:
        # An empty row keeps the number of a record that was deleted.
        if (stream, kind, data) != (b"", b"", b"") and not _is_intact(data, crc, stream, kind, at):
            yield f"record {seq}{_of(stream)}"


def _damaged_documents(connection: sqlite3.Connection) -> Iterator[str]:
    rows = connection.execute("SELECT name, key, value, crc FROM documents")
    for name, key, value, crc in rows:
        if not _is_intact(value, crc, name, key):
            yield f"a document{_of(name)}"


def _damaged_blobs(connection: sqlite3.Connection) -> Iterator[str]:
    for sha, packed in connection.execute("SELECT sha256, zlib FROM blobs"):
        try:
            digest = hashlib.sha256(zlib.decompress(packed)).hexdigest()
        except (zlib.error, TypeError):
            digest = ""
        if digest.encode() != sha:
            yield f"a blob{_of(sha)}"


def _damaged_summaries(connection: sqlite3.Connection) -> Iterator[str]:
    rows = connection.execute(
        "SELECT stream, kind, status, waits, last_at, data, crc FROM summaries"
    )
    for stream, *place, last_at, data, crc in rows:
        texts = [_text(column) for column in place]
        joined = _Text("\0".join(map(str, texts)).encode())
        if None in texts or not _is_intact(data, crc, stream, joined, last_at):
            yield f"a summary{_of(stream)}"


def _damaged_chains(connection: sqlite3.Connection) -> Iterator[str]:
    # What is no text at all is damage that another search reports.
    rows = connection.execute(
        "SELECT seq, CAST(stream AS BLOB), CAST(kind AS BLOB), CAST(data AS BLOB),"
        " CAST(at AS BLOB), chain FROM records WHERE stream <> '' ORDER BY stream, seq"
    )
    yield from broken_chains(
        (number, *(bytes(text).decode("utf-8", "replace") for text in texts), chain)
        for number, *texts, chain in rows
    )
    # A record that was cut off at the end breaks no chain, but the summary knows of it.
    for (stream,) in connection.execute(
        "SELECT stream FROM summaries WHERE kind <> '' AND last_at >"
        " (SELECT coalesce(max(at), '') FROM records WHERE records.stream = summaries.stream)"
    ):
        yield f"the last records{_of(stream)} are missing"


def _damaged_rows(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the tables of other rooms with a value that is not of its column's type."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for name in sorted(bytes(table).decode() for (table,) in tables):
        if name not in _STORE_TABLES and not _has_sound_rows(connection, name):
            yield f"a row of the table {name}"


def _has_sound_rows(connection: sqlite3.Connection, table: str) -> bool:
    quoted = '"' + table.replace('"', '""') + '"'
    expected: list[tuple[type, ...]] = []
    for _, _, declared, required, _, key in connection.execute(f"PRAGMA table_info({quoted})"):
        kind = _CLASSES.get(bytes(declared).decode().upper(), object)
        is_optional = not required and not key
        expected.append((kind, type(None)) if is_optional else (kind,))
    for row in connection.execute(f"SELECT * FROM {quoted}"):
        for value, classes in zip(row, expected, strict=True):
            if not isinstance(value, classes):
                return False
            if isinstance(value, _Text) and _text(value) is None:
                return False
    return True


def _is_intact(data: object, crc: object, *names: object) -> bool:
    """Return whether a row is as it was written."""
    texts = [_text(value) for value in (data, *names)]
    if None in texts or not isinstance(crc, int | None):
        return False
    text, *columns = [text for text in texts if text is not None]
    try:
        decode(text, crc, *columns)
    except ValueError:
        return False
    return True


def _text(value: object) -> str | None:
    """Return a stored text; None if it is no text or not UTF-8."""
    try:
        return value.decode() if isinstance(value, _Text) else None
    except UnicodeDecodeError:
        return None


def _of(name: object) -> str:
    """Return ` of NAME`, if the name can be shown."""
    text = _text(name)
    return f" of {text:.120}" if text and text.isprintable() else ""
