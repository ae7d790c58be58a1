"""The backup of a workspace: one archive with its database and files, and their digests."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any, Final

from transom.canonical import sync_folder
from transom.errors import InputError
from transom.runs.workspace import Workspace
from transom.store import find_damage

DATABASE: Final = "state.db"
_MANIFEST: Final = "backup.json"
_SCHEMA: Final = "transom.backup/1"
# The database is copied by itself. Locks belong to processes that live.
_LEFT_OUT = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "locks")


@dataclass(frozen=True)
class BackupContent:
    """What an archive has.

    Attributes:
        files: number of files, the database included.
        size: their bytes, unpacked.
        links: number of links and other things that are no files, which are left out.
    """

    files: int
    size: int
    links: int = 0

    def __str__(self) -> str:
        return f"{self.files} files, {self.size} bytes"

    def to_json(self) -> dict[str, int]:
        return {"files": self.files, "bytes": self.size, "links_left_out": self.links}


def back_up(
    workspace: Workspace, archive: Path, copy_database: Callable[[Path], None]
) -> BackupContent:
    """Write the archive of a workspace.

    Args:
        workspace: the workspace; commands may be at work on it.
        archive: a new file.
        copy_database: copies the database into a new SQLite file.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    if archive.exists():
        raise InputError("the file exists", place=str(archive), hint="give a new file")
    digests: dict[str, dict[str, Any]] = {}
    links = 0
    unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        with _temporary_folder(archive.parent) as folder:
            # The database first: a file that is newer than it only belongs to a stage that is run
            # again. An older file would look as if a person had deleted the newer one.
            copy_database(folder / DATABASE)
            with tarfile.open(unfinished, "w:gz", compresslevel=6) as packed:
                _add(packed, DATABASE, folder / DATABASE, digests)
                for name, path in _files_of(workspace.root):
                    if path.is_symlink() or not path.is_file():
                        links += 1
                        continue
                    try:
                        _add(packed, name, path, digests)
                    except FileNotFoundError:
                        continue  # a command at work has removed it
                manifest = {
                    "schema": _SCHEMA,
                    "version": version("transom"),
                    "at": datetime.now(UTC).isoformat(timespec="seconds"),
                    "files": digests,
                }
                _add_bytes(packed, _MANIFEST, json.dumps(manifest, indent=1).encode())
        with unfinished.open("rb") as written:
            os.fsync(written.fileno())
        unfinished.rename(archive)
        sync_folder(archive.parent)
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror}", place=str(archive), hint="give another file"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return BackupContent(len(digests), sum(row["bytes"] for row in digests.values()), links)


def restore(archive: Path, workspace: Workspace) -> BackupContent:
    """Unpack an archive as a workspace that is not there yet.

    Every file is compared with its digest, and the database is checked, before the workspace
    appears.

    Raises:
        InputError: the archive is incomplete or altered, or the workspace exists.
    """
    for place in (workspace.root, workspace.database):
        if place.exists() and (place.is_file() or any(place.iterdir())):
            raise InputError(
                "there is a workspace already",
                place=str(place),
                hint="give a new folder with --workspace",
            )
    workspace.root.parent.mkdir(parents=True, exist_ok=True)
    with _temporary_folder(workspace.root.parent) as folder:
        content = _unpack(archive, folder)
        if damage := find_damage(folder / DATABASE, limit=1, deep=True):
            raise _altered(archive, f"its database is damaged: {damage[0]}")
        if workspace.database.parent != workspace.root:
            workspace.database.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder / DATABASE, workspace.database)
        if workspace.root.exists():
            workspace.root.rmdir()
        folder.rename(workspace.root)
    sync_folder(workspace.root.parent)
    return content


def _unpack(archive: Path, folder: Path) -> BackupContent:
    """Unpack an archive whose files are those that were packed."""
    digests: dict[str, dict[str, Any]] = {}
    manifest: dict[str, Any] = {}
    try:
        with tarfile.open(archive, "r:gz") as packed:
            for member in packed:
                source = packed.extractfile(member) if member.isreg() else None
                if source is None or not _is_inside(member.name):
                    raise _altered(archive, f"{member.name!a} is not a file of a workspace")
                if member.name == _MANIFEST:
                    manifest = json.loads(source.read())
                    continue
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                digest = hashlib.sha256()
                with path.open("xb") as target:
                    while block := source.read(1 << 20):
                        digest.update(block)
                        target.write(block)
                path.chmod(member.mode & 0o777)
                digests[member.name] = {"sha256": digest.hexdigest(), "bytes": member.size}
    except FileNotFoundError:
        raise InputError("there is no such file", place=str(archive)) from None
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise _altered(archive, f"it cannot be read ({error})") from error
    # The manifest is packed last, so an archive that was cut off has none.
    if manifest.get("schema") != _SCHEMA:
        raise _altered(archive, "the backup is incomplete")
    if manifest["files"] != digests:
        names = sorted({*manifest["files"], *digests})
        different = [name for name in names if manifest["files"].get(name) != digests.get(name)]
        raise _altered(archive, f"{different[0]} is not the file that was packed")
    return BackupContent(len(digests), sum(row["bytes"] for row in digests.values()))


def _files_of(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a workspace with their names in an archive; no link is followed."""
    for folder, folders, names in os.walk(root):
        path = Path(folder)
        if path == root:
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            names = [name for name in names if name not in _LEFT_OUT]
        folders.sort()
        for name in sorted([*names, *(each for each in folders if (path / each).is_symlink())]):
            yield (path / name).relative_to(root).as_posix(), path / name


def _add(
    packed: tarfile.TarFile, name: str, path: Path, digests: dict[str, dict[str, Any]]
) -> None:
    # Read at once: a command at work may append to the file.
    data = path.read_bytes()
    _add_bytes(packed, name, data, path.stat().st_mode)
    digests[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def _add_bytes(packed: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode & 0o777
    packed.addfile(member, io.BytesIO(data))


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _altered(archive: Path, problem: str) -> InputError:
    return InputError(problem, place=str(archive), hint="restore from another backup")


@contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    """Make a folder that is removed in the end, unless it got another name."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=".transom-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
