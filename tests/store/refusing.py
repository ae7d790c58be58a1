"""A database that refuses some records, as a full disk or a damaged file would."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def refusing(path: Path, which: str) -> Iterator[None]:
    """It does so while it is entered.

    Args:
        path: of the database, which has its tables.
        which: records, as a condition on `NEW` in SQL.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as beside:
        beside.execute(
            f"CREATE TRIGGER refuses BEFORE INSERT ON records WHEN {which} BEGIN SELECT"
            " RAISE(ABORT, 'refused'); END"
        )
        try:
            yield
        finally:
            beside.execute("DROP TRIGGER refuses")
