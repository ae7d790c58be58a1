"""What a stage leaves: a file that is its value. And whether it runs again: a pure decision from
its past and the file.

inputs    file       then
same      same       reuse
same      edited     honour the edit; what follows is redone
any       missing    a new attempt, asked again; everything downstream redone even if bytes agree
changed   same       redo
changed   edited     wait for a person: keep or redo
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from transom.canonical import Json, digest, pretty_json, write_atomic
from transom.errors import InputError, StoreError
from transom.llm import Chain, Role, Usage
from transom.store import Store

A_PERSON = "a person"
HOW_TO_WRITE = "make room or choose another folder, then resume"

T = TypeVar("T")
P = TypeVar("P")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class ArtifactFile(Generic[T]):
    """How a stage's value is kept.

    Attributes:
        name: the file's name, readable to a person.
        folder: the folder below the run's, where several stages fill one; the stage's own where
            empty.
        encode: value -> bytes, deterministic.
        decode: bytes -> value; ValueError where a person's edit cannot be read.
    """

    name: str
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]
    folder: str = ""

    def read(self, path: Path) -> T:
        """Return the value in a file that a person may have edited.

        Raises:
            InputError: the file cannot be read back.
        """
        try:
            return self.decode(path.read_bytes())
        except (ValueError, ValidationError) as error:
            problem = f"the kept file cannot be read back: {str(error).splitlines()[0]}"
            raise InputError(
                problem, place=str(path), hint="mend it, or delete it to redo the stage"
            ) from error


def text_file(name: str, folder: str = "") -> ArtifactFile[str]:
    """Return a file of UTF-8 text."""
    return ArtifactFile(
        name, lambda text: text.encode("utf-8"), lambda data: data.decode("utf-8"), folder
    )


def model_file(name: str, model: type[M], folder: str = "") -> ArtifactFile[M]:
    """Return a file with a pydantic model as JSON, by its aliases."""
    return ArtifactFile(
        name, lambda value: pretty_json(value).encode("utf-8"), model.model_validate_json, folder
    )


@dataclass(frozen=True)
class Artifact(Generic[T]):
    """A stage's value with its history.

    Attributes:
        value: what the stage returned, or what a person made of it.
        sha256: digest of the file's bytes.
        lineage: changes with every edit and deletion here or upstream, even where bytes agree.
        epoch: changes with deletions only; replies are journaled under it, so that a deleted stage
            is asked again.
        by: whose it is: who answered in the stage, `a person` where one edited it, empty where
            nobody was asked.
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
        """Something made from this value alone, as an input of its own: it changes only when the
        part changes.
        """
        return Artifact(
            value, self.path, digest(value), self.lineage, self.epoch, self.by, self.usage
        )


def epoch_of(deletions: int, inputs: Sequence[object]) -> str:
    """Return the `epoch` of an artifact."""
    upstream = [value.epoch for value in inputs if isinstance(value, Artifact)]
    # An empty epoch keeps the journals of runs without deletions short.
    return digest([deletions, *upstream])[:16] if deletions or any(upstream) else ""


def lineage_of(epoch: str, edited: str, inputs: Sequence[object]) -> str:
    """Return the `lineage` of an artifact; `edited` is the digest of a file that a person changed,
    else "".
    """
    upstream = [value.lineage for value in inputs if isinstance(value, Artifact)]
    return digest([epoch, edited, *upstream])[:16] if epoch or edited or any(upstream) else ""


def write_file(path: Path, data: bytes) -> Path:
    """Write atomically; a full disk or a read-only folder is one InputError that names the file."""
    try:
        write_atomic(path, data)
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror}", place=str(path), hint=HOW_TO_WRITE
        ) from error
    return path


async def write_output(path: Path, data: bytes) -> None:
    """Write as `write_file` does; in a thread if other tasks would wait until it is synced.

    A cancellation is raised once the file is written, since the file belongs to the run until then.
    """
    if len(asyncio.all_tasks()) == 1:
        write_file(path, data)
        return
    writing = asyncio.get_running_loop().run_in_executor(None, write_file, path, data)
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise


def set_aside(path: Path) -> Path:
    """Copy a file that is about to be replaced beside itself, as `NAME.kept-N`: a person's work is
    never lost.

    It is copied, not moved: a kill in between must not look as if the file had been deleted.
    """
    # A name that is taken is the person's earlier version.
    number = 1
    while (aside := path.with_name(f"{path.name}.kept-{number}")).exists():
        number += 1
    return Path(shutil.copy2(path, aside))


def fetch_artifact(store: Store, history: StageHistory, path: Path) -> bool:
    """Write the file of a stage's last end from the database; returns whether it did.

    It is written if the file is missing, or is an older one of the same stage. A person's version
    is left alone, and so is the file of a run that kept its files elsewhere.
    """
    if history.last_end is None:
        return False
    output: str = history.last_end["output"]
    current = digest(path.read_bytes()) if path.is_file() else None
    if current == output or not (current is None or current in history.outputs):
        return False
    try:
        data = store.get_blob(output)
    except StoreError:
        return False
    write_file(path, data)
    return True


# -- whether a stage runs again --------------------------------------------------------------------


class Attempt(NamedTuple):
    """One try of a stage's function, as its records name it."""

    attempt: int
    fingerprint: str
    deletions: int

    @staticmethod
    def of(record: Any) -> Attempt:
        return Attempt(record["attempt"], record["fingerprint"], record["deletions"])


@dataclass
class StageHistory:
    """All that the journal says of one stage.

    Attributes:
        last_end: the record of its last end.
        open: the attempt that began and did not come to its end.
        wrote: whether that attempt was about to write its file, or had.
        outputs: digests of all that any attempt ever wrote.
        file: where it was written, below the run's folder.
        last: the kind of its last record: `started`, `done`, `failed` or `paused`.
    """

    attempts: list[Attempt] = field(default_factory=list)
    last_end: dict[str, Any] | None = None
    open: Attempt | None = None
    wrote: bool = False
    outputs: set[str] = field(default_factory=set)
    file: str = ""
    last: str = "new"

    def apply(self, kind: str, data: Any) -> None:
        """Take in a record of the stage: `started`, `writing` or `done`."""
        if kind == "started":
            self.open, self.wrote, self.last = Attempt.of(data), False, kind
            self.attempts += [self.open] if self.open not in self.attempts else []
            return
        self.outputs.add(data["output"])
        if kind == "writing":
            self.wrote, self.file = True, data.get("file", "")
        else:
            self.last_end, self.open, self.wrote, self.last = data, None, False, kind


@dataclass(frozen=True)
class StagePlan:
    """What to do with a stage.

    Attributes:
        action: `reuse` the file (edited or not), `keep` an edit although inputs changed, `run`, or
            `ask` a person.
        deletions: how often the stage's file was deleted; part of the epoch.
        edited: SHA-256 of the file where a person changed it, else "".
    """

    action: Literal["reuse", "keep", "run", "ask"]
    deletions: int = 0
    edited: str = ""


def decide(
    history: StageHistory,
    *,
    fingerprint: str,
    is_current: bool,
    file_digest: str | None,
    answer: str | None,
) -> StagePlan:
    """Return what to do with a stage.

    `file_digest` is the SHA-256 of its file, None if there is none; `answer` is a person's decision
    about exactly these changes.
    """
    last_end, cut_off = history.last_end, history.open
    # It never came to an end. An attempt that was cut off keeps the epoch that it began with.
    if last_end is None:
        return StagePlan("run", cut_off.deletions if cut_off else 0)
    deletions: int = last_end["deletions"]
    if file_digest is None:
        # A deletion counts once, however often the attempt after it fails.
        return StagePlan("run", max(deletions + 1, cut_off.deletions if cut_off else 0))
    # What an attempt wrote before it was cut off says nothing about a person's wish.
    if cut_off and history.wrote and file_digest in history.outputs:
        is_new_epoch = cut_off.deletions > deletions
        is_unfinished = file_digest != last_end["output"]
        if is_new_epoch or is_unfinished:
            return StagePlan("run", cut_off.deletions)
    # From here on its file is there, and no attempt was cut off while writing it.
    unchanged = is_current and last_end["fingerprint"] == fingerprint
    if file_digest == last_end["output"]:
        return StagePlan("reuse" if unchanged else "run", deletions)
    if unchanged:
        return StagePlan("reuse", deletions, edited=file_digest)
    # Inputs and file both changed: only a person can say which counts.
    if answer == "redo":
        return StagePlan("run", deletions)
    return StagePlan("keep" if answer == "keep" else "ask", deletions, edited=file_digest)


@dataclass(frozen=True)
class StageStep(Generic[T]):
    """One stage of a walk: its unique path, its function with all that this reads, its file, and
    its fingerprint.
    """

    name: str
    fn: Callable[..., Awaitable[T]]
    inputs: tuple[object, ...]
    output: ArtifactFile[T]
    path: Path
    fingerprint: str

    @property
    def file_digest(self) -> str | None:
        """SHA-256 of its file as it lies there; None where there is none."""
        return digest(self.path.read_bytes()) if self.path.is_file() else None


def fingerprint(chain: Chain, inputs: Sequence[object], uses: Sequence[Role], version: int) -> str:
    """Of a stage: its inputs, the roles that it asks and who answers them, and its hand-bumped
    version.

    An artifact counts by its bytes and its lineage, any other input by its content.
    """
    digests = [
        digest([value.sha256, value.lineage] if isinstance(value, Artifact) else value)
        for value in inputs
    ]
    # A changed prompt or another model makes the results void.
    roles: list[Json] = [[role.digest, chain.fingerprint(role)] for role in uses]
    return digest({"inputs": digests, "roles": roles, "version": version})
