"""Restore an archived workspace in a folder, as if it had been made there."""

from __future__ import annotations

import json
import sqlite3
import tarfile
import zlib
from pathlib import Path

from tests.old_workspaces.make import HOME
from transom.canonical import digest

ARCHIVES = sorted(Path(__file__).resolve().parent.glob("*/*.tar.xz"))


def archive_name(archive: Path) -> str:
    """Return the version and case of an archive, for the names of tests."""
    return f"{archive.parent.name}-{archive.name.removesuffix('.tar.xz')}"


def archives_of(case: str) -> list[Path]:
    """Return the archives of one case, one for each version."""
    return [archive for archive in ARCHIVES if archive.name == f"{case}.tar.xz"]


def restore(archive: Path, folder: Path) -> Path:
    """Unpack an archive and return the folder, which then stands where HOME stood."""
    with tarfile.open(archive) as packed:
        # Debian 12's Python is older than the filters of archives.
        if hasattr(tarfile, "data_filter"):
            packed.extractall(folder, filter="data")
        else:
            packed.extractall(folder)
    for database in folder.rglob("state.db"):
        _restore_database(database, folder)
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.name != "state.db":
            _replace_in_file(path, folder)
    return folder


def _replace_in_file(path: Path, folder: Path) -> None:
    data = path.read_bytes()
    if str(HOME).encode() in data:
        path.write_bytes(data.replace(str(HOME).encode(), str(folder).encode()))


def _restore_database(database: Path, folder: Path) -> None:
    """Compress the blobs again, and replace HOME in what the workspace recorded."""
    connection = sqlite3.connect(database)
    connection.create_function("deflate", 1, zlib.compress)
    places = (str(HOME), str(folder))
    with connection:
        if connection.execute("PRAGMA user_version").fetchone() != (1,):
            # The rows have checksums, which do not fit their new texts.
            connection.execute("UPDATE records SET crc = NULL")
            connection.execute("UPDATE documents SET crc = NULL")
        connection.execute("UPDATE blobs SET zlib = deflate(zlib)")
        connection.execute("UPDATE records SET data = replace(data, ?, ?)", places)
        connection.execute("UPDATE documents SET key = replace(key, ?, ?)", places)
        connection.execute("UPDATE documents SET value = replace(value, ?, ?)", places)
        # A run is found by the digest of its inputs, which have other paths now.
        rows = connection.execute("SELECT key, value FROM documents WHERE name = 'runs'").fetchall()
        for key, value in rows:
            run = json.loads(value)
            new_key = digest({"kind": run["kind"], "inputs": run["inputs"]})
            connection.execute(
                "UPDATE documents SET key = ? WHERE name = 'runs' AND key = ?", (new_key, key)
            )
    connection.close()
