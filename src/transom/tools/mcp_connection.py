"""A connection to an MCP server: made within a bound, kept in a task of its own, made anew once for each call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Work: TypeAlias = Callable[[Any], Awaitable[T]]
"""What is asked of a client."""

_GOODBYE = 15.0  # seconds that a server may take to end; the library ends its process before that


class Unanswered(Exception):
    """It was sent, and nobody knows what came of it. Its cause is what broke."""


class Connection:
    """A connection, opened when something is asked and nobody is there.

    Args:
        make: a client of the library that is not entered yet.
        seconds: to connect in.
        remote: whether a session of the server's may be gone while the connection stands, as over HTTP.
    """

    def __init__(self, make: Callable[[], Any], seconds: float, *, remote: bool = False) -> None:
        self._make = make
        self._seconds = seconds
        self._remote = remote
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
            if self._client is client and (self._remote or not _is_answer(error)):
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
        async with self._make() as client:
            ready.set_result(client)
            await leave.wait()


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
