"""An agent for code that knows no asyncio: the same methods, and each waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeVar

from transom.agent.agent import Agent
from transom.agent.budget import Budget
from transom.agent.events import OnEvent
from transom.agent.models import Response
from transom.context import Mark
from transom.context.summary import Summary
from transom.errors import RunError
from transom.llm import Block
from transom.runs import Approval
from transom.runs.tool_calls import mark_calls

T = TypeVar("T")


class SyncAgent:
    """An agent whose methods wait, one at a time; what nobody waits for (`history`, `context`) is there at any time.

    Args:
        agent: not used by anybody else, since it lives in an event loop of its own from now on.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._runner: asyncio.Runner | None = asyncio.Runner()
        self._parent: SyncAgent | None = None
        self._busy = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """Whatever of the agent nobody waits for."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.agent, name)

    @property
    def budget(self) -> Budget:
        """See `Agent.budget`."""
        return self.agent.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self.agent.budget = budget

    @property
    def on_event(self) -> OnEvent | None:
        """Hears what happens while it happens; it is called in the thread that waits."""
        return self.agent.on_event

    @on_event.setter
    def on_event(self, on_event: OnEvent | None) -> None:
        self.agent.on_event = on_event

    def send(self, content: str, *blocks: Block, id: str = "") -> Response:  # noqa: A002  the program's word
        """See `Agent.send`."""
        return self._wait(self.agent.send(content, *blocks, id=id))

    def resume(self) -> Response | None:
        """See `Agent.resume`."""
        return self._wait(self.agent.resume())

    def mark(self, mark: Mark) -> None:
        """See `Agent.mark`."""
        self._wait(self.agent.mark(mark))

    def decide(self, approval: Approval) -> None:
        """See `Agent.decide`."""
        self._wait(self.agent.decide(approval))

    def open_sub(self, purpose: str, background: str = "", *, name: str = "") -> SyncAgent:
        """See `Agent.open_sub`. It lives in the same loop, and ends with this one."""
        sub = SyncAgent(self._wait(self.agent.open_sub(purpose, background, name=name)))
        sub._runner, sub._parent, sub._busy = self._runner, self, self._busy
        return sub

    def close_sub(self, sub: SyncAgent) -> Summary:
        """See `Agent.close_sub`."""
        return self._wait(self.agent.close_sub(sub.agent))

    def close(self) -> None:
        """See `Agent.close`. What is closed stays closed."""
        if self._open_runner:
            with self._alone() as runner:
                runner.run(self.agent.close())
                if self._parent is None:
                    runner.close()
        self._runner = None

    @property
    def _open_runner(self) -> asyncio.Runner | None:
        """That of the first agent: with it all others are closed."""
        return self._runner if self._parent is None or self._parent._open_runner else None

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine yields; see `_alone`."""
        try:
            self.agent._refuse()  # to a plain handler, whose variables the loop here does not have
            with self._alone() as runner:
                return runner.run(work)
        finally:
            work.close()  # one that never began
            if session := self.agent._session:
                mark_calls(session.state.egress)

    @contextmanager
    def _alone(self) -> Iterator[asyncio.Runner]:
        """Nobody else waits for anything here.

        Raises:
            RunError: it is closed, somebody does, or there is an event loop, in which nobody may wait.
        """
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise RunError("an event loop runs here", where="SyncAgent", hint="use Agent, and await its methods")
        if not self._busy.acquire(blocking=False):
            what = "something is under way in it, in another thread"
            raise RunError(what, where="SyncAgent", hint="say one thing at a time")
        try:
            runner = self._open_runner
            if runner is None:
                raise RunError("it is closed", where="SyncAgent", hint="make another one")
            yield runner
        finally:
            self._busy.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self.close()
        except RunError:
            if error is None:  # else its own error is what counts
                raise
