"""What ends a run, a conversation or untrusted code before its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transom.errors.base import TransomError


class CapReached(TransomError):
    """A conversation has used what it may use. Nothing is lost: with a higher cap it goes on.

    Attributes:
        cap: `turns`, `tokens`, `usd` or `seconds`.
        limit: of it.
        used: of it, so far.
    """

    def __init__(self, cap: str, limit: float, used: float) -> None:
        super().__init__(
            f"the cap of {limit:g} {cap} is reached ({used:g} used)", hint=f"raise the cap on {cap} and go on"
        )
        self.cap = cap
        self.limit = limit
        self.used = used


class OutOfTurns(TransomError):
    """A role calls tools although it was told that its turns are used up.

    Attributes:
        turns: the conversation so far, `transom.llm.Turn`s, the last reply included.
        text: what the last reply said beside its calls.
    """

    def __init__(self, what: str, *, turns: Sequence[object], text: str, where: str | None = None) -> None:
        super().__init__(what, where=where, hint="allow it more turns, or choose another model")
        self.turns = tuple(turns)
        self.text = text


class RunError(TransomError):
    """A run cannot be opened or continued."""


class RunBusy(RunError):
    """Another process holds this run."""


class Unanswered(RunError, TimeoutError):
    """A message stays without an answer: it was stopped when the code ran before, and something else was said then.

    Attributes:
        by: what stopped it, the name of an error.
    """

    def __init__(self, by: str, *, where: str | None = None) -> None:
        what = f"the message was left without an answer when the code ran before ({by}), and something else was said"
        super().__init__(what, where=where, hint="begin with resume() to go on from the end")
        self.by = by


class Paused(RunError):
    """A run waits for a person or a model; its work so far is kept.

    Attributes:
        run_id: what `transom resume` takes.
        reason: why, one clause.
        question: what a person has to answer, as JSON (see `transom.runs.questions`); None where nobody is asked.
    """

    exit_code = 3

    def __init__(
        self, reason: str, *, run_id: str, hint: str | None = None, question: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"run {run_id} is paused: {reason}", hint=hint or f"go on with: transom resume {run_id}")
        self.reason, self.run_id, self.question = reason, run_id, question


class SandboxError(TransomError):
    """Untrusted code could not be run."""


class SandboxUnavailable(SandboxError):
    """This machine offers no level of isolation."""


class RegexFailed(SandboxError):
    """A regular expression that a person or a checker gave does not come to an end."""


class AtomFailed(SandboxError):
    """An atom crashed, ran out of time or memory, or answered something that is not its schema.

    Attributes:
        kind: `crash | timeout | memory | output | schema | killed`.
    """

    def __init__(self, what: str, *, kind: str, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what, where=where, hint=hint)
        self.kind = kind
