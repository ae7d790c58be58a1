"""An agent for code that knows no asyncio: the same methods, and each waits."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Self, TypeVar

from transom.agent.agent import Agent
from transom.agent.models import Response
from transom.context.summary import Summary
from transom.errors import RunError
from transom.llm import Block

T = TypeVar("T")


class SyncAgent:
    """All that `Agent` has; its methods wait, one at a time. What nobody waits for is there at any time.

    Args:
        agent: not used by anybody else, since it lives in an event loop of its own from now on.
        opener: of a sub-conversation, which lives in the same loop and ends with it.
    """

    def __init__(self, agent: Agent, opener: SyncAgent | None = None) -> None:
        self.agent, self._opener, self._closed = agent, opener, False
        self._runner: asyncio.Runner = opener._runner if opener else asyncio.Runner()
        self._busy: threading.Lock = opener._busy if opener else threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """What the agent has under that name; a method of it that waits here."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self.agent, name)
        if inspect.iscoroutinefunction(found):
            return lambda *given, **named: self._wait(found(*given, **named))
        return found

    def __setattr__(self, name: str, value: object) -> None:
        """What of an agent can be set is set there: its budget, and who hears of it."""
        whose = self.agent if isinstance(getattr(Agent, name, None), property) else super()
        whose.__setattr__(name, value)

    def send(self, content: str, *blocks: Block, id: str = "") -> Response:  # noqa: A002  the program's word
        """See `Agent.send`."""
        return self._wait(self.agent.send(content, *blocks, id=id))

    def resume(self) -> Response | None:
        """See `Agent.resume`."""
        return self._wait(self.agent.resume())

    def open_sub(self, purpose: str, background: str = "", *, name: str = "") -> SyncAgent:
        """See `Agent.open_sub`."""
        return SyncAgent(self._wait(self.agent.open_sub(purpose, background, name=name)), self)

    def close_sub(self, sub: SyncAgent) -> Summary:
        """See `Agent.close_sub`."""
        return self._wait(self.agent.close_sub(sub.agent))

    def close(self) -> None:
        """See `Agent.close`. What is closed stays closed."""
        if not (self._opener or self._closed):
            self._wait(self.agent.close())
            self._runner.close()
        self._closed = True

    @property
    def _is_closed(self) -> bool:
        return self._closed or (self._opener is not None and self._opener._is_closed)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine yields; its loop has the variables of whoever waits, who may be a tool's handler."""
        try:
            self.agent._refuse()
            with suppress(RuntimeError):
                asyncio.get_running_loop()
                raise RunError("an event loop runs here", where="SyncAgent", hint="use Agent, and await its methods")
            if self._is_closed:
                raise RunError("it is closed", where="SyncAgent", hint="make another one")
            if not self._busy.acquire(blocking=False):
                what = "something is under way in it, in another thread"
                raise RunError(what, where="SyncAgent", hint="say one thing at a time")
            try:
                return self._runner.run(work, context=copy_context())
            finally:
                self._busy.release()
        finally:
            work.close()  # one that never began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
