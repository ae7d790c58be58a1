"""What a program is told of a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from transom.agent.caps import Meter
from transom.agent.models import Conversation as ConversationView
from transom.agent.models import ConversationContext, SubConversation
from transom.agent.turns import Conversation
from transom.llm import Request, Turn, Usage, Window, render
from transom.llm.checked import Output
from transom.llm.structured import answer_read, schema_text

Ended = Literal["answered", "length", "refusal", "turns", "tokens", "usd", "seconds"]


@dataclass(frozen=True)
class Response:
    """What came of a message.

    Attributes:
        text: what the role said last.
        ended: `answered`, or why it did not come to an answer: `length` and `refusal` are the model's; the others are
            caps, and `Agent.go_on` goes on from there once they are raised.
        usage: tokens of the whole conversation so far.
        usd: US dollars that the whole conversation has cost so far, 0 for what is on this machine; None where nobody
            knows what a reply of it cost.
        window: what the last call saw; None where a cap left no call.
        turns: the conversation so far, this message's included.
        output: what the answer follows, as its role says it.
    """

    text: str
    ended: Ended
    usage: Usage
    usd: float | None
    window: Window | None
    turns: tuple[Turn, ...]
    output: Output | None = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> Any:
        """The answer of a role with an `output`: an instance of its model class, or for a schema the JSON as data.

        None where the role has none, or did not come to an answer (see `ended`).

        Raises:
            ReplyError: the class takes no such answer: it knows more than its schema, or is another one today.
        """
        if self.output is None or self.ended != "answered":
            return None
        return answer_read(self.text, self.output)


def context_of(
    talk: Conversation | None, view: ConversationView | SubConversation | None, meter: Meter, provider: str
) -> ConversationContext:
    """What is known of a conversation beside its words.

    Args:
        talk: as it goes on; None before it begins.
        view: as the journal has it; None where nothing was said yet.
        meter: what it used.
        provider: who answers.
    """
    messages = view.messages if view else ()
    host = talk.stage.host if talk else None
    used, limit = _room(talk) if talk else (0, 0)
    return ConversationContext(
        id=talk.name if talk else "",
        run_id=host.id if host else "",
        message_count=len(messages),
        input_tokens=meter.usage.input_tokens,
        output_tokens=meter.usage.output_tokens,
        cached_tokens=meter.usage.cached_tokens,
        usd=meter.usd,
        provider=provider,
        trace_id=host.telemetry.trace_id if host else "",
        tool_calls=sum(len(message.tool_calls) for message in messages),
        sub_conversations=view.sub_conversations if view else (),
        window_tokens=used,
        window_limit=limit,
    )


def _room(talk: Conversation) -> tuple[int, int]:
    """Tokens that a window takes before anything more is said, as estimated, and those that there are for it."""
    role, window = talk.role, Window(talk.role.prompt, talk.history.turns)
    parts = [render(Request(role.name, window, role.tools)).as_text()]
    parts += [] if role.schema is None else [schema_text(role.schema)]
    return talk.tokens.count("\n\n".join(parts)), talk.window.window_tokens(role.settings.max_tokens)
