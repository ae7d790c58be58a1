"""The files of a run: written whole, and none that a person changed is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

from transom.canonical import write_atomic
from transom.errors import InputError


def write_file(path: Path, data: bytes) -> Path:
    """Write atomically; a full disk or a read-only folder becomes one clear line.

    Raises:
        InputError: naming the file and what the system said.
    """
    try:
        write_atomic(path, data)
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror}", where=str(path), hint="make room or choose another folder, then resume"
        ) from error
    return path


def set_aside(path: Path) -> Path:
    """Copy a file that is about to be replaced beside itself, as `NAME.kept-N`: a person's work is never lost.

    It is copied, not moved: a kill in between must not look as if the file had been deleted.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.kept-{number}")).exists():
        number += 1
    return Path(shutil.copy2(path, aside))
