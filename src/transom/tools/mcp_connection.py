"""A connection to an MCP server, made within a time limit, kept in its own task, and made anew
once for each call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

from transom.llm.proxies import proxy_of, transport

T = TypeVar("T")
Work: TypeAlias = Callable[[Any], Awaitable[T]]
"""A request: it is given the client and returns its answer."""
Server: TypeAlias = str | tuple[str, ...]
"""A URL, or a command with its arguments."""

_GOODBYE = 15.0  # seconds that a server may take to end; the library ends its process before that
_SECONDS = 30.0  # to connect and to send, as the library's own clients have it
_SILENCE = 300.0  # seconds between two pieces of a stream


class CallInDoubt(Exception):
    """The request was sent, and its outcome is not known. The cause is what broke."""


class Refused(Exception):
    """The server rejected the arguments: nothing was done. The cause is its answer."""


class ServerConnection:
    """A connection to one server, made within so many seconds. A request opens it where it is
    not open.
    """

    def __init__(
        self, server: Server, headers: Mapping[str, str], environ: Mapping[str, str], seconds: float
    ) -> None:
        self._server = server
        self._headers = dict(headers)
        self._environ = dict(environ)
        self._seconds = seconds
        self._client: Any = None
        self._task: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._opening = asyncio.Lock()
        self.closed = False

    async def ask(self, work: Work[T]) -> T:
        """Send one request and return its answer. A broken connection is made anew by the next
        request.

        Raises:
            CallInDoubt: the request was sent, and its outcome is not known.
            Refused: the server rejected the arguments.
            Exception: the server cannot be reached; the request was not sent.
        """
        client, task = await self._open()
        answer = asyncio.ensure_future(work(client))
        try:
            await asyncio.wait({answer, task}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ConnectionError("it is gone")
            return answer.result()
        except Exception as error:
            if _is_refusal(error):
                raise Refused from error
            if self._client is client:
                self._client = None  # a session may be gone while its connection stands
            raise CallInDoubt from error
        finally:
            answer.cancel()

    async def _open(self) -> tuple[Any, asyncio.Task[None]]:
        """Return the client and the task that keeps it; connect where there is none, with one
        attempt.
        """
        async with self._opening:
            if self._client is not None and self._task is not None and not self._task.done():
                return self._client, self._task
            await self._end()
            if self.closed:
                raise ConnectionError("it was closed")
            self._leave = asyncio.Event()
            ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._task = task = asyncio.create_task(self._keep(ready, self._leave))
            try:
                await asyncio.wait(
                    {ready, task}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
                )
                if not ready.done():
                    if task.done() and not task.cancelled() and (error := task.exception()):
                        raise error
                    late = f"it did not answer within {self._seconds:g} s"
                    raise ConnectionError("it was closed" if task.cancelled() else late)
                self._client = ready.result()
            except BaseException:
                # a second time would keep the library from ending the process
                if not task.cancelling():
                    task.cancel()
                await self._end()
                raise
            return self._client, task

    async def close(self) -> None:
        """Close it for good, also while it is being opened."""
        self.closed = True
        if self._client is None and self._task is not None:
            self._task.cancel()  # and with it the opening, which holds the lock
        async with self._opening:
            await self._end()

    async def _end(self) -> None:
        """End the connection, if there is one. A server that has died does not answer: the wait
        is bounded.
        """
        task, self._task, self._client = self._task, None, None
        if task is None:
            return
        self._leave.set()
        await asyncio.wait({task}, timeout=_GOODBYE)
        if task.cancel():
            await asyncio.wait({task}, timeout=_GOODBYE)
        elif not task.cancelled():
            # retrieved, so that asyncio does not warn; it was raised to the caller
            task.exception()

    async def _keep(self, ready: asyncio.Future[Any], leave: asyncio.Event) -> None:
        """Keep the connection, in its own task: when it breaks, the library cancels the task
        that opened it.
        """
        import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  an extra

        if isinstance(self._server, str):
            place: Any = _over_http(self._server, self._headers)
        else:
            command, *arguments = self._server
            place = mcp.StdioServerParameters(
                command=command, args=arguments, env=self._environ or None
            )
        async with mcp.Client(place, cache=None) as client:
            ready.set_result(client)
            await leave.wait()


@asynccontextmanager
async def _over_http(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    """Connect with these headers. The library follows no redirect to another server with them."""
    import httpx2  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)
    from mcp.client.streamable_http import (  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        streamable_http_client,
    )

    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(_SECONDS, read=_SILENCE),
        transport=transport(httpx2, proxy_of(url)),
    )
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams


def first(error: BaseException | None) -> BaseException | None:
    """Return the error that broke it: the first of a group, the cause of an `CallInDoubt` or
    `Refused`.
    """
    while isinstance(error, BaseExceptionGroup | CallInDoubt | Refused):
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__
    return error


def _is_refusal(error: Exception) -> bool:
    """Whether the server rejected the arguments: of this answer alone it is known that nothing
    was done.
    """
    from mcp_types import (  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        INVALID_PARAMS,
    )

    return getattr(error, "code", None) == INVALID_PARAMS
