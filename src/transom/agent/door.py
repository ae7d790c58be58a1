"""A thin door for code that knows no asyncio: the same agent, one event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from transom.agent.agent import Agent
from transom.agent.views import Response
from transom.context import Mark
from transom.context.summary import Summary
from transom.errors import RunError
from transom.llm import Block
from transom.runs import Approval

T = TypeVar("T")


class SyncAgent:
    """An agent whose methods wait. What does not wait (`history`, `context`, `register_tool`) is asked of `agent`.

    Args:
        agent: not used by anybody else, since it lives in this door's event loop from now on.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._runner: asyncio.Runner | None = asyncio.Runner()
        self._parent: SyncAgent | None = None

    def send(self, content: str, *blocks: Block) -> Response:
        """See `Agent.send`."""
        return self._wait(self.agent.send(content, *blocks))

    def go_on(self, *blocks: Block) -> Response:
        """See `Agent.go_on`."""
        return self._wait(self.agent.go_on(*blocks))

    def resume(self) -> Response | None:
        """See `Agent.resume`."""
        return self._wait(self.agent.resume())

    def mark(self, mark: Mark) -> None:
        """See `Agent.mark`."""
        self._wait(self.agent.mark(mark))

    def decide(self, approval: Approval) -> None:
        """See `Agent.decide`."""
        self._wait(self.agent.decide(approval))

    def create_sub_conversation(self, purpose: str, context_summary: str = "") -> SyncAgent:
        """See `Agent.create_sub_conversation`. It lives in the same loop, and ends with this one."""
        sub = SyncAgent(self._wait(self.agent.create_sub_conversation(purpose, context_summary)))
        sub._runner, sub._parent = self._runner, self
        return sub

    def complete_sub_conversation(self, id: str) -> Summary:  # noqa: A002  the model's field
        """See `Agent.complete_sub_conversation`."""
        return self._wait(self.agent.complete_sub_conversation(id))

    def close(self) -> None:
        """See `Agent.close`. What is closed stays closed; a sub-conversation can be completed still."""
        if runner := self._open_runner:
            self._wait(self.agent.close())
            if self._parent is None:
                runner.close()
        self._runner = None

    @property
    def _open_runner(self) -> asyncio.Runner | None:
        """That of the first door: with it all others are closed."""
        return self._runner if self._parent is None or self._parent._open_runner else None

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine yields.

        Raises:
            RunError: it is closed, or there is an event loop, in which nobody may wait.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            runner = self._open_runner
            busy = runner is not None and runner.get_loop().is_running()
            if runner is not None and not busy:
                return runner.run(work)
            work.close()
            if busy:  # who asks is the plain handler of a tool, in a thread of its own
                hint = "make it async, and have it await the methods of SyncAgent.agent"
                raise RunError("a handler runs in it, which cannot wait for it", where="SyncAgent", hint=hint) from None
            raise RunError("it is closed", where="SyncAgent", hint="make another one") from None
        work.close()
        raise RunError("an event loop runs here", where="SyncAgent", hint="use Agent, and await its methods")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except RunError:
            if error is None:  # else its own error is what counts
                raise
