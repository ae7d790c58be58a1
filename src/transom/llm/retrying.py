"""A provider with rate limits and retries.

The loop is written out rather than taken from a library: each attempt is a span, what a server asks
to wait holds up every run of the workspace, and a listener must hear that a broken reply begins
anew.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any

from transom.config.hosted import Retry
from transom.errors import (
    AuthenticationFailed,
    ProviderError,
    RateLimited,
    RequestRefused,
    with_causes,
)
from transom.llm.deltas import Again, Delta, OnDelta, noting
from transom.llm.limits import Bucket
from transom.llm.provider import Provider, of_provider
from transom.llm.reply import Reply
from transom.llm.shapes import Request
from transom.telemetry import child_span, keys

_log = logging.getLogger(__name__)

_FREE = (AuthenticationFailed, RateLimited, RequestRefused)
"""Refusals: the server counts no tokens for these requests."""


def wait_after(
    attempt: int, error: ProviderError, policy: Retry, chance: Callable[[], float] = random.random
) -> float | None:
    """Seconds to wait after attempt number `attempt` (from 1) failed; None where a retry is of no
    use.

    What the server asks for is a least: nothing is taken off it by chance, and a time that is past
    shortens no wait.
    """
    if not error.retryable or attempt >= policy.max_attempts:
        return None
    # In floats a large power would overflow; the cap is reached long before.
    delay = min(
        policy.max_delay, policy.initial_delay * policy.backoff_factor ** min(attempt - 1, 64)
    )
    return max(delay * (1 - policy.jitter * chance()), _asked(error, policy) or 0.0)


def _asked(error: ProviderError, policy: Retry) -> float | None:
    """Seconds that the server asked to wait, up to the cap; None where it did not, or waiting is
    of no use.
    """
    if not error.retryable or error.retry_after is None:
        return None
    return min(error.retry_after, policy.max_retry_after)


class RetryingProvider:
    """A provider with retries, within the rate limits of a bucket, which all share that ask the
    same server.
    """

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
        """Keys, where the provider has any."""
        return tuple(getattr(self._provider, "secrets", ()))

    async def aclose(self) -> None:
        """Close connections."""
        close = getattr(self._provider, "aclose", None)
        if close:
            await close()

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        """Send the request until there is a reply; else raise the last ProviderError, with the
        others as `causes`.
        """
        causes: list[ProviderError] = []
        wait = 0.0
        while True:
            await asyncio.sleep(wait)
            heard: list[Delta] = []
            attributes: dict[str, Any] = {
                **of_provider(self.name),
                keys.OPERATION: keys.ATTEMPT_CHAT,
                keys.ATTEMPT: len(causes) + 1,
                keys.RETRY_WAIT: wait,
            }
            with child_span(f"attempt {self.name}", "client", **attributes) as span:
                try:
                    return await self._once(request, noting(on_delta, heard))
                except ProviderError as error:
                    failed = error
                    # no word of the server's: it may quote what must stay here
                    span.fail(type(error).__name__)
            causes.append(failed)
            again = wait_after(len(causes), failed, self.policy)
            if again is None:
                # for those who ask after this one has given up
                await self._hold(failed, _asked(failed, self.policy))
                raise with_causes(causes)
            wait = again
            logged = (self.name, len(causes), type(failed).__name__, wait)
            _log.warning("%s: attempt %d failed with %s; asked again in %.2f s", *logged)
            await self._hold(failed, wait)
            if heard and on_delta:
                on_delta(Again(failed.what))

    async def _hold(self, failed: ProviderError, seconds: float | None) -> None:
        """Hold up all who share the limits for what a server asks of one."""
        if isinstance(failed, RateLimited) and seconds is not None:
            await self._bucket.hold(seconds)

    async def _once(self, request: Request, on_delta: OnDelta | None) -> Reply:
        taken = await self._bucket.take(self.estimate_tokens(request) + request.settings.max_tokens)
        try:
            reply = await self._provider.complete(request, on_delta=on_delta)
        except _FREE:
            await self._bucket.settle(taken, 0)
            raise
        await self._bucket.settle(taken, reply.usage.input_tokens + reply.usage.output_tokens)
        return reply
