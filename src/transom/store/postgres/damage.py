"""Search for damage in the rows of a PostgreSQL database; its pages are PostgreSQL's own matter."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import RawCursor, RawServerCursor

from transom.store.chains import broken_chains
from transom.store.codec import decode
from transom.store.location import PostgresAddress
from transom.store.postgres.connections import PostgresConnection, connection_text
from transom.store.postgres.errors import typed_errors

_ROWS_AT_ONCE = 500


def damage_in(address: PostgresAddress) -> Iterator[str]:
    """Yield what is damaged in a database, each in a few words. It reads all rows.

    Raises:
        StoreError: it cannot be reached.
    """
    with (
        typed_errors(address),
        psycopg.connect(connection_text(address), cursor_factory=RawCursor) as connection,
    ):
        # All statements see one and the same state.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        for table, column, name in (
            ("records", "data", "stream"),
            ("documents", "value", "name"),
            ("summaries", "data", "stream"),
        ):
            for owner, text in _rows(connection, f"SELECT {name}, {column} FROM {table}"):
                if not _is_json(text):
                    yield f"a row of {table} of {owner:.120}"
        for sha, packed in _rows(connection, "SELECT sha256, zlib FROM blobs"):
            if not _has_digest(packed, sha):
                yield f"a blob of {sha}"
        yield from broken_chains(
            _rows(
                connection,
                "SELECT seq, stream, kind, data, at, chain FROM records ORDER BY stream, seq",
            )
        )
        for (stream,) in _rows(
            connection,
            "SELECT stream FROM summaries WHERE kind <> '' AND last_at >"
            " (SELECT coalesce(max(at), '') FROM records WHERE records.stream = summaries.stream)",
        ):
            yield f"the last records of {stream:.120} are missing"


def _rows(connection: PostgresConnection, statement: str) -> Iterator[Any]:
    """Yield the rows of a statement, some at a time: a database may not fit into the memory."""
    with RawServerCursor(connection, "damage") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(statement)
        yield from cursor


def _is_json(text: str) -> bool:
    try:
        decode(text)
    except ValueError:
        return False
    return True


def _has_digest(packed: bytes, sha: str) -> bool:
    try:
        return hashlib.sha256(zlib.decompress(packed)).hexdigest() == sha
    except zlib.error:
        return False
