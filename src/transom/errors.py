"""The one error tree.

    TransomError
    ├── InputError              what a person gave is wrong: file:line, what, what to do
    │   └── SettingsError       ... in a settings file or a TRANSOM_ variable
    ├── VisibilityError         a role was given a block that it does not declare
    ├── EgressError             a block marked local was about to leave the machine
    ├── WindowOverflow          a window does not fit, with its sizes
    ├── ProviderError           a provider failed; `retryable` says whether to try again
    │   ├── AuthenticationFailed  the key is missing, wrong, or may not do this
    │   ├── RateLimited         too much was asked for; it may say when to come back
    │   ├── RequestRefused      the request itself is not accepted
    │   │   └── ContextOverflow ... because it is too long, with its sizes
    │   ├── NetworkFailed       no answer, half an answer, or not in time
    │   ├── NeedsModel          the embedded rules do not understand, word for word
    │   └── ReplayMiss          no recording of this request, with the difference
    ├── ReplyError              a reply came, but cannot be read (missing or unclosed tag)
    ├── ToolError               a tool cannot be registered, or a role and its tools do not fit
    │   └── ToolRefused         a tool call is not carried out; the model is told why
    │       ├── ToolNotFoundError     ... there is no such tool
    │       ├── InvalidArgumentsError ... its arguments do not fit the schema
    │       ├── ToolExecutionError    ... the tool failed
    │       ├── ToolTimeoutError      ... the tool took too long
    │       ├── ToolInDoubtError      ... it was begun, and cut off
    │       └── ToolQuotaError        ... it was called as often as it may be
    ├── OutOfTurns              a role goes on calling tools when it may not, with the work so far
    ├── CapReached              a conversation has used what it may use, with how much
    ├── StoreError              the database cannot be opened, read or written
    ├── RunError                a run cannot be opened or continued
    │   ├── RunBusy             another process holds the run
    │   └── Paused              a run waits for a person or a model
    │       └── ApprovalNeeded  ... for a person's leave to carry out a tool call
    └── SandboxError            untrusted code could not be run
        ├── SandboxUnavailable  no level of isolation on this machine
        ├── RegexFailed         a regular expression of a person or a checker finds no end
        └── AtomFailed          the code crashed, timed out or answered nonsense

Every error says what, where and what to do; `exit_code` is the code of a command that ends with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal


class TransomError(Exception):
    """Root of every error that Transom raises on purpose.

    Args:
        what: what is wrong, one clause, no trailing full stop.
        where: `file`, `file:line`, or a name that a person knows; printed first.
        hint: what to do about it.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.hint}" if self.hint else text


class InputError(TransomError):
    """What a person gave is wrong."""


class SettingsError(InputError):
    """A settings file or a TRANSOM_ environment variable is wrong."""


class VisibilityError(TransomError):
    """A role was given a block that it does not declare in `sees`."""


class EgressError(TransomError):
    """A block with egress "local" was about to reach a remote provider."""


class WindowOverflow(TransomError):
    """A window does not fit its budget even after everything droppable was dropped.

    Attributes:
        needed: tokens that the kept blocks take.
        limit: tokens that there is room for.
        shares: what each part of the window takes of those.
    """

    def __init__(
        self,
        what: str,
        *,
        needed: int,
        limit: int,
        shares: Mapping[str, int] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, hint=hint)
        self.needed = needed
        self.limit = limit
        self.shares = dict(shares or {})


class ProviderError(TransomError):
    """A provider failed to answer.

    Attributes:
        retryable: whether the same request may be answered a little later.
        retry_after: seconds that the server asks to wait, None where it does not say.
        causes: what failed before this, oldest first: earlier attempts, and providers that were asked before.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.retryable = retryable
        self.retry_after = retry_after
        self.causes: tuple[ProviderError, ...] = ()

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} (before that: {'; '.join(_told(self.causes))})" if self.causes else text


def with_causes(failed: Sequence[ProviderError]) -> ProviderError:
    """The last of what failed, knowing all that failed before it."""
    *earlier, last = failed
    last.causes = tuple(earlier)
    return last


def _told(causes: Sequence[ProviderError]) -> list[str]:
    """What failed, in order; the same thing several times on end is said once, with its number."""
    told = [(what, len(list(same))) for what, same in groupby(cause.what for cause in causes)]
    return [f"{what}, {times} times" if times > 1 else what for what, times in told]


class AuthenticationFailed(ProviderError):
    """The provider does not accept the key, or the key may not do this."""


class RateLimited(ProviderError):
    """The provider was asked for too much."""


class RequestRefused(ProviderError):
    """The provider does not accept the request as it is; asking again changes nothing."""


class ContextOverflow(RequestRefused):
    """The request is longer than the model's window.

    Attributes:
        needed: tokens of the request, None where nobody says.
        limit: tokens that there is room for, None where nobody says.
    """

    def __init__(self, what: str, *, needed: int | None, limit: int | None, hint: str | None = None) -> None:
        super().__init__(what, hint=hint)
        self.needed = needed
        self.limit = limit


class NetworkFailed(ProviderError):
    """No answer, half an answer, or none in time. By its nature it may pass."""

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what, where=where, hint=hint, retryable=True)


@dataclass(frozen=True)
class NotUnderstood:
    """Words that the rules could not read, and where they stand (`description`, `section 2`, ...)."""

    text: str
    where: str


class NeedsModel(ProviderError):
    """The embedded rules abstain. `words` names what they could not understand."""

    exit_code = 3

    def __init__(self, words: Sequence[NotUnderstood], *, hint: str | None = None) -> None:
        self.words = tuple(words)
        quoted = ", ".join(f'"{w.text}" ({w.where})' for w in self.words)
        super().__init__(
            f"the embedded rules do not understand {quoted}",
            hint=hint or "reword it, or add a knowledge file (paths.knowledge_dirs)",
        )


class ReplayMiss(ProviderError):
    """The recording holds no reply for this request; the message shows the difference."""


class ReplyError(TransomError):
    """A reply came but cannot be read as what was asked for.

    Attributes:
        bare: what is wrong, without a word of the reply, where that can be said.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None, bare: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.bare = bare


class ToolError(TransomError):
    """A tool cannot be registered as it is, or a role and the tools at hand do not fit."""


class ToolRefused(ToolError):
    """A tool call is not carried out. `what` and `hint` are told to the model, which is to go on from there.

    Attributes:
        egress: `local` where its words may repeat what must not reach a remote provider.
    """

    egress: Literal["any", "local"] = "any"


class ToolNotFoundError(ToolRefused):
    """No tool of that name is registered."""


class InvalidArgumentsError(ToolRefused):
    """The arguments of a call do not fit the tool's schema."""


class ToolExecutionError(ToolRefused):
    """A tool failed. What it says may come from outside."""


class ToolTimeoutError(ToolRefused):
    """A tool took longer than it may."""


class ToolInDoubtError(ToolRefused):
    """A tool was begun, and what came of it is not known: an equal call waits for a person."""


class ToolBusyError(ToolRefused):
    """A tool could not begin: the threads for plain handlers are taken, or its MCP server is still being started."""


class ToolQuotaError(ToolRefused):
    """A tool was called as often as it may be in one conversation."""


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


class StoreError(TransomError):
    """The database cannot be opened, read or written."""


class RunError(TransomError):
    """A run cannot be opened or continued."""


class RunBusy(RunError):
    """Another process holds this run."""


class Paused(RunError):
    """A run waits for a person or a model; its work so far is kept.

    Attributes:
        run_id: what `transom resume` takes.
        reason: why, one clause.
    """

    exit_code = 3

    def __init__(self, reason: str, *, run_id: str, hint: str | None = None) -> None:
        super().__init__(f"run {run_id} is paused: {reason}", hint=hint or f"go on with: transom resume {run_id}")
        self.reason = reason
        self.run_id = run_id


class ApprovalNeeded(Paused):
    """A tool call waits for a person's leave.

    Attributes:
        request: what is to be approved, a `transom.runs.ApprovalRequest`.
    """

    def __init__(self, request: object, reason: str, *, run_id: str, hint: str) -> None:
        super().__init__(reason, run_id=run_id, hint=hint)
        self.request = request


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
