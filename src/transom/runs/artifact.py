"""What a stage leaves: one file, and how a value becomes it and comes back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from transom.canonical import digest, pretty_json, write_atomic
from transom.errors import InputError
from transom.llm import Usage

A_PERSON = "a person"
HOW_TO_WRITE = "make room or choose another folder, then resume"

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
