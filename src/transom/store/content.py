"""What a database of a workspace contains, table by table, for copying it into another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from transom.store.protocol import MigrationStep

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class TableContent:
    """A table that is copied row by row.

    Attributes:
        name: the table.
        columns: its columns; the first `keys` of them identify a row.
        keys: number of the columns that identify a row.
        is_numbered: whether the database numbers the rows, in the first column.
        of_room: whether a room owns it: its texts may have NULs.
    """

    name: str
    columns: tuple[str, ...]
    keys: int = 1
    is_numbered: bool = False
    of_room: bool = True


@dataclass(frozen=True)
class IndexContent:
    """A full-text index, which is built anew from the texts of a table.

    Attributes:
        name: the index.
        texts: a SELECT of number, text and tags, the tags as JSON.
    """

    name: str
    texts: str


@dataclass(frozen=True)
class RoomContent:
    """The tables of one room.

    Attributes:
        room: the owner.
        steps: its migrations, see `open_tables`.
        tables: its tables, without the full-text index.
        index: the index.
    """

    room: str
    steps: Sequence[MigrationStep]
    tables: Sequence[TableContent]
    index: IndexContent


RECORDS = TableContent(
    "records", ("seq", "stream", "kind", "data", "at", "chain"), is_numbered=True, of_room=False
)
STORE_TABLES = (
    RECORDS,
    TableContent("blobs", ("sha256", "zlib"), of_room=False),
    TableContent("documents", ("name", "key", "value"), keys=2, of_room=False),
    TableContent(
        "summaries",
        ("stream", "kind", "status", "waits", "last_at", "data", "crc"),
        of_room=False,
    ),
)


class WordStems(Protocol):
    """Splits a text into the stems that an index has."""

    def __call__(self, text: str) -> Sequence[str]: ...


class DatabaseCopy(Protocol):
    """A database that is read or filled in one transaction, without other writers."""

    def versions(self) -> Mapping[str, int]:
        """Return the version of each room's tables."""
        ...

    def rows(self, table: TableContent) -> Iterator[Row]:
        """Yield the rows of a table in the order of their keys."""
        ...

    def last_seq(self) -> int:
        """Return the highest number of a record that was given so far."""
        ...

    def insert(self, table: TableContent, rows: Iterable[Row]) -> None:
        """Insert rows, which must be new."""
        ...

    def give_numbers_after(self, last_seq: int, tables: Sequence[TableContent]) -> None:
        """Let new rows of numbered tables get numbers that no row had before.

        Args:
            last_seq: the highest number of a record.
            tables: the tables that were filled.
        """
        ...

    def build_index(self, index: IndexContent, stems_of: WordStems) -> None:
        """Build a full-text index from the texts of the database."""
        ...

    def commit(self) -> None:
        """Keep what was inserted."""
        ...

    def close(self) -> None:
        """Roll back what was not committed, and close the connection."""
        ...
