"""The location of a store: a SQLite file, or the address of a PostgreSQL database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from transom.errors import InputError

_SCHEMES = ("postgresql", "postgres")
_HINT = "write it as postgresql://USER@HOST:PORT/DATABASE"


@dataclass(frozen=True)
class PostgresAddress:
    """The address of a PostgreSQL database, without a password.

    The tables lie in the first schema of the connection's `search_path`. So teams that share a
    database are kept apart by a role's `search_path`, or by `?options=-csearch_path%3DTEAM`.

    Attributes:
        url: the address as `libpq` reads it, e.g. `postgresql://transom@db.example/transom`.
    """

    url: str

    def __post_init__(self) -> None:
        """Check the address.

        Raises:
            InputError: it is no address of PostgreSQL, or has a password, which would be copied
                into journals and reports.
        """
        try:
            parts = urlsplit(self.url)
            query = parse_qs(parts.query)
        except ValueError:
            raise InputError("the store's address cannot be read", hint=_HINT) from None
        if parts.scheme not in _SCHEMES:
            raise InputError("the store's address is not one of PostgreSQL", hint=_HINT)
        if parts.password is not None or "password" in query:
            raise InputError(
                "the store's address contains a password",
                hint="remove it, and set PGPASSWORD or write it into ~/.pgpass",
            )

    def __str__(self) -> str:
        return self.url


StoreLocation: TypeAlias = Path | PostgresAddress
"""A SQLite file or a PostgreSQL database."""
