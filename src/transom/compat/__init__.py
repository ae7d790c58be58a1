"""An agent with the method names of an earlier design: `send_message`, `get_history`,
`get_context`.
"""

from __future__ import annotations

from transom.agent import Agent as CurrentAgent
from transom.agent import Response
from transom.agent.views import ConversationContext, Message
from transom.context.summary import SourceSummary
from transom.errors import InputError
from transom.llm import Block

__all__ = ["Agent"]


class EarlierAgent(CurrentAgent):
    """`transom.Agent` with the earlier method names; programs import it as `Agent`."""

    async def send_message(self, content: str, *blocks: Block) -> Response:
        """Call `send`."""
        return await self.send(content, *blocks)

    async def create_sub_conversation(
        self, purpose: str, context_summary: str = ""
    ) -> EarlierAgent:
        """Call `open_sub`."""
        return await self.open_sub(purpose, context_summary)

    async def complete_sub_conversation(self, id: str) -> SourceSummary:  # noqa: A002
        """Call `close_sub` for the sub-conversation with this id.

        Raises:
            InputError: no sub-conversation with this id is open.
        """
        sub = self._subs.get(id)
        if sub is None:
            raise InputError(
                f"no sub-conversation {id!r} is open", place=self.id, hint="open it again"
            )
        return await self.close_sub(sub)

    def get_history(self, limit: int | None = None) -> list[Message]:
        """Call `history`."""
        return self.history(limit)

    def get_context(self) -> ConversationContext:
        """Call `context`."""
        return self.context()


# The name that programs of the earlier design import.
Agent = EarlierAgent
