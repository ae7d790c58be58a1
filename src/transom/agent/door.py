"""A thin door for code that knows no asyncio: the same agent, one event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from transom.agent.agent import Agent
from transom.agent.caps import Caps
from transom.agent.events import OnEvent
from transom.agent.models import Conversation, ConversationContext, Message, SubConversation
from transom.agent.views import Response
from transom.context import Mark
from transom.context.summary import Summary
from transom.errors import RunError
from transom.llm import Block
from transom.runs import Approval
from transom.runs.tool_call import mark_calls
from transom.tools import ToolDefinition

T = TypeVar("T")


class SyncAgent:
    """An agent whose methods wait, one at a time; what nobody waits for (`history`, `context`) is there at any time.

    Args:
        agent: not used by anybody else, since it lives in this door's event loop from now on.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._runner: asyncio.Runner | None = asyncio.Runner()
        self._parent: SyncAgent | None = None
        self._busy = threading.Lock()

    @property
    def id(self) -> str:
        """See `Agent.id`."""
        return self.agent.id

    @property
    def purpose(self) -> str:
        """See `Agent.purpose`."""
        return self.agent.purpose

    @property
    def caps(self) -> Caps:
        """See `Agent.caps`."""
        return self.agent.caps

    @caps.setter
    def caps(self, caps: Caps) -> None:
        self.agent.caps = caps

    @property
    def on_event(self) -> OnEvent:
        """Hears what happens while it happens; it is called in the thread that waits."""
        return self.agent.on_event

    @on_event.setter
    def on_event(self, on_event: OnEvent) -> None:
        self.agent.on_event = on_event

    def history(self, limit: int | None = None) -> list[Message]:
        """See `Agent.history`."""
        return self.agent.history(limit)

    def conversation(self, id: str | None = None) -> Conversation | SubConversation | None:  # noqa: A002  the model's field
        """See `Agent.conversation`."""
        return self.agent.conversation(id)

    def context(self) -> ConversationContext:
        """See `Agent.context`."""
        return self.agent.context()

    def record(self, path: Path | str, *, local: bool = False) -> None:
        """See `Agent.record`."""
        self.agent.record(path, local=local)

    def register_tool(self, tool: ToolDefinition) -> None:
        """See `Agent.register_tool`."""
        self.agent.register_tool(tool)

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
        sub._runner, sub._parent, sub._busy = self._runner, self, self._busy
        return sub

    def complete_sub_conversation(self, id: str) -> Summary:  # noqa: A002  the model's field
        """See `Agent.complete_sub_conversation`."""
        return self._wait(self.agent.complete_sub_conversation(id))

    def close(self) -> None:
        """See `Agent.close`. What is closed stays closed; a sub-conversation can be completed still."""
        if self._open_runner:
            with self._alone() as runner:
                runner.run(self.agent.close())
                if self._parent is None:
                    runner.close()
        self._runner = None

    @property
    def _open_runner(self) -> asyncio.Runner | None:
        """That of the first door: with it all others are closed."""
        return self._runner if self._parent is None or self._parent._open_runner else None

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine yields; see `_alone`."""
        try:
            self.agent._life.refuse_in_tool_call()
            with self._alone() as runner:
                return runner.run(work)
        finally:
            work.close()  # one that never began
            if talk := self.agent._life.talk:  # of a plain handler, whose variables the loop here does not have
                mark_calls(talk.egress)

    @contextmanager
    def _alone(self) -> Iterator[asyncio.Runner]:
        """Nobody else waits for anything in this door, or in one of its sub-conversations.

        Raises:
            RunError: it is closed, somebody does, or there is an event loop, in which nobody may wait.
        """
        if _in_event_loop():
            raise RunError("an event loop runs here", where="SyncAgent", hint="use Agent, and await its methods")
        if not self._busy.acquire(blocking=False):
            hint = "say one thing at a time"
            raise RunError("something is under way in it, in another thread", where="SyncAgent", hint=hint)
        try:
            runner = self._open_runner
            if runner is None:
                raise RunError("it is closed", where="SyncAgent", hint="make another one")
            yield runner
        finally:
            self._busy.release()

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


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
