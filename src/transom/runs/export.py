"""Copies of artifacts at the places that a person named, and the edits that she makes there.

What Transom wrote last to a place is remembered. When the file there is another one today, a person changed it: that
version goes back into the run, where it counts like any edit of an artifact. A file that Transom never wrote is moved
aside, not overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from transom.canonical import digest
from transom.runs.stage import set_aside, write_file
from transom.store import Store

_TABLE = "exports"


async def export(store: Store, target: Path, data: bytes, *, progress: Callable[[str], None] | None = None) -> Path:
    """Write a copy for a person.

    Raises:
        InputError: the file cannot be written.
    """
    if target.is_file():
        found = digest(target.read_bytes())
        if found not in (digest(data), store.get(_TABLE, str(target.absolute()))):
            aside = set_aside(target)
            if progress:
                progress(f"{target.name} was there already and is not ours; it is kept as {aside.name}")
    write_file(target, data)
    await store.put(_TABLE, str(target.absolute()), digest(data))
    return target


def adopt(store: Store, target: Path, artifact: Path, *, clean: Callable[[str], str] = lambda text: text) -> bool:
    """Take a person's edit of a copy back into the run; returns whether there was one.

    Args:
        store: remembers what was exported.
        target: the copy.
        artifact: the run's own file; an edit counts only where that is there.
        clean: removes what was added for the copy only, e.g. a warning at its top.
    """
    known = store.get(_TABLE, str(target.absolute()))
    if known is None or not target.is_file() or not artifact.is_file() or digest(target.read_bytes()) == known:
        return False
    write_file(artifact, clean(target.read_text(encoding="utf-8")).encode("utf-8"))
    return True


def retract(store: Store, target: Path) -> None:
    """Remove a copy that is not true any more, if it is still as it was written."""
    if target.is_file() and store.get(_TABLE, str(target.absolute())) == digest(target.read_bytes()):
        target.unlink()
