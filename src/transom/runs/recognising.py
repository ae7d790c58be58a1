"""Recognise workspaces, and the files that lie in one.

Transom writes reports, drafts and checkpoints into its workspaces. Read as input, they would be
taken for files of the user's flow, so commands that look for files leave workspaces out. A folder
that a person names is read, even if it lies in a workspace.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import Final

FOLDER: Final = ".transom"
"""The name of a workspace unless a person chooses another."""

_LOOKED_AT = 100
_RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{10}")
_RECORDS = ("runs", "traces", "locks", "archive", "studies")


def is_workspace(folder: Path) -> bool:
    """Return whether a folder is a workspace, whatever it is called.

    It has a folder `runs`, and beside it the database, or in it the folder of a run: `state_dir`
    puts the database elsewhere.
    """
    runs = folder / "runs"
    if folder.name == FOLDER:
        return True
    if not os.path.isdir(runs):  # noqa: PTH112  unlike Path.is_dir it never raises
        return False
    if os.path.isfile(folder / "state.db"):  # noqa: PTH113  unlike Path.is_file it never raises
        return True
    # A user's own folder `runs` may be long; in that of a workspace the first names suffice.
    names = (path.name for path in islice(runs.glob("*/*"), _LOOKED_AT))
    return any(_RUN_ID.fullmatch(name) for name in names)


def is_record(name: str) -> bool:
    """Return whether a name in a workspace is one that Transom writes."""
    return name in _RECORDS or name.startswith("state.db")


def lies_in_workspace(path: Path, root: Path) -> bool:
    """Return whether a path below a root lies in a workspace that is found below the root.

    If the root itself is a workspace (`--workspace .`), only the records of Transom count: the
    other files there are the user's.
    """
    parts = path.relative_to(root).parts
    if parts and is_record(parts[0]) and is_workspace(root):
        return True
    folder = root
    for part in parts[:-1]:
        folder = folder / part
        if is_workspace(folder):
            return True
    return False


def glob_root(pattern: Path) -> Path:
    """Return the folder of a glob that a person names: what stands before its first wildcard."""
    fixed: list[str] = []
    for part in pattern.parts[:-1]:
        if "*" in part or "?" in part:
            break
        fixed.append(part)
    return Path(*fixed)
