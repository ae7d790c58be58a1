"""Events of what stands in the journal, told as they were told when it happened."""

from __future__ import annotations

from collections.abc import Collection

from transom.agent.large_results import whole_result
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


def tell_again(session: AgentSession, number: int) -> None:
    """Tell a stream what the journal has of its message.

    A whole reply is one piece. Calls that ran side by side come one after another, in the order in
    which they came to their ends.
    """
    on_event = session.listener and session.listener.on_journal
    if on_event:
        log = session.log
        openers = {tool.name for tool in session.window.toolbox.tools if tool.of_run}
        _tell_message(log.host, log.key, log.state.messages[number], on_event, openers)


def _tell_message(
    host: RunHost,
    key: ConversationKey,
    message: ProgramMessage,
    on_event: OnEvent,
    openers: Collection[str] | None = None,
) -> None:
    """Tell a message and those of the sub-conversations that its calls opened.

    Args:
        host: the run.
        key: the conversation.
        message: the message.
        on_event: receives the events.
        openers: the tools that open sub-conversations themselves; None for all. One about a result
            of another tool was opened when all calls had their results.
    """
    name = key.conversation

    def on_delta(piece: Delta) -> None:
        on_event(ReplyDelta(name, piece))

    def tell_sub(ordinal: int, number: int) -> None:
        sub_key = key._replace(conversation=CallPlace(key, ordinal, number).opens)
        sub = host.state.conversations.get(sub_key)
        if sub is not None:
            for sub_message in sub.messages:
                _tell_message(host, sub_key, sub_message, on_event)

    for ordinal, record in message.replies.items():
        reply = reply_from_json(record["reply"])
        tell(reply, on_delta)
        if record.get("status") == "repair":
            on_delta(VOID)
        on_event(ReplyReceived(name, reply))
        results = message.results.get(ordinal, {})
        # A call without a result is told when it is made.
        for number, outcome in results.items():
            call = reply.calls[number]
            on_event(ToolCallStarted(name, call))
            if openers is None or call.name in openers:
                tell_sub(ordinal, number)
            on_event(ToolCallFinished(name, call, whole_result(host.store, outcome)))
        # Without its summary, a result is summed up when the message goes on.
        for number in sorted(results):
            is_own = openers is None or reply.calls[number].name in openers
            if results[number].get("brief") and not is_own:
                tell_sub(ordinal, number)
