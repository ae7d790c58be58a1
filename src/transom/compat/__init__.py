"""An agent with the method names of an earlier design beside its own: `send_message`, `get_history`, `get_context`."""

from __future__ import annotations

from transom.agent import Agent as _Agent
from transom.agent import Response
from transom.agent.models import ConversationContext, Message
from transom.llm import Block

__all__ = ["Agent"]


class Agent(_Agent):
    """`transom.Agent`, which see."""

    async def send_message(self, content: str, *blocks: Block) -> Response:
        """`send`."""
        return await self.send(content, *blocks)

    def get_history(self, limit: int | None = None) -> list[Message]:
        """`history`."""
        return self.history(limit)

    def get_context(self) -> ConversationContext:
        """`context`."""
        return self.context()
