"""What a conversation begins with: what it has from earlier lives of the program, and the runtime's own tools."""

from __future__ import annotations

from transom.agent.late import registered_before
from transom.agent.sub import Delegation
from transom.agent.turns import Conversation
from transom.config.model import SubConversationSeat
from transom.llm.codec import reply_from_json
from transom.tools.definition import ran_from_json


def take_up(talk: Conversation, seat: SubConversationSeat) -> Conversation:
    """Make a conversation ready.

    Args:
        talk: nothing was said yet in this life of it.
        seat: who work is handed to.
    """
    talk.toolbox.before = registered_before(talk.stage, talk.name)
    recall_subs(talk)
    hands = Delegation(talk, seat)
    talk.keep, talk.digest, talk.folded = hands.keep, hands.digest, hands.offer_reading
    if talk.role.strategy == "sub_conversation":
        hands.offer_delegating()
    return talk


def recall_subs(talk: Conversation) -> None:
    """Have what sub-conversations did in earlier lives count: those that came to their end are not gone through again.

    Args:
        talk: nothing was said yet in this life of it.
    """
    box, replies = talk.toolbox, talk.stage.replies_within(talk.name)
    if any(place[0] != talk.name for place, _ in replies):
        talk.meter.recall((place, reply_from_json(reply)) for place, reply in replies)
    if any(tool.recall or tool.limits.calls is not None for tool in box.tools):
        for place, outcome in talk.stage.outcomes_below(talk.name):
            box.recall(ran_from_json(outcome), place)
