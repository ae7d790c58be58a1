"""What can be read of an agent at any time: nobody is asked for it, and nobody waits for it."""

from __future__ import annotations

from pathlib import Path

from transom.agent.life import Life
from transom.agent.made import Made
from transom.agent.models import Conversation as ConversationView
from transom.agent.models import ConversationContext, Message, SubConversation
from transom.agent.record import conversations
from transom.agent.recorded import write_talk
from transom.agent.views import context_of
from transom.runs.tool_call import mark_calls


class Readable:
    """That side of an agent."""

    _made: Made
    _life: Life

    @property
    def id(self) -> str:
        """The conversation's; "" before it begins."""
        talk = self._life.talk
        return talk.name if talk else self._life.name

    @property
    def purpose(self) -> str:
        """Of a sub-conversation; "" of another one."""
        return next((block.text for block in self._made.always if block.name == "purpose"), "")

    def history(self, limit: int | None = None) -> list[Message]:
        """The messages so far, the last `limit` of them."""
        view = self.conversation()
        messages = list(view.messages) if view else []
        return messages if limit is None else messages[-limit:] if limit > 0 else []

    def conversation(self, id: str | None = None) -> ConversationView | SubConversation | None:  # noqa: A002  the model's field
        """The conversation as data, or one of its sub-conversations; None where nothing was said yet."""
        talk = self._life.talk
        if talk:  # a handler of a tool may read it
            mark_calls(talk.egress)
        return self._view(id)

    def _view(self, id: str | None = None) -> ConversationView | SubConversation | None:  # noqa: A002  see above
        talk = self._life.talk
        if talk is None:
            return None
        stage = talk.stage
        return conversations(stage.host.store, stage.host.records(), stage.name).get(id or talk.name)

    def context(self) -> ConversationContext:
        """What is known of the conversation beside its words."""
        return context_of(self._life.talk, self._view(), self._made.meter, self._made.chain.name)

    def record(self, path: Path | str, *, local: bool = False) -> None:
        """Write what was asked and answered so far, its sub-conversations' too, to a file that `replay:PATH` plays.

        Args:
            path: of the file; an older recording there is replaced.
            local: whether what is marked local may stand in it.

        Raises:
            RunError: nothing was said yet.
            InputError: see `recording_of` and `Recording.write`.
        """
        write_talk(self._life.talk, Path(path), local=local)
