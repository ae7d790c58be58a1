"""The events of one message as an asynchronous iterator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Self

from transom.agent.models import Event, OnEvent, Out, Response
from transom.errors import RunError


def both(first: OnEvent | None, second: OnEvent) -> OnEvent:
    """Return one listener that calls two; the first may be None."""
    if first is None:
        return second

    def on_event(event: Event) -> None:
        first(event)
        second(event)

    return on_event


class AnswerStream(Generic[Out]):
    """The events of one message, in an `async with` block; iterate over it with `async for`.

    The last event is a `MessageEnded`. If there is no answer, the iteration raises the error that
    `Agent.send` would raise. A stream can be entered once.

    Args:
        answer: answers the message, and tells a listener its events.
    """

    def __init__(self, answer: Callable[[OnEvent], Coroutine[Any, Any, Response[Out]]]) -> None:
        self._answer = answer
        # None is the end. The queue has no limit, since a model is not kept waiting.
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._work: asyncio.Task[Response[Out]] | None = None

    async def response(self) -> Response[Out]:
        """Wait for the end of the message and return its response; see `Agent.send`."""
        # A caller that waits no longer does not stop the message.
        return await asyncio.shield(self._begun())

    async def __aenter__(self) -> Self:
        # The message would be sent once more, and its tools would be called again.
        if self._work is not None:
            hint = "make another: async with agent.stream(...)"
            raise RunError("it was begun before", place="stream", hint=hint)
        # The message goes on while the program is busy with an event.
        self._work = asyncio.create_task(self._answer(self._events.put_nowait))
        self._work.add_done_callback(lambda _: self._events.put_nowait(None))
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        if self._work is None:
            return
        self._work.cancel()
        # Its error, if it has one, was raised by the iteration or is not asked for any more.
        await asyncio.gather(self._work, return_exceptions=True)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        self._begun()  # else no event would ever arrive
        event = await self._events.get()
        if event is not None:
            return event
        self._events.put_nowait(None)  # asked once more, it is still over
        await self.response()
        raise StopAsyncIteration

    def _begun(self) -> asyncio.Task[Response[Out]]:
        """Return the work on the message; RunError if the stream was not entered."""
        if self._work is None:
            hint = "write async with agent.stream(...) as answer"
            raise RunError("it is not begun", place="stream", hint=hint)
        return self._work
