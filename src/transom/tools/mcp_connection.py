"""A connection to an MCP server: made within a bound, kept in a task of its own, made anew once for each call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

from transom.llm.proxies import proxy_of, transport

T = TypeVar("T")
Work: TypeAlias = Callable[[Any], Awaitable[T]]
"""What is asked of a client."""
Server: TypeAlias = str | tuple[str, ...]
"""A URL, or a command with its arguments."""

_GOODBYE = 15.0  # seconds that a server may take to end; the library ends its process before that
_SECONDS = 30.0  # to connect and to send, as the library's own clients have it
_SILENCE = 300.0  # seconds between two pieces of a stream


class Unanswered(Exception):
    """It was sent, and nobody knows what came of it. Its cause is what broke."""


class Connection:
    """A connection, opened when something is asked and nobody is there.

    Args:
        server: where it is.
        headers: of each request to a URL.
        environ: variables of a command.
        seconds: to connect in.
    """

    def __init__(self, server: Server, headers: Mapping[str, str], environ: Mapping[str, str], seconds: float) -> None:
        self._server = server
        self._headers = dict(headers)
        self._environ = dict(environ)
        self._seconds = seconds
        self._client: Any = None
        self._task: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._opening = asyncio.Lock()
        self.closed = False

    async def open(self) -> None:
        """Connect where nobody is there, with one attempt.

        Raises:
            ConnectionError: there is nobody, or not in time.
            Exception: of the library.
        """
        async with self._opening:
            if self._client is not None and self._task is not None and not self._task.done():
                return
            await self._end()
            if self.closed:
                raise ConnectionError("it was closed")
            self._leave = asyncio.Event()
            ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._task = task = asyncio.create_task(self._live(ready, self._leave))
            try:
                await asyncio.wait({ready, task}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
                if not ready.done():
                    if task.done() and not task.cancelled() and (error := task.exception()):
                        raise error
                    late = f"it did not answer within {self._seconds:g} s"
                    raise ConnectionError("it was closed" if task.cancelled() else late)
                self._client = ready.result()
            except BaseException:
                if not task.cancelling():  # a second time would keep the library from ending the process
                    task.cancel()
                await self._end()
                raise

    async def ask(self, work: Work[T]) -> T:
        """What the server answers; it is waited for no longer than there is somebody to give it.

        Raises:
            Unanswered: it was sent, and nobody knows what came of it.
            ConnectionError: there is nobody, or not in time; it was not sent.
            Exception: of the library: the server refused the arguments.
        """
        await self.open()
        client, task = self._client, self._task
        if task is None:
            raise ConnectionError("it is gone")
        answer = asyncio.ensure_future(work(client))
        try:
            await asyncio.wait({answer, task}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ConnectionError("it is gone")
            return answer.result()
        except Exception as error:
            if _is_refusal(error):
                raise
            # Over HTTP a session may be gone while the connection stands.
            if self._client is client and (isinstance(self._server, str) or not _is_answer(error)):
                self._client = None  # the next call connects anew
            raise Unanswered from error
        finally:
            answer.cancel()

    async def close(self) -> None:
        """Say goodbye, for good; one that is being opened is ended too."""
        self.closed = True
        if self._client is None and self._task is not None:
            self._task.cancel()  # and with it the opening, which holds the lock
        async with self._opening:
            await self._end()

    async def _end(self) -> None:
        """End what there is; a server that has died does not answer, and nothing is lost by that."""
        task, self._task, self._client = self._task, None, None
        if task is None:
            return
        self._leave.set()
        await asyncio.wait({task}, timeout=_GOODBYE)
        if task.cancel():
            await asyncio.wait({task}, timeout=_GOODBYE)
        elif not task.cancelled():
            task.exception()  # raised where somebody waited for it

    async def _live(self, ready: asyncio.Future[Any], leave: asyncio.Event) -> None:
        """The connection, in a task of its own: when it breaks, the library cancels the task that opened it."""
        import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  an extra

        if isinstance(self._server, str):
            place: Any = _over_http(self._server, self._headers)
        else:
            command, *arguments = self._server
            place = mcp.StdioServerParameters(command=command, args=arguments, env=self._environ or None)
        async with mcp.Client(place, cache=None) as client:
            ready.set_result(client)
            await leave.wait()


@asynccontextmanager
async def _over_http(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    """A connection that shows these headers. The library follows no redirect to another server with them."""
    import httpx2  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)
    from mcp.client.streamable_http import streamable_http_client  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)

    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(_SECONDS, read=_SILENCE),
        transport=transport(httpx2, proxy_of(url)),
    )
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams


def first(error: BaseException | None) -> BaseException | None:
    """What broke: the first error of a group, behind an `Unanswered` too."""
    while isinstance(error, BaseExceptionGroup | Unanswered):
        error = error.__cause__ if isinstance(error, Unanswered) else error.exceptions[0]
    return error


def _is_refusal(error: Exception) -> bool:
    """Whether the server took the arguments for wrong: only of that it is known that nothing was done."""
    from mcp_types import INVALID_PARAMS  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)

    return getattr(error, "code", None) == INVALID_PARAMS


def _is_answer(error: Exception) -> bool:
    """Whether the server said so, and not the library of a connection that broke."""
    from mcp import MCPError  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)
    from mcp_types import CONNECTION_CLOSED  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)

    return isinstance(error, MCPError) and getattr(error, "code", None) != CONNECTION_CLOSED
