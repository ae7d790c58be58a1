"""An agent for code that knows no asyncio: its methods wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Self, TypeVar

from transom.agent.agent import Agent
from transom.agent.models import Response
from transom.errors import RunError
from transom.llm import Block

T = TypeVar("T")


class SyncAgent:
    """An agent in an event loop of its own, one thing at a time; what nobody waits for is read from
    it at any time.

    Args:
        agent: not used by anybody else from now on; what is set, is set there.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._runner, self._busy, self._closed = asyncio.Runner(), threading.Lock(), False

    def __getattr__(self, name: str) -> Any:
        """The attributes of the agent: its history, its context and so on."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.agent, name)

    def __setattr__(self, name: str, value: object) -> None:
        """Properties of the agent, as its budget, are set there."""
        whose = self.agent if isinstance(getattr(Agent, name, None), property) else super()
        whose.__setattr__(name, value)

    def send(
        self,
        content: str,
        *blocks: Block,
        id: str = "",  # noqa: A002  the program's word
    ) -> Response:
        """See `Agent.send`."""
        return self.wait(self.agent.send(content, *blocks, id=id))

    def resume(self) -> Response | None:
        """See `Agent.resume`."""
        return self.wait(self.agent.resume())

    def close(self) -> None:
        """See `Agent.close`. A closed one stays closed."""
        if not self._closed:
            self.wait(self.agent.close())
            self._runner.close()
        self._closed = True

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine of the agent, or of one of its sub-conversations:
        `wait(agent.open_sub("look"))`.

        Its loop has the variables of whoever waits, who may be a tool's handler.

        Raises:
            RunError: it is closed, another thread waits here, or there is an event loop, in which
                nobody may wait.
        """
        try:
            self.agent._refuse()
            with suppress(RuntimeError):
                asyncio.get_running_loop()
                raise RunError(
                    "an event loop runs here",
                    where="SyncAgent",
                    hint="use Agent, and await its methods",
                )
            if self._closed:
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
