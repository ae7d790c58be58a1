"""Reading of rows in the shape that their room gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from transom.store.protocol import RoomTables, Value
from transom.store.sqlite_errors import damaged

T = TypeVar("T")


def read_rows(
    tables: RoomTables,
    shape: Callable[[Any], T],
    sql: str,
    values: Sequence[Value] = (),
    *,
    noun: str,
) -> list[T]:
    """Return all rows of a statement in another shape.

    Args:
        shape: makes a value of a row.
        noun: what a row is, for errors.

    Raises:
        StoreError: see `RoomTables.query`; or a row is damaged, so that `shape` refused it.
    """
    rows = tables.query(sql, values)
    try:
        return [shape(row) for row in rows]
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise damaged(tables.where, noun) from error
