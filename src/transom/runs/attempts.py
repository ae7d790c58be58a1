"""What the journal says of a stage: its attempts, and how the last one ended."""

from __future__ import annotations

from dataclasses import dataclass, field

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
