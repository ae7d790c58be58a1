"""Copies a workspace's database into another one, and compares the two."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from transom.errors import StoreError
from transom.store.content import (
    STORE_TABLES,
    DatabaseCopy,
    RoomContent,
    TableContent,
    WordStems,
)
from transom.store.location import PostgresAddress, StoreLocation
from transom.store.opening import open_store, open_tables
from transom.store.sqlite_copy import SqliteCopy


@dataclass(frozen=True)
class CopiedTable:
    """A table that is the same in both databases.

    Attributes:
        name: the table.
        rows: number of its rows.
        digest: SHA-256 over all its rows, read back from the copy.
    """

    name: str
    rows: int
    digest: str


def copy_database(
    source: StoreLocation,
    target: StoreLocation,
    rooms: Sequence[RoomContent],
    stems_of: WordStems,
) -> list[CopiedTable]:
    """Copy a database into an empty one, in one transaction, and compare all rows.

    The source is not changed, but brought to the newest version of its tables. Other processes wait
    until the copy is done: what they write afterwards is not copied.

    Args:
        source: the database to copy.
        target: a new file, or a database without runs, documents and tables of rooms.
        rooms: the rooms that may have tables.
        stems_of: splits texts for the full-text indexes, which are built anew.

    Returns:
        The copied tables.

    Raises:
        StoreError: the target is not empty, a room of the source is unknown, or the copy differs.
    """
    rooms_by_name = {room.room: room for room in rooms}
    # Only a database of this version has the columns that are copied.
    _create_store(source)
    with _opened(source) as original:
        versions = original.versions()
    if unknown := sorted(versions.keys() - rooms_by_name.keys()):
        raise StoreError(
            f"the database has tables of {', '.join(unknown)}, which this version of transom does"
            " not know",
            place=str(source),
            hint="use the newer transom that wrote them",
        )
    present = [rooms_by_name[room] for room in sorted(versions)]
    _create_store(target)
    for location in (source, target):
        for room in present:
            open_tables(location, room.room, room.steps).close()
    tables = [*STORE_TABLES, *(table for room in present for table in room.tables)]
    with _opened(source) as original, _opened(target) as copy:
        _require_empty(copy, target, tables)
        for table in tables:
            copy.insert(table, original.rows(table))
        # A number that a removed row had must not come back: readers go on after a number.
        copy.give_numbers_after(original.last_seq(), tables)
        for room in present:
            copy.build_index(room.index, stems_of)
        # Read back before the commit: a copy that differs leaves the target empty.
        copied = [_compare(original, copy, table, target) for table in tables]
        copy.commit()
    return copied


def _create_store(location: StoreLocation) -> None:
    """Create the store's tables if they are missing, or bring older ones up to date."""
    asyncio.run(open_store(location).close())


def _compare(
    original: DatabaseCopy, copy: DatabaseCopy, table: TableContent, target: StoreLocation
) -> CopiedTable:
    rows, digest = _digest(original, table)
    if _digest(copy, table) != (rows, digest):
        raise StoreError(
            f"the copy of table {table.name} differs from the original",
            place=str(target),
            hint="nothing was kept; try again, and report it if it stays so",
        )
    return CopiedTable(table.name, rows, digest)


def _digest(database: DatabaseCopy, table: TableContent) -> tuple[int, str]:
    """Return the number of rows of a table and a SHA-256 over them."""
    number = 0
    digest = hashlib.sha256()
    for row in database.rows(table):
        number += 1
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return number, digest.hexdigest()


def _require_empty(
    copy: DatabaseCopy, target: StoreLocation, tables: Sequence[TableContent]
) -> None:
    for table in tables:
        if next(iter(copy.rows(table)), None) is not None:
            raise StoreError(
                f"the database is not empty: it has rows in {table.name}",
                place=str(target),
                hint="give a new file, or the address of an empty schema",
            )


@contextmanager
def _opened(location: StoreLocation) -> Iterator[DatabaseCopy]:
    database: DatabaseCopy
    if isinstance(location, PostgresAddress):
        from transom.store.postgres.copy import PostgresCopy  # noqa: PLC0415  an extra

        database = PostgresCopy(location)
    else:
        database = SqliteCopy(location)
    try:
        yield database
    finally:
        database.close()
