"""An agent for code that does not use asyncio: its methods wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Generic, Self, TypeVar

from transom.agent.agent import Agent, Deps_co
from transom.agent.models import Budget, Event, Out, Response
from transom.agent.streaming import AnswerStream
from transom.agent.views import Conversation, ConversationContext, Message, SubConversation
from transom.context.summary import SourceSummary
from transom.errors import RunError
from transom.llm import Block
from transom.tools import Function, ToolDefinition

T = TypeVar("T")


class SyncAgent(Generic[Deps_co, Out]):
    """An agent in an event loop of its own, which does one thing at a time.

    What needs no waiting, such as `history`, can be read at any time.

    Args:
        agent: the agent. From now on it is used through this object alone; for other methods, say
            `agent.wait(agent.agent.open())`.
        runner: the event loop, if something that its tools need was opened there, such as an
            `McpServer`; the program closes it. None for a loop of its own.
    """

    def __init__(self, agent: Agent[Deps_co, Out], *, runner: asyncio.Runner | None = None) -> None:
        self.agent = agent
        self._own_runner = runner is None
        self._runner = runner or asyncio.Runner()
        self._busy = threading.Lock()
        self._closed = False

    # -- methods that wait -------------------------------------------------------------------------

    def send(
        self,
        content: str,
        *blocks: Block,
        id: str = "",  # noqa: A002  the program's word
    ) -> Response[Out]:
        """Send a message and return its response; see `Agent.send`."""
        return self.wait(self.agent.send(content, *blocks, id=id))

    def stream(
        self,
        content: str | None = None,
        *blocks: Block,
        id: str = "",  # noqa: A002  the program's word
    ) -> SyncAnswerStream[Out]:
        """Send a message and receive its events as they happen; see `Agent.stream`.

        Example: `with agent.stream("How many?") as answer:`, and in it `for event in answer:`. The
        message goes on only while the program waits for the next event.
        """
        return SyncAnswerStream(self, self.agent.stream(content, *blocks, id=id))

    def resume(self) -> Response[Out] | None:
        """Go on from the end of the conversation; see `Agent.resume`."""
        return self.wait(self.agent.resume())

    def close(self) -> None:
        """Close the agent and its event loop; see `Agent.close`. It cannot be opened again."""
        if not self._closed:
            self.wait(self.agent.close())
            if self._own_runner:
                self._runner.close()
        self._closed = True

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the agent or of one of its sub-conversations, and return its result.

        Example: `sub = agent.wait(agent.open_sub("look"))`. The event loop has the context
        variables of the caller, which may be a tool's handler.

        Raises:
            RunError: the agent is closed, another thread waits here, or the caller runs in an event
                loop, which must not be blocked.
        """
        try:
            # A handler of the agent's own run would wait for itself.
            self.agent._refuse()
            with suppress(RuntimeError):
                asyncio.get_running_loop()
                raise RunError(
                    "an event loop runs here",
                    place="SyncAgent",
                    hint="use Agent, and await its methods",
                )
            if self._closed:
                raise RunError("it is closed", place="SyncAgent", hint="make another one")
            if not self._busy.acquire(blocking=False):
                problem = "something is under way in it, in another thread"
                raise RunError(problem, place="SyncAgent", hint="send one message at a time")
            try:
                # The loop sees the variables of the calling thread, such as its spans.
                return self._runner.run(work, context=copy_context())
            finally:
                self._busy.release()
        finally:
            # A coroutine that never began would warn when it is collected.
            work.close()

    # -- coroutines for `wait` ---------------------------------------------------------------------

    def open_sub(
        self, purpose: str, background: str = "", *, name: str = ""
    ) -> Coroutine[Any, Any, Agent[Deps_co, Out]]:
        """Return a coroutine that opens a sub-conversation; see `Agent.open_sub`."""
        return self.agent.open_sub(purpose, background, name=name)

    def close_sub(self, sub: Agent[Any, Any]) -> Coroutine[Any, Any, SourceSummary]:
        """Return a coroutine that closes a sub-conversation; see `Agent.close_sub`."""
        return self.agent.close_sub(sub)

    def decide(
        self, answer: str, question: str | None = None, reason: str = "", *, by: str = ""
    ) -> Coroutine[Any, Any, None]:
        """Return a coroutine that records a person's decision; see `Agent.decide`."""
        return self.agent.decide(answer, question, reason, by=by)

    # -- what needs no waiting ---------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The name of the conversation."""
        return self.agent.id

    @property
    def budget(self) -> Budget:
        """The budget of the conversation; see `Agent.budget`."""
        return self.agent.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self.agent.budget = budget

    def register_tool(self, tool: ToolDefinition[Deps_co] | Function) -> None:
        """Add a tool; see `Agent.register_tool`."""
        self.agent.register_tool(tool)

    def history(self, limit: int | None = None) -> list[Message]:
        """Return the messages so far; see `Agent.history`."""
        return self.agent.history(limit)

    def conversation(
        self,
        id: str | None = None,  # noqa: A002  the model's field
    ) -> Conversation | SubConversation | None:
        """Return the conversation as data; see `Agent.conversation`."""
        return self.agent.conversation(id)

    def context(self) -> ConversationContext:
        """Return the facts about the conversation; see `Agent.context`."""
        return self.agent.context()

    def __enter__(self) -> Self:
        try:
            self.wait(self.agent.__aenter__())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SyncAnswerStream(Generic[Out]):
    """The events of one message, in a `with` block; see `AnswerStream`.

    Args:
        agent: waits for each event.
        stream: the events.
    """

    def __init__(self, agent: SyncAgent[Any, Any], stream: AnswerStream[Out]) -> None:
        self._agent = agent
        self._stream = stream

    def response(self) -> Response[Out]:
        """Wait for the end of the message and return its response; see `Agent.send`."""
        return self._agent.wait(self._stream.response())

    def __enter__(self) -> Self:
        self._agent.wait(self._stream.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._agent.wait(self._stream.__aexit__(None, None, None))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            return self._agent.wait(self._stream.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None
