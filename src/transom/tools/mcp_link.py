"""A connection to an MCP server: made within a bound, kept in a task of its own, and made anew where it broke."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from transom.tools.mcp_lost import Unanswered, is_answer, is_gone, never_sent

T = TypeVar("T")
Work: TypeAlias = Callable[[Any], Awaitable[T]]
"""What is asked of a client."""

_MOST_VAIN = 3  # beginnings in a row after which no call was answered
_GOODBYE = 15.0  # seconds that a server may take to end; the library ends its process before that
_GONE = "it is gone"
_CLOSED = "it was closed"
_NOT_THERE = "nobody is there"


class Link:
    """A connection, opened when something is asked.

    It is opened in a task of its own, which goes on when whoever asked stops waiting: a server that starts more slowly
    than its tools may take would else be ended each time while it starts.

    Args:
        make: a client of the library that is not entered yet.
        seconds: to connect in.
        remote: whether each request has a connection of its own, as over HTTP.
        first: is asked of one that was made anew, before anything else. Else the library asks for the tools behind the
            first call, and an error to that is taken for the call's own.
    """

    def __init__(
        self, make: Callable[[], Any], seconds: float, *, remote: bool = False, first: Work[Any] | None = None
    ) -> None:
        self._make = make
        self._seconds = seconds
        self._remote = remote
        self._first = first
        self._client: Any = None
        self._life: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._opening: asyncio.Task[None] | None = None
        self._closed = False
        self._asked = 0
        self._under_way = 0
        self._vain = 0
        self._was_there = False

    @property
    def spent(self) -> bool:
        """Whether it is not made anew: it was closed, or too many beginnings in a row led to nothing."""
        return self._closed or (self._vain >= _MOST_VAIN and not self.alive and not self._is_opening)

    @property
    def alive(self) -> bool:
        """Whether somebody is there, as far as is known."""
        return self._client is not None and self._life is not None and not self._life.done()

    async def ready(self, seconds: float | None = None) -> bool:
        """Wait until somebody is there, for so long at most; whether somebody is. The opening goes on all the same.

        Raises:
            ConnectionError: there is nobody, or not in time.
            Exception: of the library.
        """
        if self.alive:
            return True
        if self._closed:
            raise ConnectionError(_CLOSED)
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(_heard)
        opening = self._opening
        await asyncio.wait({opening}, timeout=seconds)
        if opening.cancelled():
            raise ConnectionError(_CLOSED)
        return opening.done() and opening.result() is None

    async def ask(self, work: Work[T]) -> T:
        """What the server answers; it is waited for no longer than there is somebody to give it.

        Raises:
            Unanswered: it was sent, and what came of it is not known.
            ConnectionError: there is nobody, or not in time; it was not sent.
            Exception: of the library: what the server answered.
        """
        await self.ready()
        client, life = self._client, self._life
        if life is None:
            raise ConnectionError(_GONE)
        self._asked += 1
        number, alone = self._asked, not self._under_way
        self._under_way += 1
        answer = asyncio.ensure_future(work(client))
        try:
            await asyncio.wait({answer, life}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ConnectionError(_GONE)
            result = answer.result()
            self._vain = 0
            return result
        except Exception as error:
            gone = is_gone(error)
            if gone and self._client is client:
                self._client = None
            if is_answer(error):
                self._vain = self._vain if gone else 0  # who does not know us any more has done nothing
                raise
            alone = alone and number == self._asked  # else a connection that cannot be made may be another one's
            if self._remote and alone and await never_sent(error, life):
                raise ConnectionError(_NOT_THERE) from error
            raise Unanswered from error
        finally:
            self._under_way -= 1
            answer.cancel()

    async def close(self) -> None:
        """Say goodbye, for good; one that is being opened is ended too."""
        self._closed = True
        if self._opening is not None and self._opening.cancel():
            await asyncio.wait({self._opening})
        await self._end()

    @property
    def _is_opening(self) -> bool:
        return self._opening is not None and not self._opening.done()

    async def _end(self) -> None:
        """End what there is; a server that has died does not answer, and nothing is lost by that."""
        life, self._life, self._client = self._life, None, None
        if life is None:
            return
        self._leave.set()
        await asyncio.wait({life}, timeout=_GOODBYE)
        if life.cancel():
            await asyncio.wait({life}, timeout=_GOODBYE)
        else:
            _heard(life)  # it was told where somebody waited for it

    async def _open(self) -> None:
        await self._end()
        if self._vain >= _MOST_VAIN:
            what = f"it was begun {self._vain} times in a row and answered no call, and is not begun again"
            raise ConnectionError(what)
        self._vain += 1
        self._leave = asyncio.Event()
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._life = life = asyncio.create_task(self._live(ready, self._leave))
        try:
            await asyncio.wait({ready, life}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                if life.done() and (error := life.exception()):
                    raise error
                raise ConnectionError(f"it did not answer within {self._seconds:g} s")
            client = ready.result()
            if self._was_there and self._first:
                await self._first(client)
            self._client, self._was_there = client, True
        except BaseException:
            if not life.cancelling():  # a second time would keep the library from ending the process
                life.cancel()
            await self._end()
            raise

    async def _live(self, ready: asyncio.Future[Any], leave: asyncio.Event) -> None:
        """The connection, in a task of its own: when it breaks, the library cancels the task that opened it."""
        async with self._make() as client:
            ready.set_result(client)
            await leave.wait()


def _heard(task: asyncio.Task[None]) -> None:
    """Its error is raised where somebody waits for it, and lost where nobody does."""
    if not task.cancelled():
        task.exception()
