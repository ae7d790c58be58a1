"""Retry of any operation, with the waits of model calls: exponential, with jitter, and capped.

    from transom import retry

    rows = await retry(fetch, on=(ConnectionError, TimeoutError))

Model calls are retried by their providers and need no `retry`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

from transom.config.hosted import Retry
from transom.errors import ProviderError
from transom.llm.attempts import wait_after
from transom.telemetry import child_span, keys

_log = logging.getLogger(__name__)

T = TypeVar("T")

TRANSIENT: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
"""Errors that may pass by themselves."""


@overload
async def retry(
    operation: Callable[[], Awaitable[T]],
    policy: Retry | None = None,
    *,
    on: tuple[type[Exception], ...] = TRANSIENT,
    name: str = "",
) -> T: ...


@overload
async def retry(
    operation: Callable[[], T],
    policy: Retry | None = None,
    *,
    on: tuple[type[Exception], ...] = TRANSIENT,
    name: str = "",
) -> T: ...


async def retry(
    operation: Callable[[], Any],
    policy: Retry | None = None,
    *,
    on: tuple[type[Exception], ...] = TRANSIENT,
    name: str = "",
) -> Any:
    """Call an operation until it succeeds.

    An error that is not in `on` is raised at once. A `ProviderError` decides by itself: it is
    retried if it is `retryable`, after the time that its server asks for. Each attempt is a span.

    Args:
        operation: a function or coroutine function without arguments.
        policy: number of attempts, and the waits between them; default: those of model calls.
        on: errors that may pass by themselves.
        name: name of the operation, for logs and spans; default: that of the function.

    Returns:
        What the operation returns.

    Raises:
        Exception: the error of the last attempt.
    """
    policy = policy or Retry()
    title = name or getattr(operation, "__qualname__", "operation")
    attempt, wait = 1, 0.0
    while True:
        attributes: dict[str, Any] = {keys.ATTEMPT: attempt, keys.RETRY_WAIT: wait}
        try:
            with child_span(f"attempt {title}", **attributes):
                result = operation()
                return await result if inspect.isawaitable(result) else result
        except Exception as error:
            if not isinstance(error, (ProviderError, *on)):
                raise
            delay = wait_after(attempt, _as_provider_error(error), policy)
            if delay is None:
                raise
            _log.warning(
                "%s: attempt %d failed with %s; tried again in %.2f s",
                title,
                attempt,
                type(error).__name__,
                delay,
            )
            wait = delay
        await asyncio.sleep(wait)
        attempt += 1


def _as_provider_error(error: Exception) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    return ProviderError(str(error), retryable=True)
