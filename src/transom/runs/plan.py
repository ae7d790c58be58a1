"""Whether a stage runs again: a pure decision from its history, its inputs and what lies on disk.

inputs    file       then
same      same       reuse
same      edited     honour the edit; what follows is redone
any       missing    a new attempt, asked again; everything downstream redone even if bytes agree
changed   same       redo
changed   edited     wait for a person: keep or redo
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from transom.canonical import Json
from transom.llm import AnsweredFrom, Usage


@dataclass(frozen=True)
class Attempt:
    """One try of a stage's function."""

    number: int
    fingerprint: str
    deletions: int

    def to_json(self) -> dict[str, Json]:
        """As the journal keeps it."""
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

    @property
    def by(self) -> str:
        """Who answered in it; empty where nobody was asked."""
        return ",".join(by for by, _ in self.answered)


@dataclass
class StageHistory:
    """All that the journal says of one stage.

    Attributes:
        open: the attempt that began and did not come to its end.
        wrote: whether that attempt was about to write its file, or had.
        outputs: digests of all that any attempt ever wrote.
        file: where it was written, below the run's folder.
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
    """Decide.

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
