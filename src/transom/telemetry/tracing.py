"""Tracing of a program's own code: a decorator for functions, and hooks for HTTP clients."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from typing import Any, TypeVar, overload

from transom.telemetry import keys
from transom.telemetry.address import safe_address
from transom.telemetry.spans import Kind, child_span

Function = TypeVar("Function", bound=Callable[..., Any])

_STARTED = "transom_started"
_FAILED = 400  # from this status on, an answer is an error


@overload
def traced(function: Function, /) -> Function: ...


@overload
def traced(
    function: None = None, /, *, name: str = "", kind: Kind = "internal", **attributes: Any
) -> Callable[[Function], Function]: ...


def traced(
    function: Function | None = None,
    /,
    *,
    name: str = "",
    kind: Kind = "internal",
    **attributes: Any,
) -> Function | Callable[[Function], Function]:
    """Trace each call of a function, as a span below the one that is open.

    Use it as `@traced` or `@traced(name="parse", table="orders")`, on functions and coroutine
    functions. An error is recorded and raised on. Outside of a traced step nothing is recorded.

    Args:
        function: the function, if the decorator has no arguments.
        name: name of the span; default: that of the function.
        kind: OpenTelemetry's span kind.
        attributes: attributes of every span.
    """

    def decorated(target: Function) -> Function:
        title = name or target.__qualname__
        if inspect.iscoroutinefunction(target):

            @functools.wraps(target)
            async def traced_later(*args: Any, **keywords: Any) -> Any:
                with child_span(title, kind, **attributes):
                    return await target(*args, **keywords)

            return traced_later  # type: ignore[return-value]

        @functools.wraps(target)
        def traced_call(*args: Any, **keywords: Any) -> Any:
            with child_span(title, kind, **attributes):
                return target(*args, **keywords)

        return traced_call  # type: ignore[return-value]

    return decorated if function is None else decorated(function)


def http_hooks(*, is_async: bool = True) -> dict[str, list[Callable[[Any], Any]]]:
    """Return event hooks that trace each answered request of an httpx client.

    Use them as `httpx.AsyncClient(event_hooks=http_hooks())`. A span has the method, the address
    without query and credentials, and the status. A request without an answer has no span; its
    error is recorded by the step around it.

    Args:
        is_async: False for the hooks of `httpx.Client`.
    """

    def begin(request: Any) -> None:
        request.extensions[_STARTED] = time.time_ns()

    def end(response: Any) -> None:
        request = response.request
        attributes = {
            keys.HTTP_METHOD: request.method,
            keys.URL: safe_address(str(request.url.copy_with(query=None))),
            keys.HTTP_STATUS: response.status_code,
        }
        with child_span(f"{request.method} {request.url.host}", "client", **attributes) as span:
            if started := request.extensions.get(_STARTED):
                span.set_start(started)
            if response.status_code >= _FAILED:
                span.fail(str(response.status_code))

    async def begin_later(request: Any) -> None:
        begin(request)

    async def end_later(response: Any) -> None:
        end(response)

    if is_async:
        return {"request": [begin_later], "response": [end_later]}
    return {"request": [begin], "response": [end]}
