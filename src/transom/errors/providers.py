"""Errors of providers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from transom.errors.base import TransomError


class ProviderError(TransomError):
    """A provider failed to answer.

    Attributes:
        retryable: whether a retry of the same request may succeed.
        retry_after: seconds that the server asks to wait, or None.
        reason: the failure in a few words that quote nothing of the server, e.g. `status 503`, for
            logs and progress. If it is "", these print the name of the error's class.
        status: the HTTP status of the server's answer; None if there was none.
        causes: earlier failures, oldest first: of earlier attempts, and of earlier providers.
    """

    def __init__(
        self,
        problem: str,
        *,
        place: str | None = None,
        hint: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        reason: str = "",
        **earlier: str | None,
    ) -> None:
        super().__init__(problem, place=place, hint=hint, **earlier)
        self.reason = reason
        self.status: int | None = None
        self.retryable = retryable
        self.retry_after = retry_after
        self.causes: tuple[ProviderError, ...] = ()

    def message(self) -> str:
        text = super().message()
        if not self.causes:
            return text
        return f"{text} (before that: {'; '.join(_counted(self.causes))})"

    @property
    def outcome(self) -> str:
        """Return a clause about the outcome of the request, for logs: `failed: status 503`."""
        return f"failed: {self.reason}" if self.reason else f"failed with {type(self).__name__}"


def with_causes(failed: Sequence[ProviderError]) -> ProviderError:
    """Return the last failure, with the earlier ones as its causes."""
    # A new error would lose the class of the last failure, by which callers decide.
    *earlier, last = failed
    last.causes = tuple(earlier)
    return last


def _counted(causes: Sequence[ProviderError]) -> list[str]:
    """Return the failures in order; those that repeat the one before once, with their number."""
    lines = []
    # Only failures in a row are counted together: the order tells how the provider behaved.
    for problem, group in groupby(cause.problem for cause in causes):
        times = len(list(group))
        lines.append(f"{problem}, {times} times" if times > 1 else problem)
    return lines


class AuthenticationFailed(ProviderError):
    """The provider rejects the key, or the key lacks the permission."""


class RateLimited(ProviderError):
    """The provider's rate limit is exceeded."""


class RequestRefused(ProviderError):
    """The provider rejects the request; a retry does not help."""


class ContextOverflow(RequestRefused):
    """The request is longer than the model's window.

    Attributes:
        needed: tokens of the request, None if unknown.
        limit: tokens of the window, None if unknown.
    """

    def __init__(
        self, problem: str, *, needed: int | None, limit: int | None, hint: str | None = None
    ) -> None:
        super().__init__(problem, hint=hint)
        self.needed = needed
        self.limit = limit


class NetworkFailed(ProviderError):
    """No answer, an incomplete answer, or a timeout; a retry may succeed."""

    def __init__(
        self,
        problem: str,
        *,
        place: str | None = None,
        hint: str | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(problem, place=place, hint=hint, retryable=True, reason=reason)


@dataclass(frozen=True)
class NotUnderstood:
    """Words that the rules do not understand, and the part that has them (`description`,
    `section 2`, ...).
    """

    text: str
    place: str


class NeedsModel(ProviderError):
    """The embedded rules abstain. `words` has the words that they do not understand."""

    # The command waits for a person who rewords the text, or for a model.
    exit_code = 3

    def __init__(self, words: Sequence[NotUnderstood], *, hint: str | None = None) -> None:
        self.words = tuple(words)
        quoted = ", ".join(f'"{words.text}" ({words.place})' for words in self.words)
        super().__init__(
            f"the embedded rules do not understand {quoted}",
            hint=hint or "reword it, choose a claim with reads_as, or ask a model (--model)",
        )


class ReplayMiss(ProviderError):
    """The recording has no reply for a request; the message shows the difference."""


class ReplyError(TransomError):
    """A reply cannot be parsed in the expected form.

    Attributes:
        bare: the problem without quoting the reply, "" if there is no such text.
    """

    def __init__(
        self, problem: str, *, place: str | None = None, hint: str | None = None, bare: str = ""
    ) -> None:
        super().__init__(problem, place=place, hint=hint)
        self.bare = bare
