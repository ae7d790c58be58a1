"""A store on a disk without room, or without inodes: each error says to make room."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from transom.store.disk_room import has_no_room
from transom.store.sqlite_errors import store_error

# Opens a store in each disk and writes until it fails; prints the errors, or null.
PROGRAM = """
import asyncio, json, subprocess, sys
from pathlib import Path
from transom.errors import StoreError
from transom.store import SqliteStore

def mount(folder, options):
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)

async def fill(path):
    async with SqliteStore.open(path) as store:
        for number in range(400):
            await store.append("s", "k", "x" * 4000)

errors = {}
for number, options in enumerate(sys.argv[2:]):
    disk = Path(sys.argv[1], str(number))
    mount(disk, options)
    try:
        asyncio.run(fill(disk / "deeper" / "x.db"))
        errors[options] = None
    except StoreError as error:
        errors[options] = str(error)
print(json.dumps(errors))
"""
IN_NAMESPACES = ("unshare", "--map-root-user", "--mount")
ROOM = [f"size={kilobytes}k" for kilobytes in (4, 8, 16, 32, 40, 56, 72, 100, 150, 400, 900, 1200)]
INODES = [f"size=8m,nr_inodes={number}" for number in (1, 2, 3, 4)]


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    words = [*IN_NAMESPACES, "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.skipif(not can_mount(), reason="no disk can be mounted here")
def test_a_store_on_a_full_disk_says_to_make_room(tmp_path: Path) -> None:
    disks = [*ROOM, *INODES, "size=64m"]
    words = [*IN_NAMESPACES, sys.executable, "-c", PROGRAM, str(tmp_path / "disks"), *disks]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    errors = json.loads(done.stdout)
    assert errors.pop("size=64m") is None
    assert [options for options, error in errors.items() if "make room" not in str(error)] == []


def failed(code: int) -> sqlite3.OperationalError:
    """An error of SQLite with an extended code."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


def test_a_used_up_quota_is_met_by_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    write_error = failed(sqlite3.SQLITE_IOERR_WRITE)
    assert "check the disk" in str(store_error(write_error, tmp_path / "x.db"))
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert has_no_room(tmp_path)
    for error in (write_error, OSError(errno.EDQUOT, "Disk quota exceeded")):
        assert "make room" in str(store_error(error, tmp_path / "x.db"))


def test_room_is_looked_for_where_a_missing_folder_would_be(tmp_path: Path) -> None:
    assert not has_no_room(tmp_path / "missing" / "x.db")
    assert has_no_room(tmp_path / "missing" / "x.db", needed=1 << 60)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("blocks", "flags", "is_full"),
    [(100, 0, True), (0, 0, False), (100, os.ST_RDONLY, False)],
    ids=["full", "reports no blocks", "for reading only"],
)
def test_a_disk_without_free_blocks_is_not_always_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, flags: int, is_full: bool
) -> None:
    numbers = (4096, 4096, blocks, 0, 0, 0, 0, 0, flags, 255)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(numbers))
    assert has_no_room(tmp_path) == is_full
