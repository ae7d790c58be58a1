"""Errors of runs, conversations and untrusted code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transom.errors.base import TransomError


class CapReached(TransomError):
    """A conversation has used up a cap. Nothing is lost: it can go on with a higher cap.

    Attributes:
        cap: `turns`, `tokens`, `usd` or `seconds`.
        limit: the cap's value.
        used: the amount used so far.
    """

    def __init__(self, cap: str, limit: float, used: float) -> None:
        super().__init__(
            f"the cap of {limit:g} {cap} is reached ({used:g} used)",
            hint=f"raise the cap on {cap} and go on",
        )
        self.cap = cap
        self.limit = limit
        self.used = used


class OutOfTurns(TransomError):
    """A role calls tools although it was told that its turns are used up.

    Attributes:
        turns: the conversation so far, `transom.llm.Turn`s, the last reply included.
        text: the text of the last reply beside its calls.
    """

    def __init__(
        self, what: str, *, turns: Sequence[object], text: str, where: str | None = None
    ) -> None:
        super().__init__(what, where=where, hint="allow it more turns, or choose another model")
        self.turns = tuple(turns)
        self.text = text


class RunError(TransomError):
    """A run cannot be opened or continued."""


class RunBusy(RunError):
    """Another process has locked this run."""


class Unanswered(RunError, TimeoutError):
    """A message of an earlier execution failed and has no answer, and another message followed it.

    Attributes:
        by: the name of the error that stopped it.
    """

    def __init__(self, by: str, *, where: str | None = None) -> None:
        what = f"the message failed in an earlier execution ({by}), and another message followed it"
        super().__init__(what, where=where, hint="begin with resume() to go on from the end")
        self.by = by


class Paused(RunError):
    """A run waits for a person or a model; its finished work is kept.

    Attributes:
        run_id: the run's id for `transom resume`.
        reason: the reason, one clause.
        question: the question to a person as JSON (see `transom.runs.questions`), or None.
    """

    exit_code = 3

    def __init__(
        self,
        reason: str,
        *,
        run_id: str,
        hint: str | None = None,
        question: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            f"run {run_id} is paused: {reason}", hint=hint or f"go on with: transom resume {run_id}"
        )
        self.reason, self.run_id, self.question = reason, run_id, question


class SandboxError(TransomError):
    """Untrusted code could not be run."""


class SandboxUnavailable(SandboxError):
    """This machine does not support the needed level of isolation."""


class ProgramHidden(SandboxError):
    """A program exists, and the sandbox does not show it to the command."""


class RegexFailed(SandboxError):
    """A regular expression of the user or a checker does not terminate in time."""


class AtomFailed(SandboxError):
    """An atom crashed, exceeded its time or memory, or returned a value that does not match its
    schema.

    Attributes:
        kind: `crash | timeout | memory | output | schema | killed`.
    """

    def __init__(
        self, what: str, *, kind: str, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.kind = kind
