"""Messages and hints for PostgreSQL's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from transom.errors import StoreError
from transom.store.location import PostgresAddress

_UNREACHABLE = (
    "the database cannot be reached",
    "check the address, the user and its password (PGPASSWORD or ~/.pgpass), and that PostgreSQL"
    " runs there, then try again",
)
_UNKNOWN = ("the database failed", "try again; if it stays so, look into PostgreSQL's log")
# Keys are SQLSTATEs or their first two characters, the class. A refused connection has none.
_MEANING: dict[str, tuple[str, str]] = {
    "08": _UNREACHABLE,
    "3F": ("the schema does not exist", "create it: CREATE SCHEMA NAME"),
    "25006": (
        "the database cannot be written",
        "give the address of the primary server, not of a standby",
    ),
    "42501": (
        "access to the database is denied",
        "let the user own the schema, or grant it USAGE and CREATE there",
    ),
    "53100": (
        "no space left for the database",
        "make room on the server, then try again; what was done is kept",
    ),
    "57": _UNREACHABLE,
    "XX": (
        "the database is damaged",
        "look into PostgreSQL's log, and restore the database from a backup",
    ),
}
_NAMES = (
    "the name cannot be kept as text",
    "give names without NUL and without unpaired surrogates",
)


def lost_connection(error: BaseException) -> bool:
    """Return whether an error says that a connection broke, or could not be made."""
    # The server ends a connection whose process was stopped in the middle of a transaction.
    if isinstance(error, psycopg.errors.IdleInTransactionSessionTimeout):
        return True
    if not isinstance(error, psycopg.OperationalError) or isinstance(error, PoolClosed):
        return False
    state = error.sqlstate
    return state is None or state.startswith(("08", "57P"))


def store_error(error: BaseException, address: PostgresAddress) -> StoreError:
    """Return the StoreError for an error of a database, with the original as its cause."""
    if isinstance(error, StoreError):
        return error
    state = getattr(error, "sqlstate", None) or ""
    if isinstance(error, PoolClosed):
        typed = StoreError("the store is closed", place=str(address))
    elif isinstance(error, UnicodeEncodeError | psycopg.DataError) and not state:
        typed = StoreError(f"{_NAMES[0]} ({error})", place=str(address), hint=_NAMES[1])
    else:
        no_connection = isinstance(error, PoolTimeout) or lost_connection(error)
        default = _UNREACHABLE if no_connection else _UNKNOWN
        text, hint = _MEANING.get(state) or _MEANING.get(state[:2]) or default
        # The first line says it; further lines are hints for people at a terminal of psql.
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        typed = StoreError(f"{text} ({detail})", place=str(address), hint=hint)
    typed.__cause__ = error
    return typed


@contextmanager
def typed_errors(address: PostgresAddress) -> Iterator[None]:
    """Convert errors of PostgreSQL, and names that it cannot store, to `StoreError`."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise store_error(error, address) from error
