"""What may go wrong when a provider is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from transom.errors.base import TransomError


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
