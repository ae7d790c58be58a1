"""Copies of a run's files where a person wants them, and how a person's edit of one gets back into
the run.

What Transom wrote last to the place of a copy is remembered. When the file there is another one
today, a person changed
it: that version goes back into the run, where it counts like any edit of an artifact. A file that
Transom never wrote is moved aside, not overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from transom.canonical import Json, digest
from transom.formats.yaml_files import read_text
from transom.runs import Run, write_file
from transom.runs.artifact import set_aside
from transom.store import Store

_EXPORTS = "exports"


async def export(
    store: Store,
    target: Path,
    data: bytes,
    *,
    artifact: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a copy for a person, made from `artifact`, a file of the run.

    What was in its place is moved aside.

    Raises:
        InputError: the file cannot be written.
    """
    # What was last copied there tells an edit of a person from an older copy.
    copied = _copy_record(store, target)
    if target.is_file() and digest(target.read_bytes()) not in (digest(data), copied.get("copy")):
        aside = set_aside(target)
        message = "was changed by hand" if copied else "was there already and is not ours"
        if progress:
            progress(f"{target.name} {message}; that version is kept as {aside.name}")
    write_file(target, data)
    artifact_digest = digest(artifact.read_bytes()) if artifact else ""
    # Both digests: an edit may be made in the copy, in the run's file, or in both.
    row: dict[str, Json] = {
        "copy": digest(data),
        "artifact": artifact_digest,
        "source": str(artifact or ""),
    }
    await store.put(_EXPORTS, str(target.absolute()), row)
    return target


def source_of(store: Store, target: Path) -> Path | None:
    """Return the run's own file that a copy was last made from, or None."""
    source = _copy_record(store, target).get("source")
    if source:
        return Path(source)
    return None


def adopt(
    store: Store, target: Path, artifact: Path, *, clean: Callable[[str], str] = lambda text: text
) -> bool:
    """Take a person's edit of a copy back into the run's own file.

    Returns whether there was such an edit.

    Where that file was changed by hand too, that version is moved aside: the copy counts. `clean`
    removes what was added for the copy only.

    Raises:
        InputError: the copy is not UTF-8.
    """
    copied = _copy_record(store, target)
    if not copied or not target.is_file() or not artifact.is_file():
        return False
    # Unchanged since it was written.
    if digest(target.read_bytes()) == copied["copy"]:
        return False
    text = clean(read_text(target))
    if digest(artifact.read_bytes()) not in (copied["artifact"], digest(text)):
        set_aside(artifact)
    write_file(artifact, text.encode("utf-8"))
    return True


def retract(store: Store, target: Path) -> None:
    """Remove a copy that is not true any more, if it is still as it was written."""
    # A person's version is left alone even if it is outdated.
    if target.is_file() and _copy_record(store, target).get("copy") == digest(target.read_bytes()):
        target.unlink()


def is_deleted(store: Store, target: Path) -> bool:
    """Return whether a copy was written, and a person deleted it since."""
    return bool(_copy_record(store, target)) and not target.exists()


async def forget_copy(store: Store, target: Path) -> None:
    """Forget that a copy was written: a later look does not take it for deleted again."""
    await store.put(_EXPORTS, str(target.absolute()), {})


async def record_copy(store: Store, target: Path, artifact: Path) -> None:
    """Record that a copy and the run's own file say the same now."""
    row: dict[str, Json] = {
        "copy": digest(target.read_bytes()),
        "artifact": digest(artifact.read_bytes()),
        "source": str(artifact),
    }
    await store.put(_EXPORTS, str(target.absolute()), row)


def _copy_record(store: Store, target: Path) -> dict[str, str]:
    """Return digests of what was last written to a place, and of what it was made from."""
    row = store.get(_EXPORTS, str(target.absolute()))
    if isinstance(row, dict):
        return {key: str(value) for key, value in row.items()}
    return {}


def adopt_edits(run: Run, target: Path, names: Sequence[str]) -> None:
    """Take what a person changed in a folder back to the artifacts that its files came from."""
    for name in names:
        edited = source_of(run.store, target / name)
        # A copy that another run made is no edit of this one.
        if edited and edited.is_relative_to(run.folder) and adopt(run.store, target / name, edited):
            run.progress(f"{name} was changed by hand; the change counts")
