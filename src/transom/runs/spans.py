"""What spans and logs say of a call to a model or to a tool; the names are in `transom.telemetry.keys`.

They say sizes, names and outcomes, and never a word of what was asked, said or found.
"""

from __future__ import annotations

import logging
from typing import Any

from transom.llm import Reply, Request
from transom.llm.provider import of_provider
from transom.telemetry import Span, keys

_log = logging.getLogger(__name__)


def of_conversation(place: str, name: str) -> dict[str, Any]:
    """Which conversation it is, and whose sub-conversation: a sub-conversation's name begins with its parent's.

    Args:
        place: the run and the stage, in which names are unique; together they are so everywhere.
        name: of the conversation.
    """
    parent = name.rpartition("/")[0]
    return {keys.CONVERSATION_ID: f"{place}/{name}", keys.PARENT_CONVERSATION: f"{place}/{parent}" if parent else None}


def of_agent(role: str, place: str, conversation: str) -> dict[str, Any]:
    """A message to an agent, or a sub-conversation; see `of_conversation`."""
    return {keys.OPERATION: keys.INVOKE_AGENT, keys.AGENT_NAME: role, **of_conversation(place, conversation)}


def of_request(request: Request, place: str, conversation: str) -> dict[str, Any]:
    """What is known before there is a reply."""
    window, settings, used, limit = request.window, request.settings, 0, 0
    for share in window.shares:
        used, limit = used + share.used, limit + share.limit
    return {
        keys.OPERATION: keys.CHAT,
        keys.ROLE: request.role,
        **of_conversation(place, conversation),
        keys.MESSAGES: len(window.turns),
        keys.MAX_TOKENS: settings.max_tokens,
        keys.TEMPERATURE: settings.temperature,
        keys.WINDOW_TOKENS: used,
        keys.WINDOW_AVAILABLE: limit - used,
        keys.WINDOW_DROPPED: len(window.dropped),
    }


def of_reply(reply: Reply, *, replayed: bool) -> dict[str, Any]:
    """What a reply adds."""
    usage = reply.usage
    return {
        **of_provider(reply.by),
        keys.FINISH_REASONS: [reply.stop],
        keys.INPUT_TOKENS: usage.input_tokens,
        keys.OUTPUT_TOKENS: usage.output_tokens,
        keys.TOTAL_TOKENS: usage.input_tokens + usage.output_tokens,
        keys.CACHE_READ_TOKENS: usage.cached_tokens,
        keys.CACHE_CREATION_TOKENS: usage.cache_write_tokens,
        keys.REPLAYED: replayed,
    }


def of_tool(name: str, place: str, conversation: str) -> dict[str, Any]:
    """What is known before a tool is called."""
    return {keys.OPERATION: keys.EXECUTE_TOOL, keys.TOOL_NAME: name, **of_conversation(place, conversation)}


def tell_outcome(span: Span, name: str, outcome: Any) -> None:
    """What came of a call of a tool of that name, as journaled; how long it took is how long the span is."""
    result = outcome["result"]
    span.update({keys.TOOL_CALL_ID: result["id"], keys.TOOL_SUCCESS: not result["is_error"]})
    if result["is_error"]:
        span.fail(outcome.get("error") or "ToolError")
    if _log.isEnabledFor(logging.INFO):
        how = f"failed with {outcome.get('error') or 'ToolError'}" if result["is_error"] else "succeeded"
        _log.info("tool %s, call %s: %s, %d characters", name, result["id"], how, len(result["content"]))
