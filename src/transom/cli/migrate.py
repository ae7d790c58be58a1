"""`transom migrate`: a workspace's database is copied into another one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.app import root
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import counted, table
from transom.errors import InputError
from transom.learning.ledger import CONTENT as LEARNING
from transom.memory.sqlite import CONTENT as MEMORY
from transom.memory.words import stems_of
from transom.store import CopiedTable, PostgresAddress, StoreLocation, copy_database

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="A new SQLite file, or the address of an empty PostgreSQL database."
    ),
]


@command(root, "migrate", example="transom migrate postgresql://transom@db.example/transom")
def migrate(session: Session, target: Target) -> int:
    """Copy the workspace's database into another one, and compare all rows.

    End all other commands on the workspace first. The original is kept.
    """
    source = session.known_store
    if source is None:
        raise InputError(
            "the workspace has no database to copy",
            place=str(session.workspace_root),
            hint="give --workspace, or change to the folder of its start",
        )
    location = _location(session, target)
    copied = copy_workspace_database(source, location)
    rows: list[tuple[str, ...]] = []
    tables: list[dict[str, Any]] = []
    total = 0
    for entry in copied:
        # Equal digests show that both databases hold the same rows.
        rows.append((entry.name, str(entry.rows), entry.digest[:16]))
        tables.append({"name": entry.name, "rows": entry.rows, "sha256": entry.digest})
        total += entry.rows
    document: dict[str, Any] = {
        "schema": "transom.migrated/1",
        "source": str(source),
        "target": str(location),
        "tables": tables,
    }
    lines = table(rows, head=("table", "rows", "sha256"))
    lines.append(f"{counted(total, 'row')} copied to {location}; all are equal")
    lines.append(_next_step(location))
    return session.show(document, *lines)


def copy_workspace_database(source: StoreLocation, target: StoreLocation) -> list[CopiedTable]:
    """Copy a workspace's database with the tables of all rooms; see `copy_database`."""
    return copy_database(source, target, (LEARNING, MEMORY), stems_of)


def _location(session: Session, text: str) -> StoreLocation:
    if "://" in text:
        return PostgresAddress(text)
    path = (session.cwd / text).absolute()
    # An existing database is never overwritten.
    if path.exists():
        raise InputError("the file exists", place=str(path), hint="give a new file")
    return path


def _next_step(target: StoreLocation) -> str:
    if isinstance(target, Path):
        return "to use it, remove the setting `store`, and name the file state.db in `state_dir`"
    return f"to use it, set `store: {target}` in transom.yaml"
