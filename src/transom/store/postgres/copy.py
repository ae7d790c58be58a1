"""Reads a whole PostgreSQL database, or fills an empty one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import psycopg
from psycopg import RawCursor, RawServerCursor

from transom.store.content import RECORDS, IndexContent, Row, TableContent, WordStems
from transom.store.location import PostgresAddress
from transom.store.postgres.dialect import escape_nul, translate, unescape_nul
from transom.store.postgres.errors import typed_errors
from transom.store.postgres.full_text import PostgresWordIndex

_ROWS_AT_ONCE = 500


class PostgresCopy:
    """A `DatabaseCopy` of a PostgreSQL database. It keeps other writers away until it is closed."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        with typed_errors(address):
            self._connection = psycopg.connect(address.url, cursor_factory=RawCursor)
            # Each statement sees one and the same state.
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self._connection.execute(
                "LOCK TABLE records, blobs, documents, summaries IN EXCLUSIVE MODE"
            )

    def versions(self) -> Mapping[str, int]:
        return dict(self._query("SELECT room, version FROM rooms WHERE room != 'store'"))

    def rows(self, table: TableContent) -> Iterator[Row]:
        columns = ", ".join(table.columns)
        keys = ", ".join(table.columns[: table.keys])
        with (
            typed_errors(self._address),
            RawServerCursor(self._connection, f"copy_{table.name}") as cursor,
        ):
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(f"SELECT {columns} FROM {table.name} ORDER BY {keys}")
            for row in cursor:
                yield tuple(map(unescape_nul, row)) if table.of_room else row

    def last_seq(self) -> int:
        rows = self._query("SELECT last_value FROM records_seq_seq WHERE is_called")
        return int(rows[0][0]) if rows else 0

    def insert(self, table: TableContent, rows: Iterable[Row]) -> None:
        # COPY takes thousands of rows in the time of one INSERT over a network.
        statement = f"COPY {table.name} ({', '.join(table.columns)}) FROM STDIN"
        with (
            typed_errors(self._address),
            self._connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            for row in rows:
                copy.write_row(tuple(map(escape_nul, row)) if table.of_room else row)

    def give_numbers_after(self, last_seq: int, tables: Sequence[TableContent]) -> None:
        for table in tables:
            if not table.is_numbered:
                continue
            column = table.columns[0]
            [(last,)] = self._query(f"SELECT coalesce(max({column}), 0) FROM {table.name}")
            # The newest records may have been removed, of the other tables no number is lasting.
            if table is RECORDS:
                last = max(last, last_seq)
            if last:
                self._query(
                    "SELECT setval(pg_get_serial_sequence($1, $2), $3)", (table.name, column, last)
                )

    def build_index(self, index: IndexContent, stems_of: WordStems) -> None:
        words = PostgresWordIndex(self._query, index.name)
        for row in self._query(index.texts):
            number, text, tags = map(unescape_nul, row)
            stems = [stems_of(tag) for tag in json.loads(tags)]
            words.put(self, number, stems_of(text), [*chain(*stems)])

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """Run a statement of a room."""
        with typed_errors(self._address):
            return self._connection.execute(translate(sql), values)

    def commit(self) -> None:
        with typed_errors(self._address):
            self._connection.commit()

    def close(self) -> None:
        self._connection.close()

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with typed_errors(self._address):
            rows: list[Any] = self._connection.execute(sql, values).fetchall()
            return rows
