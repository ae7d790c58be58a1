"""Python runs this at its start: it replaces database files by schemas in PostgreSQL.

The address of the server is in an environment variable; without it nothing is replaced. The name of
a schema follows from the path of the file that it stands for, so all processes agree on it.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.util
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

ADDRESS = "POSTGRES_OF_TESTS"
_created: set[str] = set()


def address_of(path: Path) -> Any:
    """Return the address of the schema that stands for a database file, creating it if missing."""
    import psycopg

    from transom.store.location import PostgresAddress

    schema = f"test_{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:24]}"
    server = os.environ[ADDRESS]
    if schema not in _created:
        with psycopg.connect(server, autocommit=True) as connection:
            # Two processes that create one schema at once would disturb each other.
            connection.execute("SELECT pg_advisory_lock(1)")
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        _created.add(schema)
    return PostgresAddress(f"{server}&options=-csearch_path%3D{schema}")


def text_of(path: Path) -> str:
    """Return all text of the schema that stands for a database file, and its blobs unpacked."""
    import psycopg

    texts: list[str] = []
    with psycopg.connect(address_of(path).url) as connection:
        names = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        ).fetchall()
        for (name,) in names:
            rows = connection.execute(f'SELECT t::text FROM "{name}" AS t')
            texts += [row[0] for row in rows]
        if ("blobs",) in names:
            for (packed,) in connection.execute("SELECT zlib FROM blobs"):
                texts.append(zlib.decompress(packed).decode("latin-1"))
    return "\n".join(texts)


def _replace_store(module: ModuleType) -> None:
    open_file, read_file = module.SqliteStore.open, module.SqliteStore.open_for_reading

    def open_store(path: Path, **options: Any) -> Any:
        from transom.store.opening import open_store as open_any

        if path == module.IN_MEMORY:
            return open_file(path, **options)
        options.pop("busy_seconds", None)
        return open_any(address_of(path), **options)

    def open_for_reading(path: Path | None, **options: Any) -> Any:
        from transom.store.opening import open_store_for_reading

        if path is None:
            return read_file(path, **options)
        return open_store_for_reading(address_of(path))

    module.SqliteStore.open = open_store
    module.SqliteStore.open_for_reading = open_for_reading


def _replace_tables(module: ModuleType) -> None:
    open_file, read_file = module.Tables.open, module.Tables.open_for_reading

    def open_tables(path: Path | None, *values: Any, **options: Any) -> Any:
        if path is None or path == Path(":memory:"):
            return open_file(path, *values, **options)
        return _open_room(path, *values, **options)

    def open_for_reading(path: Path | None, *values: Any) -> Any:
        if path is None:
            return read_file(path, *values)
        return _open_room(path, *values, read_only=True)

    module.Tables.open = open_tables
    module.Tables.open_for_reading = open_for_reading


def _open_room(path: Path, room: str, steps: Any, redact: Any = None, **options: Any) -> Any:
    from transom.store.opening import open_tables

    return open_tables(address_of(path), room, steps, redact=redact, **options)


def _replace_workspace(module: ModuleType) -> None:
    find = module.Workspace.known

    def known(*values: Any, **options: Any) -> Any:
        workspace = find(*values, **options)
        if workspace.server is not None:
            return workspace
        return replace(workspace, server=address_of(workspace.database))

    module.Workspace.known = staticmethod(known)


def _replace_leases(module: ModuleType) -> None:
    """Let the lease of a dead process end at once: tests kill, and do not wait ten seconds."""
    take, holder_of = module.PostgresLeases.take, module.PostgresLeases.holder_of

    def end_of_dead(leases: Any, stream: str) -> None:
        with leases._pool.connection() as connection:
            rows = connection.execute(
                "SELECT holder FROM leases WHERE stream = $1 AND holder <> ''", (stream,)
            ).fetchall()
            for (holder,) in rows:
                if not Path(f"/proc/{holder.partition('/')[0].rpartition(':')[2]}").exists():
                    connection.execute(
                        "UPDATE leases SET holder = '' WHERE stream = $1 AND holder = $2",
                        (stream, holder),
                    )

    def take_from_dead(leases: Any, stream: str) -> Any:
        end_of_dead(leases, stream)
        return take(leases, stream)

    def living_holder_of(leases: Any, stream: str) -> str:
        end_of_dead(leases, stream)
        return str(holder_of(leases, stream))

    module.PostgresLeases.take = take_from_dead
    module.PostgresLeases.holder_of = living_holder_of


_REPLACEMENTS: dict[str, Callable[[ModuleType], None]] = {
    "transom.store.sqlite": _replace_store,
    "transom.store.tables": _replace_tables,
    "transom.runs.workspace": _replace_workspace,
    "transom.store.postgres.leases": _replace_leases,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `_REPLACEMENTS` as usual, and changes them behind their execution."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _REPLACEMENTS:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                _replace_behind(spec.loader, _REPLACEMENTS[name])
                return spec
        return None


def _replace_behind(loader: Any, change: Callable[[ModuleType], None]) -> None:
    execute = loader.exec_module

    def execute_and_change(module: ModuleType) -> None:
        execute(module)
        change(module)

    loader.exec_module = execute_and_change


def install() -> None:
    """Replace database files in this process."""
    for name, change in _REPLACEMENTS.items():
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, _Finder())


if ADDRESS in os.environ:
    install()
