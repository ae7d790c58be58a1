"""What the journal keeps of a sub-conversation: its opening, its closing, and its summary."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from transom.agent.session import AgentSession, ConversationLog
from transom.canonical import Json
from transom.context.summary import SourceSummary
from transom.llm import Block
from transom.llm.turns import Egress

_log = logging.getLogger(__name__)


async def journal_opening(sub: AgentSession, purpose: str, egress: Egress = "any") -> None:
    """Journal that a sub-conversation begins, unless the journal says so already."""
    assert sub.parent is not None, "it was opened by another conversation"
    parent = sub.parent.log.id
    if sub.log.state.sub is None:
        event: dict[str, Json] = {"parent": parent, "purpose": purpose}
        if egress != "any":
            event["egress"] = "local"
        await sub.log.append("conversation_opened", event)
        _log.info("sub-conversation %s: opened by %s", sub.log.id, parent)


async def journal_closing(
    log: ConversationLog, summary: SourceSummary, blocks: Sequence[Block]
) -> None:
    """Journal the summary of a sub-conversation, and whether anything of it is local."""
    event: dict[str, Json] = {
        "summary": summary.text,
        "how": summary.by,
        "struck": [*summary.struck],
    }
    if egress_of(log, blocks) != "any":
        event["egress"] = "local"
    await log.append("conversation_closed", event)
    line = "sub-conversation %s: completed, %s of %d characters"
    _log.info(line, log.id, summary.by, len(summary.text))


def closed_summary(log: ConversationLog) -> SourceSummary | None:
    """Return the summary in the journal, or None if the sub-conversation is not closed."""
    closing = log.state.sub.closed if log.state.sub else None
    if closing is None:
        return None
    return SourceSummary(closing["summary"], closing["how"], tuple(closing["struck"]))


def egress_of(log: ConversationLog, blocks: Sequence[Block]) -> Egress:
    """Return the egress of all that a sub-conversation saw and was given, even if no model answered
    from it.
    """
    policy = log.host.chain.policy
    if any(policy.is_local(block) for block in blocks):
        return "local"
    return log.state.egress
