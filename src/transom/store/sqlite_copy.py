"""Reads a whole SQLite database, or fills an empty one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from transom.store.connecting import connect_for_writing
from transom.store.content import RECORDS, IndexContent, Row, TableContent, WordStems
from transom.store.read_only import connect_for_reading
from transom.store.sqlite_errors import typed_errors
from transom.store.sqlite_words import SqliteWordIndex

_BUSY_SECONDS = 30.0


def copy_file(source: Path, target: Path) -> None:
    """Copy a database file as it stands at one moment, while other processes write to it.

    Raises:
        StoreError: the file cannot be read, or the copy cannot be written.
    """
    with (
        typed_errors(source),
        closing(connect_for_reading(source, _BUSY_SECONDS)) as original,
        closing(sqlite3.connect(target)) as copy,
    ):
        original.backup(copy)


class SqliteCopy:
    """A `DatabaseCopy` of a SQLite file. It keeps other writers away until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with typed_errors(path):
            self._connection = connect_for_writing(path, _BUSY_SECONDS)
            # The original may be removed as soon as the copy is done.
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("BEGIN IMMEDIATE")

    def versions(self) -> Mapping[str, int]:
        if not self._query("SELECT 1 FROM sqlite_master WHERE name = 'rooms'"):
            return {}
        return dict(self._query("SELECT room, version FROM rooms"))

    def rows(self, table: TableContent) -> Iterator[Row]:
        columns = ", ".join(table.columns)
        keys = ", ".join(table.columns[: table.keys])
        # An empty row may stand for the highest number that was given.
        condition = "WHERE stream != ''" if table is RECORDS else ""
        with typed_errors(self._path):
            yield from self._connection.execute(
                f"SELECT {columns} FROM {table.name} {condition} ORDER BY {keys}"
            )

    def last_seq(self) -> int:
        return int(self._query("SELECT coalesce(max(seq), 0) FROM records")[0][0])

    def insert(self, table: TableContent, rows: Iterable[Row]) -> None:
        marks = ",".join("?" * len(table.columns))
        with typed_errors(self._path):
            self._connection.executemany(
                f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({marks})", rows
            )

    def give_numbers_after(self, last_seq: int, tables: Sequence[TableContent]) -> None:
        del tables  # AUTOINCREMENT follows the rows that were inserted
        if last_seq > self.last_seq():
            # As after a deletion, an empty row keeps the number.
            self.insert(RECORDS, [(last_seq, "", "", "", "", None)])

    def build_index(self, index: IndexContent, stems_of: WordStems) -> None:
        words = SqliteWordIndex(self._query, index.name)
        for number, text, tags in self._query(index.texts):
            stems = [stems_of(tag) for tag in json.loads(tags)]
            with typed_errors(self._path):
                words.put(self._connection, number, stems_of(text), [*chain(*stems)])

    def commit(self) -> None:
        with typed_errors(self._path):
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN IMMEDIATE")

    def close(self) -> None:
        self._connection.close()

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with typed_errors(self._path):
            rows: list[Any] = self._connection.execute(sql, values).fetchall()
            return rows
