"""The files of the repository, as git has them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@cache
def tracked() -> tuple[Path, ...]:
    """Tracked files that exist, and new ones that are not ignored."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    names = [name for name in listed.stdout.split("\0") if name]
    return tuple(path for path in (ROOT / name for name in sorted(set(names))) if path.is_file())


def text_of(path: Path) -> str | None:
    """The text of a file, None for a binary one."""
    data = path.read_bytes()
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")
