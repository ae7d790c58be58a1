"""What can be read of an agent at any time: nobody is asked for it, and nobody waits for it."""

from __future__ import annotations

from pathlib import Path

from transom.agent.caps import Meter
from transom.agent.home import Desk
from transom.agent.models import Conversation as ConversationView
from transom.agent.models import ConversationContext, Message, SubConversation
from transom.agent.record import conversations
from transom.agent.recorded import write_talk
from transom.agent.turns import Conversation
from transom.agent.views import context_of
from transom.llm import Block, Chain


class Readable:
    """That side of an agent."""

    _always: tuple[Block, ...]
    _chain: Chain
    _desk: Desk | None
    _meter: Meter
    _name: str
    _talk: Conversation | None

    @property
    def id(self) -> str:
        """The conversation's; "" before it begins."""
        return self._talk.name if self._talk else self._name

    @property
    def purpose(self) -> str:
        """Of a sub-conversation; "" of another one."""
        return next((block.text for block in self._always if block.name == "purpose"), "")

    def history(self, limit: int | None = None) -> list[Message]:
        """The messages so far, the last `limit` of them."""
        view = self.conversation()
        messages = list(view.messages) if view else []
        return messages if limit is None else messages[-limit:] if limit > 0 else []

    def conversation(self, id: str | None = None) -> ConversationView | SubConversation | None:  # noqa: A002  the model's field
        """The conversation as data, or one of its sub-conversations; None where nothing was said yet."""
        if self._desk is None or self._talk is None:
            return None
        stage = self._desk.stage
        return conversations(stage.host.store, stage.host.records(), stage.name).get(id or self._talk.name)

    def context(self) -> ConversationContext:
        """What is known of the conversation beside its words."""
        return context_of(self._talk, self.conversation(), self._meter, self._chain.name)

    def record(self, path: Path | str, *, local: bool = False) -> None:
        """Write what was asked and answered so far, its sub-conversations' too, to a file that `replay:PATH` plays.

        Args:
            path: of the file; an older recording there is replaced.
            local: whether what is marked local may stand in it.

        Raises:
            RunError: nothing was said yet.
            InputError: see `recording_of` and `Recording.write`.
        """
        write_talk(self._talk, Path(path), local=local)
