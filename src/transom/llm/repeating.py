"""Retry of any operation, with the waits of model calls: exponential, with jitter, and capped.

    from transom import retry

    rows = await retry(fetch, on=(ConnectionError, TimeoutError))

Model calls are retried by their providers and need no `retry`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import urllib.error
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

from transom.config.hosted import Retry
from transom.errors import ProviderError
from transom.llm.attempts import wait_after
from transom.llm.hosted.failures import from_status
from transom.telemetry import child_span, keys

_log = logging.getLogger(__name__)

T = TypeVar("T")

TRANSIENT: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
"""Python's own errors that may pass by themselves."""

_OF_LIBRARIES = {
    "httpx": ("NetworkError", "RemoteProtocolError", "TimeoutException"),
    "requests": ("ConnectionError", "Timeout"),
    "aiohttp": ("ClientConnectionError",),
}
"""Errors of HTTP libraries that may pass, which do not derive from Python's own."""


@overload
async def retry(
    operation: Callable[[], Awaitable[T]],
    policy: Retry | None = None,
    *,
    on: tuple[type[Exception], ...] | None = None,
    name: str = "",
) -> T: ...


@overload
async def retry(
    operation: Callable[[], T],
    policy: Retry | None = None,
    *,
    on: tuple[type[Exception], ...] | None = None,
    name: str = "",
) -> T: ...


async def retry(
    operation: Callable[[], Any],
    policy: Retry | None = None,
    *,
    on: tuple[type[Exception], ...] | None = None,
    name: str = "",
) -> Any:
    """Call an operation until it succeeds.

    By default, lost connections, timeouts, and the HTTP statuses of a busy server (408, 429, most
    of 500 and more) may pass, in the forms of urllib, httpx, requests and aiohttp. With `on`, the
    errors that you name may, and no others. A `ProviderError` decides by itself: it is retried if
    it is `retryable`. What a server asks to wait is waited. Each attempt is a span.

    Args:
        operation: a function or coroutine function without arguments.
        policy: number of attempts, and the waits between them; default: those of model calls.
        on: errors that may pass by themselves; default: see above.
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
            delay = wait_after(attempt, _as_provider_error(error, on), policy)
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


def _as_provider_error(error: Exception, on: tuple[type[Exception], ...] | None) -> ProviderError:
    """Return an error as one that says whether it may pass, and what its server asks to wait."""
    if isinstance(error, ProviderError):
        return error
    if on is not None:
        return ProviderError(str(error), retryable=isinstance(error, on))
    # httpx and requests put the status into the response, aiohttp and urllib into the error.
    response = getattr(error, "response", error)
    status = getattr(response, "status_code", getattr(response, "status", None))
    if isinstance(status, int) and status >= 400:
        return from_status(status, None, getattr(response, "headers", None) or {})
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return ProviderError(str(error), retryable=isinstance(reason, (*TRANSIENT, *_of_libraries())))


def _of_libraries() -> list[type[Exception]]:
    """Return the passing errors of the HTTP libraries that this program has imported."""
    errors = []
    for library, names in _OF_LIBRARIES.items():
        module = sys.modules.get(library)
        for name in names:
            if hasattr(module, name):
                errors.append(getattr(module, name))
    return errors
