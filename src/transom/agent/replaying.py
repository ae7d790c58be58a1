"""Events of what stands in the journal, told as they were told when it happened."""

from __future__ import annotations

from transom.agent.models import (
    OnEvent,
    ReplyDelta,
    ReplyReceived,
    ToolCallFinished,
    ToolCallStarted,
)
from transom.agent.session import AgentSession
from transom.llm.codec import reply_from_json
from transom.llm.deltas import Delta, tell
from transom.llm.structured import VOID
from transom.runs.conversation import CallPlace, ConversationKey, ProgramMessage
from transom.runs.event_log import RunHost
from transom.tools.definition import outcome_from_json


def tell_again(session: AgentSession, number: int) -> None:
    """Tell a stream what the journal has of its message.

    A whole reply is one piece. Calls that ran side by side come one after another, in the order in
    which they came to their ends.
    """
    on_event = session.listener and session.listener.on_journal
    if on_event:
        log = session.log
        _tell_message(log.host, log.key, log.state.messages[number], on_event)


def _tell_message(
    host: RunHost, key: ConversationKey, message: ProgramMessage, on_event: OnEvent
) -> None:
    name = key.conversation

    def on_delta(piece: Delta) -> None:
        on_event(ReplyDelta(name, piece))

    for ordinal, record in message.replies.items():
        reply = reply_from_json(record["reply"])
        tell(reply, on_delta)
        if record.get("status") == "repair":
            on_delta(VOID)
        on_event(ReplyReceived(name, reply))
        # A call without a result is told when it is made.
        for number, outcome in message.results.get(ordinal, {}).items():
            call = reply.calls[number]
            on_event(ToolCallStarted(name, call))
            # The call may have opened a sub-conversation.
            sub_key = key._replace(conversation=CallPlace(key, ordinal, number).opens)
            sub = host.state.conversations.get(sub_key)
            if sub is not None:
                for sub_message in sub.messages:
                    _tell_message(host, sub_key, sub_message, on_event)
            on_event(ToolCallFinished(name, call, outcome_from_json(outcome).result))
