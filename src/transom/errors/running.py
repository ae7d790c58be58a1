"""Errors of runs, conversations and untrusted code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transom.errors.base import TransomError


class CapReached(TransomError):
    """A conversation has reached a cap. Nothing is lost: it can continue with a higher cap.

    Attributes:
        cap: `turns`, `tokens`, `usd` or `seconds`.
        limit: the cap's value.
        amount: turns, tokens, US dollars or seconds used so far.
    """

    def __init__(self, cap: str, limit: float, amount: float) -> None:
        super().__init__(
            f"the cap of {limit:g} {cap} is reached ({amount:g} used)",
            hint=f"raise the cap on {cap} and go on",
        )
        self.cap = cap
        self.limit = limit
        self.amount = amount


class OutOfTurns(TransomError):
    """A role calls tools although the runtime reported that its turns are used up.

    Attributes:
        turns: the conversation so far, `transom.llm.Turn`s, the last reply included.
        text: the text of the last reply beside its calls.
    """

    def __init__(
        self, problem: str, *, turns: Sequence[object], text: str, place: str | None = None
    ) -> None:
        super().__init__(problem, place=place, hint="allow it more turns, or choose another model")
        # `Turn` is not named, since `transom.llm` imports this package.
        self.turns = tuple(turns)
        self.text = text


class RunError(TransomError):
    """A run cannot be opened or continued."""


class RunBusy(RunError):
    """Another process has locked this run."""


class Unanswered(RunError, TimeoutError):
    """A message of an earlier execution failed and has no answer, and another message followed it.

    Attributes:
        cause: the name of the error that stopped it.
    """

    def __init__(self, cause: str, *, place: str | None = None) -> None:
        super().__init__(
            f"the message failed in an earlier execution ({cause}), and another message followed"
            " it",
            place=place,
            hint="begin with resume() to go on from the end",
        )
        self.cause = cause


class Paused(RunError):
    """A run waits for a person or a model; its finished work is kept.

    Attributes:
        run_id: the run's id for `transom resume`.
        reason: the reason, one clause.
        question: the question to a person as JSON (see `transom.runs.questions`), or None.
    """

    # The command waits, and `transom resume` continues it.
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
            f"run {run_id} is paused: {reason}",
            hint=hint or f"to continue, run: transom resume {run_id}",
        )
        self.reason = reason
        self.run_id = run_id
        # JSON, since the class of questions is in `transom.runs`, which imports this package.
        self.question = question


class SandboxError(TransomError):
    """Untrusted code could not be run."""


class SandboxUnavailable(SandboxError):
    """This machine does not support the needed level of isolation."""


class ProgramHidden(SandboxError):
    """A program exists, and the sandbox does not show it to the command."""


class RegexFailed(SandboxError):
    """A regular expression of the user or a checker does not terminate in time."""


class AtomFailed(SandboxError):
    """A checker function crashed, exceeded its time or memory, or returned a value that does not
    match its schema.

    Attributes:
        kind: `crash | timeout | memory | output | schema | killed`.
    """

    def __init__(
        self, problem: str, *, kind: str, place: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(problem, place=place, hint=hint)
        self.kind = kind
