"""What is told of a conversation whose older part was folded."""

from __future__ import annotations

import logging

from transom.context import Assembled
from transom.runs import Stage
from transom.runs.spans import of_conversation
from transom.telemetry import keys

_log = logging.getLogger(__name__)


def tell_compaction(stage: Stage, conversation: str, assembled: Assembled, began: int) -> None:
    """A span of what is over by now, and a log record.

    Args:
        stage: of the conversation.
        conversation: its name.
        assembled: what came of it.
        began: when, in nanoseconds since 1970.
    """
    before, after = assembled.tokens_before, assembled.tokens
    attributes = {
        keys.OPERATION: keys.COMPACT,
        keys.FOLDED: assembled.folded,
        keys.TOKENS_BEFORE: before,
        keys.TOKENS_AFTER: after,
        keys.COMPRESSION_RATIO: after / before if before else 1.0,
        **of_conversation(stage.place, conversation),
    }
    with stage.host.telemetry.span(f"compact {conversation}", **attributes) as span:
        span.began(began)
        _log.info(
            "conversation %s: %d events folded, %d tokens became %d", conversation, assembled.folded, before, after
        )
