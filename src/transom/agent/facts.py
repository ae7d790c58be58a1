"""What can be read of an agent at any time: its conversation, its limits, what it is made of."""

from __future__ import annotations

from transom.agent.meter import Meter
from transom.agent.models import Budget
from transom.agent.outline import AgentOutline, mermaid_of, outline_of
from transom.agent.session import AgentSession
from transom.agent.setup import AgentPlace
from transom.agent.views import Conversation, ConversationContext, Message, SubConversation, view_of
from transom.llm import Role
from transom.runs.tool_calls import mark_calls
from transom.tools import Toolbox
from transom.tools.toolbox import OWN


class AgentFacts:
    """The part of an agent that sends nothing: it reads, and holds the budget."""

    _role: Role
    _place: AgentPlace
    _toolbox: Toolbox
    _meter: Meter
    _session: AgentSession | None
    _name: str

    @property
    def id(self) -> str:
        """The name of the conversation."""
        return self._name

    @property
    def budget(self) -> Budget:
        """The limits of the agent and its sub-conversations together. You can raise them at any
        time.
        """
        return self._meter.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        place = self._place
        self._meter.hold(budget, place.chain.everyone, place.setup.settings.paths.prices)

    def history(self, limit: int | None = None) -> list[Message]:
        """Return the messages so far, or the last `limit` of them."""
        view = self.conversation()
        messages = list(view.messages) if view else []
        if limit is None:
            return messages
        return messages[-limit:] if limit > 0 else []

    def conversation(
        self,
        id: str | None = None,  # noqa: A002  the model's field
    ) -> Conversation | SubConversation | None:
        """Return the conversation as data, or one of its sub-conversations.

        None if it has no message yet.
        """
        if self._session is None:
            return None
        log = self._session.log
        mark_calls(log.state.egress)  # a handler of a tool may read it
        return view_of(log.host.store, log.host.records(), log.stage.key(id or log.id))

    def context(self) -> ConversationContext:
        """Return the facts about the conversation: provider, usage, cost, ids."""
        if self._session is None:
            return ConversationContext(provider=self._place.chain.name)
        log = self._session.log
        host, state, messages = log.host, log.state, self.history()
        return ConversationContext(
            provider=host.chain.name,
            id=self.id,
            run_id=host.id,
            message_count=len(messages),
            usage=state.spent.usage,
            usd=self._meter.usd(log.account, state.spent),
            trace_id=host.telemetry.trace_id,
            tool_calls=sum(len(message.tool_calls) for message in messages),
        )

    def to_mermaid(self) -> str:
        """Return the agent as a flowchart for Mermaid: its tools and sub-agents, and what each may
        do.
        """
        return mermaid_of(self.outline())

    def outline(self) -> AgentOutline:
        """Return what the agent is made of: its role, what that sees, tools and sub-agents."""
        tools = [tool for tool in self._toolbox.tools if tool.name not in OWN]
        return outline_of(self._role, tools, self._place.chain.name)
