"""A provider with rate limits and retries."""

from __future__ import annotations

from functools import partial

from transom.config.hosted import Retry
from transom.errors import AuthenticationFailed, RateLimited, RequestRefused
from transom.llm.attempts import reply_of
from transom.llm.deltas import OnDelta
from transom.llm.limits import Bucket
from transom.llm.provider import Provider
from transom.llm.reply import Reply
from transom.llm.shapes import Request

_FREE = (AuthenticationFailed, RateLimited, RequestRefused)
"""Refusals: the server counts no tokens for these requests."""


class RetryingProvider:
    """A provider with retries, within the rate limits of a bucket.

    All providers that ask the same server share its bucket.
    """

    # A chain must not ask again what is asked again here.
    is_retried = False

    def __init__(
        self, provider: Provider, policy: Retry | None = None, bucket: Bucket | None = None
    ) -> None:
        self._provider = provider
        self.policy = policy or Retry()
        self._bucket = bucket or Bucket(provider.name)
        self.name, self.local, self.caps = provider.name, provider.local, provider.caps
        self.estimate_tokens, self.fingerprint = provider.estimate_tokens, provider.fingerprint
        self.is_current = provider.is_current

    @property
    def secrets(self) -> tuple[str, ...]:
        """The provider's keys."""
        return tuple(getattr(self._provider, "secrets", ()))

    async def aclose(self) -> None:
        """Close connections."""
        close = getattr(self._provider, "aclose", None)
        if close:
            await close()

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        """Send the request until there is a reply.

        Raises:
            ProviderError: the last attempt's error, whose `causes` are those of the others.
        """
        attempt = partial(self._once, request)
        return await reply_of(
            self.name, attempt, self.policy, on_delta=on_delta, bucket=self._bucket
        )

    async def _once(self, request: Request, on_delta: OnDelta | None) -> Reply:
        reservation = await self._bucket.take(
            self.estimate_tokens(request) + request.settings.max_tokens
        )
        try:
            reply = await self._provider.complete(request, on_delta=on_delta)
        except _FREE:
            # Given back at once: the next request need not wait for it.
            await self._bucket.settle(reservation, 0)
            raise
        await self._bucket.settle(reservation, reply.usage.input_tokens + reply.usage.output_tokens)
        return reply
