"""Whether a stage runs again: a pure decision from its history, its inputs and what lies on disk.

inputs    file       then
same      same       reuse
same      edited     honour the edit; what follows is redone
any       missing    a new attempt, asked again; everything downstream redone even if bytes agree
changed   same       redo
changed   edited     wait for a person: keep or redo
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from transom.canonical import Json, digest
from transom.llm import AnsweredFrom, Chain, Role, Usage
from transom.runs.artifact import Artifact, File

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """One try of a stage's function."""

    number: int
    fingerprint: str
    deletions: int

    def to_json(self) -> dict[str, Json]:
        return {"attempt": self.number, "fingerprint": self.fingerprint, "deletions": self.deletions}


@dataclass(frozen=True)
class Done:
    """A stage that came to its end.

    Attributes:
        output: SHA-256 of the file that it left.
        answered: who answered in it, and from what: `(by, sources)` pairs.
        usage: tokens of the replies that it used.
    """

    attempt: Attempt
    output: str
    answered: tuple[tuple[str, tuple[AnsweredFrom, ...]], ...]
    usage: Usage


@dataclass
class StageHistory:
    """All that the journal says of one stage.

    Attributes:
        open: the attempt that began and did not come to its end.
        wrote: whether that attempt was about to write its file, or had.
        outputs: digests of all that any attempt ever wrote.
        file: where it was written, below the run's folder.
        last: the kind of its last record: `started`, `done`, `failed` or `paused`.
    """

    attempts: list[Attempt] = field(default_factory=list)
    done: Done | None = None
    open: Attempt | None = None
    wrote: bool = False
    outputs: set[str] = field(default_factory=set)
    file: str = ""
    last: str = "new"


@dataclass(frozen=True)
class Plan:
    """What to do with a stage.

    Attributes:
        action: `reuse` the file (edited or not), `keep` an edit although inputs changed, `run`, or `ask` a person.
        deletions: how often the stage's file was deleted; part of the epoch.
        edited: SHA-256 of the file where a person changed it, else "".
    """

    action: Literal["reuse", "keep", "run", "ask"]
    deletions: int = 0
    edited: str = ""


def decide(history: StageHistory, *, fingerprint: str, is_current: bool, found: str | None, answer: str | None) -> Plan:
    """What is to be done with a stage.

    Args:
        history: what the journal says of the stage.
        fingerprint: of the inputs, roles and version today.
        is_current: whether everything that the stage's replies rest on is unchanged.
        found: SHA-256 of the file on disk, None where there is none.
        answer: a person's "keep" or "redo" for this very fingerprint and file.
    """
    done, cut_off = history.done, history.open
    if done is None:
        return Plan("run", cut_off.deletions if cut_off else 0)
    deletions = done.attempt.deletions
    if found is None:
        # A deletion counts once, however often the attempt after it fails.
        return Plan("run", max(deletions + 1, cut_off.deletions if cut_off else 0))
    # What an attempt wrote before it was cut off says nothing about a person's wish.
    half_done = history.wrote and found in history.outputs
    if cut_off and half_done and (cut_off.deletions > deletions or found != done.output):
        return Plan("run", cut_off.deletions)
    unchanged = is_current and done.attempt.fingerprint == fingerprint
    if found == done.output:
        return Plan("reuse" if unchanged else "run", deletions)
    if unchanged:
        return Plan("reuse", deletions, edited=found)
    if answer == "keep":
        return Plan("keep", deletions, edited=found)
    return Plan("run" if answer == "redo" else "ask", deletions, edited=found)


@dataclass(frozen=True)
class Step(Generic[T]):
    """One stage of a walk.

    Attributes:
        name: its unique path in the run.
        fn: what does it.
        inputs: what it is given, and all that it reads.
        out: how its value is kept.
        path: where.
        fingerprint: the same as long as it would do the same.
    """

    name: str
    fn: Callable[..., Awaitable[T]]
    inputs: tuple[object, ...]
    out: File[T]
    path: Path
    fingerprint: str

    @property
    def found(self) -> str | None:
        """SHA-256 of its file as it lies there; None where there is none."""
        return digest(self.path.read_bytes()) if self.path.is_file() else None

    def done(
        self, attempt: Attempt, output: str, answered: Mapping[str, set[AnsweredFrom]], usage: Usage
    ) -> dict[str, Any]:
        """The record of its end."""
        pairs = [[by, sorted((s.to_json() for s in sources), key=str)] for by, sources in sorted(answered.items())]
        told = {"output": output, "answered": pairs, "usage": usage.to_json()}
        return {"stage": self.name, **attempt.to_json(), **told}


def fingerprint(chain: Chain, inputs: Sequence[object], uses: Sequence[Role], version: int) -> str:
    """Of a stage: its inputs, the roles that it asks and who answers them, and its hand-bumped version.

    An artifact counts by its bytes and its lineage, any other input by its content.
    """
    given = [digest([one.sha256, one.lineage] if isinstance(one, Artifact) else one) for one in inputs]
    roles: list[Json] = [[role.digest, chain.fingerprint(role)] for role in uses]
    return digest({"inputs": given, "roles": roles, "version": version})
