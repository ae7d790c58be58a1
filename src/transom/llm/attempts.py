"""Attempts at one request until there is a reply, and how long to wait between them.

The loop is written out rather than taken from a library: each attempt is a span, what a server asks
to wait holds up every run of the workspace, and a listener must hear that a broken reply begins
anew.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from transom.config.hosted import Retry
from transom.errors import ProviderError, RateLimited, with_causes
from transom.llm.deltas import Again, Delta, OnDelta, noting
from transom.llm.limits import Bucket
from transom.llm.reply import Reply
from transom.telemetry import Span, child_span, keys

_log = logging.getLogger(__name__)

Attempt: TypeAlias = Callable[[OnDelta | None], Awaitable[Reply]]
"""One attempt at a request; it calls the listener with pieces of the reply."""


async def reply_of(
    name: str,
    attempt: Attempt,
    policy: Retry,
    *,
    on_delta: OnDelta | None = None,
    bucket: Bucket | None = None,
    failed: ProviderError | None = None,
    earlier_pieces: Sequence[Delta] = (),
) -> Reply:
    """Make attempts until one brings a reply.

    Args:
        name: the provider's name.
        attempt: makes one attempt.
        policy: number of attempts, and the waits between them.
        on_delta: hears the pieces of each attempt, and `Again` between two attempts.
        bucket: the rate limit of all who ask the same server; it is held up for what a server asks
            to wait.
        failed: the error of the first attempt, if that was made already.
        earlier_pieces: the pieces of a reply that the listener received in it.

    Raises:
        ProviderError: the last attempt's error, whose `causes` are those of the others.
    """
    causes: list[ProviderError] = []
    pieces = [*earlier_pieces]
    wait = 0.0
    # One turn of this loop is one attempt. The first may have been made by the caller.
    while True:
        if failed is None:
            with _span(name, len(causes) + 1, wait) as span:
                try:
                    return await attempt(noting(on_delta, pieces))
                except ProviderError as error:
                    failed = error
                    # no word of the server's: it may quote what must stay here
                    span.fail(type(error).__name__)
        causes.append(failed)
        next_wait = wait_after(len(causes), failed, policy)
        if next_wait is None:
            # for those who ask after this one has given up
            await _hold(bucket, failed, _asked_to_wait(failed, policy))
            raise with_causes(causes)
        wait = next_wait
        _log.warning(
            "%s: attempt %d %s; asked again in %.2f s", name, len(causes), failed.outcome, wait
        )
        await _hold(bucket, failed, wait)
        if pieces and on_delta:
            on_delta(Again(failed.problem))
        await asyncio.sleep(wait)
        failed, pieces = None, []


def wait_after(
    attempt: int, error: ProviderError, policy: Retry, chance: Callable[[], float] = random.random
) -> float | None:
    """Return the seconds to wait after attempt number `attempt` (from 1) failed; None if a retry is
    of no use.

    What the server asks for is a least: nothing is taken off it by chance, and a time that is past
    shortens no wait.
    """
    if not error.retryable or attempt >= policy.max_attempts:
        return None
    # In floats a large power would overflow; the cap is reached long before.
    delay = min(
        policy.max_delay, policy.initial_delay * policy.backoff_factor ** min(attempt - 1, 64)
    )
    return max(delay * (1 - policy.jitter * chance()), _asked_to_wait(error, policy) or 0.0)


def of_provider(name: str) -> dict[str, str]:
    """Return the span attributes of a provider's name: `vendor:model`, or one name for both."""
    vendor, _, model = name.partition(":")
    return {keys.PROVIDER: vendor, keys.REQUEST_MODEL: model or vendor}


def _asked_to_wait(error: ProviderError, policy: Retry) -> float | None:
    """Return the seconds that the server asked to wait, up to the cap; None if it did not, or
    waiting is of no use.
    """
    if not error.retryable or error.retry_after is None:
        return None
    return min(error.retry_after, policy.max_retry_after)


def _span(name: str, number: int, wait: float) -> Span:
    attributes: dict[str, Any] = {
        **of_provider(name),
        keys.OPERATION: keys.ATTEMPT_CHAT,
        keys.ATTEMPT: number,
        keys.RETRY_WAIT: wait,
    }
    return child_span(f"attempt {name}", "client", **attributes)


async def _hold(bucket: Bucket | None, failed: ProviderError, seconds: float | None) -> None:
    """Hold up all who share the limits for what a server asks of one."""
    if bucket and isinstance(failed, RateLimited) and seconds is not None:
        await bucket.hold(seconds)
