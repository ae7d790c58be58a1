"""Opens the store, the rooms' tables and the queue of jobs at a location: SQLite for a file,
PostgreSQL for an address.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from transom.errors import InputError, install_hint
from transom.store.job_queue import JobQueue
from transom.store.location import PostgresAddress, StoreLocation
from transom.store.protocol import MigrationStep, RoomTables, Store
from transom.store.sqlite import SqliteStore
from transom.store.tables import Tables
from transom.telemetry.redact import Redactor


def open_store(
    location: StoreLocation,
    *,
    after_append: Callable[[int], None] | None = None,
    full_sync: bool = False,
) -> Store:
    """Open the store at a location, creating it if it is missing.

    Args:
        location: a database file, or the address of a database.
        after_append: hook for failpoints, see `SqliteStore.open`.
        full_sync: whether every write has to survive power loss. PostgreSQL syncs every commit, as
            its `synchronous_commit` says.

    Raises:
        StoreError: the database cannot be opened or reached, or is newer than this code.
        InputError: the driver of PostgreSQL is not installed.
    """
    if isinstance(location, PostgresAddress):
        _require_driver()
        from transom.store.postgres.store import PostgresStore  # noqa: PLC0415  an extra

        return PostgresStore.open(location, after_append=after_append)
    return SqliteStore.open(location, after_append=after_append, full_sync=full_sync)


def open_store_for_reading(location: StoreLocation) -> Store:
    """Open the store at a location only to read it: a file that is missing is an empty store, and
    may lie where nothing can be written.
    """
    if isinstance(location, Path):
        return SqliteStore.open_for_reading(location if location.is_file() else None)
    _require_driver()
    from transom.store.postgres.store import PostgresStore  # noqa: PLC0415  an extra

    return PostgresStore.open(location, read_only=True)


def open_tables(
    location: StoreLocation | None,
    room: str,
    steps: Sequence[MigrationStep],
    *,
    read_only: bool = False,
    redact: Redactor | None = None,
    full_sync: bool = False,
) -> RoomTables:
    """Open a room's tables and bring them up to date.

    Args:
        location: a database file, or the address of a database; None for one in memory.
        room: the owner of the tables.
        steps: step i has the statements from version i to i + 1. A released step is never edited.
        read_only: only read; a file may lie where nothing can be written.
        redact: finds the secrets that are removed from what is written; None: those of the
            environment, and keys of a known form.
        full_sync: whether every write has to survive power loss; see `open_store`.

    Raises:
        StoreError: the database cannot be opened or reached, or is newer than this code.
        InputError: the driver of PostgreSQL is not installed.
    """
    if isinstance(location, PostgresAddress):
        _require_driver()
        from transom.store.postgres.tables import PostgresTables  # noqa: PLC0415  an extra

        return PostgresTables.open(location, room, steps, read_only=read_only, redact=redact)
    if read_only:
        return Tables.open_for_reading(location, room, steps)
    return Tables.open(location, room, steps, redact, full_sync=full_sync)


@asynccontextmanager
async def open_jobs(location: StoreLocation) -> AsyncIterator[JobQueue]:
    """Open the queue of a database, creating it if it is missing.

    Raises:
        InputError: the database is a file, or an extra is not installed.
        StoreError: the database cannot be reached.
    """
    if not isinstance(location, PostgresAddress):
        raise InputError(
            "workers share their jobs in PostgreSQL, and this workspace has its database in a file",
            place=str(location),
            hint="move it with: transom migrate postgresql://USER@HOST/DATABASE",
        )
    try:
        import procrastinate  # noqa: F401, PLC0415  an extra
        import psycopg  # noqa: F401, PLC0415  an extra
        import psycopg_pool  # noqa: F401, PLC0415  an extra
    except ImportError as error:
        raise InputError(
            f"workers need the extra `workers` ({error})", hint=install_hint("workers")
        ) from error
    from transom.store.postgres.job_queue import open_postgres_jobs  # noqa: PLC0415  an extra

    async with open_postgres_jobs(location) as jobs:
        yield jobs


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401, PLC0415  an extra
        import psycopg_pool  # noqa: F401, PLC0415  an extra
    except ImportError as error:
        raise InputError(
            f"a store in PostgreSQL needs the extra `postgres` ({error})",
            hint=install_hint("postgres"),
        ) from error
