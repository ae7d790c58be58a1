"""Spans and log lines of calls to models and tools; the names are in `transom.telemetry.keys`.

They hold sizes, names and outcomes, and no text of requests, replies or results; texts are logged
at DEBUG alone.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from transom.errors import EgressError, NeedsModel, ProviderError, ReplyError, TransomError
from transom.llm import Chain, Reply, Request, Usage, render
from transom.llm.attempts import of_provider
from transom.llm.egress import EgressPolicy
from transom.telemetry import Span, current_span, keys

_log = logging.getLogger(__name__)


def of_conversation(place: str, name: str) -> dict[str, Any]:
    """Return the attributes of a conversation and its parent.

    The name of a sub-conversation begins with its parent's.
    """
    parent = name.rpartition("/")[0]
    return {
        keys.CONVERSATION_ID: f"{place}/{name}",
        keys.PARENT_CONVERSATION: f"{place}/{parent}" if parent else None,
    }


def of_agent(role: str, place: str, conversation: str) -> dict[str, Any]:
    """Return the attributes of a message to an agent, or of a sub-conversation."""
    return {
        keys.OPERATION: keys.INVOKE_AGENT,
        keys.AGENT_NAME: role,
        **of_conversation(place, conversation),
    }


def of_request(request: Request, place: str, conversation: str) -> dict[str, Any]:
    """Return the attributes of a request that has no reply yet."""
    window, settings = request.window, request.settings
    tokens, limit = 0, 0
    for share in window.shares:
        tokens += share.used
        limit += share.limit
    media = None
    for block in window.blocks:
        if block.media is not None:
            media = [*(media or ()), f"{block.media.media_type} {block.media.size}"]
    return {
        keys.OPERATION: keys.CHAT,
        keys.ROLE: request.role,
        **of_conversation(place, conversation),
        keys.MESSAGES: len(window.turns),
        keys.MAX_TOKENS: settings.max_tokens,
        keys.TEMPERATURE: settings.temperature,
        keys.WINDOW_TOKENS: tokens,
        keys.WINDOW_AVAILABLE: limit - tokens,
        keys.WINDOW_DROPPED: len(window.dropped),
        keys.WINDOW_MEDIA: media,
    }


def of_reply(reply: Reply) -> dict[str, Any]:
    """Return the attributes that a reply adds to those of its request."""
    usage = reply.usage
    return {
        **of_provider(reply.by),
        keys.FINISH_REASONS: [reply.stop],
        keys.INPUT_TOKENS: usage.input_tokens,
        keys.OUTPUT_TOKENS: usage.output_tokens,
        keys.TOTAL_TOKENS: usage.input_tokens + usage.output_tokens,
        keys.CACHE_READ_TOKENS: usage.cached_tokens,
        keys.CACHE_CREATION_TOKENS: usage.cache_write_tokens,
        keys.REPLAYED: False,
    }


def log_outcome(span: Span, name: str, outcome: Any) -> None:
    """Set the outcome of a tool call on its span, and log it.

    Args:
        span: the span of the call.
        name: the name of the tool.
        outcome: the outcome as the journal has it.
    """
    result = outcome["result"]
    has_failed = result["is_error"]
    span.update({keys.TOOL_CALL_ID: result["id"], keys.TOOL_SUCCESS: not has_failed})
    error_type = outcome.get("error") or "ToolError"
    if has_failed:
        span.fail(error_type)
    if _log.isEnabledFor(logging.INFO):
        ending = f"failed with {error_type}" if has_failed else "succeeded"
        line = "tool %s, call %s: %s, %d characters"
        _log.info(line, name, result["id"], ending, len(result["content"]))


def log_reply(request: Request, reply: Reply, policy: EgressPolicy, began: float) -> None:
    """Log an answered call.

    At DEBUG the line holds the texts that were sent and came back, unless something of them is
    marked local; see `transom.telemetry.configure` for what is redacted.

    Args:
        request: the request.
        reply: its reply.
        policy: says what is local.
        began: the time of `time.monotonic` when the call began.
    """
    if not _log.isEnabledFor(logging.INFO):
        return
    usage, ending = reply.usage, f"answered by {reply.by}"
    if usage != Usage():  # rules spend no tokens, and some servers report none
        ending += f", {usage.input_tokens} tokens in ({usage.cached_tokens} cached)"
        ending += f", {usage.output_tokens} out"
    ending += f", {time.monotonic() - began:.2f} s"
    _log_texts(request, ending, reply.text, policy)


def log_failure(
    request: Request, error: Exception, chain: Chain, seconds: float, *, answers_logged: bool
) -> None:
    """Log a call that failed at ERROR, without a word of what was sent or came back.

    At DEBUG a second line holds the texts, see `log_reply`.

    Args:
        request: the request.
        error: its error.
        chain: the providers of the run.
        seconds: how long the call took.
        answers_logged: whether the run logs answered calls, too.
    """
    # That the rules abstain is news only for a program that logs each call.
    if answers_logged or not isinstance(error, NeedsModel):
        _log_failed_call(request, error, chain, f"{seconds:.2f} s")
    if answers_logged and isinstance(error, TransomError) and _log.isEnabledFor(logging.DEBUG):
        _log_texts(request, f"failed: {error.problem}", "", chain.policy)


def log_unreadable(request: Request, error: ReplyError, chain: Chain, answers: int) -> None:
    """Log a call as failed whose answers cannot be read; `answers` is their number."""
    _log_failed_call(request, error, chain, "all of them answered", answers)


def _log_failed_call(
    request: Request, error: Exception, chain: Chain, ending: str, answers: int = 0
) -> None:
    """Log a failed call with the fields that a log can be filtered by.

    None of the error's words are in it: a server may quote what it was sent.
    """
    names = [provider.name for provider in chain.of(request.role).providers]
    provider = ",".join(names)
    outcome = f"failed with {type(error).__name__}"
    attempts = 1
    if isinstance(error, ProviderError):
        outcome = error.outcome
        attempts = len(error.causes) + 1
        if error.place in names:
            provider = error.place
    elif isinstance(error, EgressError):
        attempts = 0  # nothing was sent
    if answers:
        attempts = answers
    about: dict[str, str | int] = {
        "error_type": type(error).__name__,
        "provider": provider,
        "attempts": attempts,
    }
    if span := current_span():
        about |= {"trace_id": span.trace_id, "span_id": span.span_id}
    # That the rules abstain is not a failure.
    level = logging.INFO if isinstance(error, NeedsModel) else logging.ERROR
    line = f"role {request.role} {outcome}, provider {provider}, attempts {attempts}"
    extra = {"about": about}
    _log.log(level, "call %s: %s, %s", request.digest[:16], line, ending, extra=extra)


def _log_texts(request: Request, ending: str, reply_text: str, policy: EgressPolicy) -> None:
    """Log a call: one line at INFO; at DEBUG with its texts, unless they are local."""
    head = f"call {request.digest[:16]}: role {request.role} {ending}"
    if not _log.isEnabledFor(logging.DEBUG):
        _log.info("%s", head)
        return
    local_part = policy.local_part(request)
    if local_part:
        line = "%s\n--- what was sent and came back is left out: %s is marked local"
        _log.debug(line, head, local_part)
    else:
        sent_text = render(request).as_text()
        _log.debug("%s\n--- sent\n%s\n--- came back\n%s", head, sent_text, reply_text)
