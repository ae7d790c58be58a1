"""`transom backup` and `transom restore`: a workspace as one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.app import root
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.migrate import copy_workspace_database
from transom.cli.output import counted
from transom.errors import InputError
from transom.runs.backup import back_up, restore
from transom.store import PostgresAddress, copy_file

Archive = Annotated[Path, typer.Argument(metavar="FILE.tar.gz", help="The archive.")]


@command(root, "backup", example="transom backup transom-2026-11-29.tar.gz")
def backup(session: Session, archive: Archive) -> int:
    """Write the workspace's database and files into one archive.

    Commands may be at work. The archive has a SQLite file, also if the database is PostgreSQL.
    """
    location = session.known_store
    if location is None:
        raise InputError(
            "the workspace has no database to copy",
            place=str(session.workspace_root),
            hint="give --workspace, or change to the folder of its start",
        )

    def copy_database(target: Path) -> None:
        if isinstance(location, PostgresAddress):
            copy_workspace_database(location, target)
        else:
            copy_file(location, target)

    path = (session.cwd / archive).absolute()
    content = back_up(session.known_workspace, path, copy_database)
    document = {"schema": "transom.backup/1", "archive": str(path)}
    line = f"{content} in {path}"
    if content.links:
        line += f"; {counted(content.links, 'link')} left out"
    return session.show({**document, **content.to_json()}, line)


@command(root, "restore", example="transom restore transom-2026-11-29.tar.gz --workspace new")
def restore_backup(session: Session, archive: Archive) -> int:
    """Unpack a backup as a new workspace, after comparing every file with its digest."""
    if session.settings.store is not None:
        raise InputError(
            "a backup is restored into a file",
            place="store",
            hint="remove the setting, restore, and copy the file with: transom migrate ADDRESS",
        )
    workspace = session.known_workspace
    content = restore((session.cwd / archive).absolute(), workspace)
    place = str(workspace.root)
    document = {"schema": "transom.restored/1", "workspace": place}
    line = f"{content} restored to {place}; all digests are equal"
    return session.show({**document, **content.to_json()}, line)
