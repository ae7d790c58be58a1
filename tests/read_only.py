"""Commands that run where a folder cannot be written: without rights, and on a read-only mount."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_BIND = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"'


def without_rights() -> list[str]:
    """Return the beginning of a command line that gives up root's right to ignore permissions."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed: root ignores permissions")
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


def on_read_only_mount(folder: Path) -> list[str]:
    """Return the beginning of a command line for which `folder` is mounted read-only."""
    unshare = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed: no mount namespace to try this in")
    probe = [*unshare, "mount", "-t", "tmpfs", "none", "/mnt"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine allows no mount in a namespace: {done.stderr.strip()}")
    return [*unshare, "sh", "-ec", _BIND, "sh", str(folder)]


@contextmanager
def write_protected(folder: Path) -> Iterator[None]:
    """Take the right to write away from a folder and all that is in it, for a while."""
    entries = [folder, *folder.rglob("*")]
    modes = [(entry, entry.stat().st_mode) for entry in entries]
    for entry, mode in modes:
        entry.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for entry, mode in modes:
            if entry.exists():
                entry.chmod(mode)


@contextmanager
def read_only(folder: Path, way: str) -> Iterator[Sequence[str]]:
    """Make a folder read-only in one of two ways, and yield the beginning of command lines."""
    if way == "mount":
        yield on_read_only_mount(folder)
    else:
        with write_protected(folder):
            yield without_rights()


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder with what is in them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
