"""A thin door for code that knows no asyncio: the same agent, one event loop of its own."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from transom.agent.agent import Agent
from transom.agent.views import Response
from transom.llm import Block
from transom.runs import Approval


class SyncAgent:
    """An agent whose methods wait. What does not wait (`history`, `context`, `register_tool`) is asked of `agent`.

    Args:
        agent: not used by anybody else, since it lives in this door's event loop from now on.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._runner = asyncio.Runner()

    def send(self, content: str, *blocks: Block) -> Response:
        """See `Agent.send`."""
        return self._runner.run(self.agent.send(content, *blocks))

    def go_on(self, *blocks: Block) -> Response:
        """See `Agent.go_on`."""
        return self._runner.run(self.agent.go_on(*blocks))

    def resume(self) -> Response | None:
        """See `Agent.resume`."""
        return self._runner.run(self.agent.resume())

    def decide(self, approval: Approval) -> None:
        """See `Agent.decide`."""
        self._runner.run(self.agent.decide(approval))

    def close(self) -> None:
        """See `Agent.close`."""
        self._runner.run(self.agent.close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
