"""What a stage leaves: one file, how a value becomes it and comes back, and its copies where a person wants them.

What Transom wrote last to the place of a copy is remembered. When the file there is another one today, a person changed
it: that version goes back into the run, where it counts like any edit of an artifact. A file that Transom never wrote
is moved aside, not overwritten.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from transom.canonical import Json, digest, pretty_json, write_atomic
from transom.errors import InputError
from transom.llm import Usage
from transom.store import Store

A_PERSON = "a person"
HOW_TO_WRITE = "make room or choose another folder, then resume"
_EXPORTS = "exports"

T = TypeVar("T")
P = TypeVar("P")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class File(Generic[T]):
    """How a stage's value is kept.

    Attributes:
        name: the file's name, readable to a person.
        folder: the folder below the run's, where several stages fill one; the stage's own where empty.
        encode: value -> bytes, deterministic.
        decode: bytes -> value; ValueError where a person's edit cannot be read.
    """

    name: str
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]
    folder: str = ""

    def read(self, path: Path) -> T:
        """The value in a file that a person may have edited.

        Raises:
            InputError: it cannot be read back.
        """
        try:
            return self.decode(path.read_bytes())
        except (ValueError, ValidationError) as error:
            what = f"the kept file cannot be read back: {str(error).splitlines()[0]}"
            raise InputError(what, where=str(path), hint="mend it, or delete it to redo the stage") from error


def text_file(name: str, folder: str = "") -> File[str]:
    """UTF-8 text."""
    return File(name, lambda text: text.encode("utf-8"), lambda data: data.decode("utf-8"), folder)


def model_file(name: str, model: type[M], folder: str = "") -> File[M]:
    """A pydantic model as JSON, by its aliases."""
    return File(name, lambda value: pretty_json(value).encode("utf-8"), model.model_validate_json, folder)


@dataclass(frozen=True)
class Artifact(Generic[T]):
    """A stage's value with its history.

    Attributes:
        value: what the stage returned, or what a person made of it.
        path: the file.
        sha256: digest of the file's bytes.
        lineage: changes with every edit and deletion here or upstream, even where bytes agree.
        epoch: changes with deletions only; replies are journaled under it, so that a deleted stage is asked again.
        by: whose it is: who answered in the stage, `a person` where one edited it, empty where nobody was asked.
        usage: tokens of the replies that it rests on.
    """

    value: T
    path: Path
    sha256: str
    lineage: str
    epoch: str
    by: str = ""
    usage: Usage = field(default_factory=Usage)

    def part(self, value: P) -> Artifact[P]:
        """Something made from this value alone, as an input of its own: it changes only when the part changes."""
        return Artifact(value, self.path, digest(value), self.lineage, self.epoch, self.by, self.usage)


def epoch_of(deletions: int, inputs: Sequence[object]) -> str:
    """An artifact's `epoch`."""
    upstream = [value.epoch for value in inputs if isinstance(value, Artifact)]
    return digest([deletions, *upstream])[:16] if deletions or any(upstream) else ""


def lineage_of(epoch: str, edited: str, inputs: Sequence[object]) -> str:
    """An artifact's `lineage`; `edited`: digest of the file where a person changed it, else ""."""
    upstream = [value.lineage for value in inputs if isinstance(value, Artifact)]
    return digest([epoch, edited, *upstream])[:16] if epoch or edited or any(upstream) else ""


def write_file(path: Path, data: bytes) -> Path:
    """Write atomically; a full disk or a read-only folder becomes one clear line.

    Raises:
        InputError: naming the file and what the system said.
    """
    try:
        write_atomic(path, data)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(path), hint=HOW_TO_WRITE) from error
    return path


def set_aside(path: Path) -> Path:
    """Copy a file that is about to be replaced beside itself, as `NAME.kept-N`: a person's work is never lost.

    It is copied, not moved: a kill in between must not look as if the file had been deleted.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.kept-{number}")).exists():
        number += 1
    return Path(shutil.copy2(path, aside))


async def export(
    store: Store,
    target: Path,
    data: bytes,
    *,
    artifact: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a copy for a person.

    Args:
        store: remembers what was written.
        target: where the copy goes.
        data: its bytes.
        artifact: the run's own file that it is made from.
        progress: told what was moved aside.

    Raises:
        InputError: the file cannot be written.
    """
    known = _known(store, target)
    if target.is_file() and digest(target.read_bytes()) not in (digest(data), known.get("copy")):
        aside = set_aside(target)
        what = "was changed by hand" if known else "was there already and is not ours"
        if progress:
            progress(f"{target.name} {what}; that version is kept as {aside.name}")
    write_file(target, data)
    made = digest(artifact.read_bytes()) if artifact else ""
    row: dict[str, Json] = {"copy": digest(data), "artifact": made, "source": str(artifact or "")}
    await store.put(_EXPORTS, str(target.absolute()), row)
    return target


def source_of(store: Store, target: Path) -> Path | None:
    """The run's own file that a copy was last made from, None where there was none."""
    source = _known(store, target).get("source")
    return Path(source) if source else None


def adopt(store: Store, target: Path, artifact: Path, *, clean: Callable[[str], str] = lambda text: text) -> bool:
    """Take a person's edit of a copy back into the run; returns whether there was one.

    Where the run's own file was changed by hand too, that version is moved aside: the copy counts.

    Args:
        store: remembers what was exported.
        target: the copy.
        artifact: the run's own file; an edit counts only where that is there.
        clean: removes what was added for the copy only, e.g. a warning at its top.

    Raises:
        InputError: the copy is not UTF-8.
    """
    known = _known(store, target)
    if not known or not target.is_file() or not artifact.is_file():
        return False
    if digest(target.read_bytes()) == known["copy"]:
        return False
    try:
        text = clean(target.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        line = bytes(error.object)[: error.start].count(b"\n") + 1
        raise InputError("is not UTF-8", where=f"{target}:{line}", hint="save the file as UTF-8") from error
    if digest(artifact.read_bytes()) not in (known["artifact"], digest(text)):
        set_aside(artifact)
    write_file(artifact, text.encode("utf-8"))
    return True


def retract(store: Store, target: Path) -> None:
    """Remove a copy that is not true any more, if it is still as it was written."""
    if target.is_file() and _known(store, target).get("copy") == digest(target.read_bytes()):
        target.unlink()


def _known(store: Store, target: Path) -> dict[str, str]:
    """Digests of what was last written to a place, and of what it was made from; empty where nothing was."""
    row = store.get(_EXPORTS, str(target.absolute()))
    return {key: str(value) for key, value in row.items()} if isinstance(row, dict) else {}
