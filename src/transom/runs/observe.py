"""What spans and logs say of a call to a model or to a tool; the names are in
`transom.telemetry.keys`.

They say sizes, names and outcomes, and never a word of what was asked, said or found; texts are
logged at DEBUG alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable
from typing import Any

from transom.errors import EgressError, NeedsModel, ProviderError, ReplyError, TransomError
from transom.llm import Chain, Reply, Request, Usage, render
from transom.llm.attempts import of_provider
from transom.llm.egress import EgressPolicy
from transom.telemetry import Span, current_span, keys

_log = logging.getLogger(__name__)


def of_conversation(place: str, name: str) -> dict[str, Any]:
    """Which conversation it is, and whose sub-conversation: a sub-conversation's name begins
    with its parent's.
    """
    parent = name.rpartition("/")[0]
    return {
        keys.CONVERSATION_ID: f"{place}/{name}",
        keys.PARENT_CONVERSATION: f"{place}/{parent}" if parent else None,
    }


def of_agent(role: str, place: str, conversation: str) -> dict[str, Any]:
    """A message to an agent, or a sub-conversation; see `of_conversation`."""
    return {
        keys.OPERATION: keys.INVOKE_AGENT,
        keys.AGENT_NAME: role,
        **of_conversation(place, conversation),
    }


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


def of_reply(reply: Reply) -> dict[str, Any]:
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
        keys.REPLAYED: False,
    }


def tell_outcome(span: Span, name: str, outcome: Any) -> None:
    """What came of a call of a tool of that name, as journaled; how long it took is how long the
    span is.
    """
    result = outcome["result"]
    span.update({keys.TOOL_CALL_ID: result["id"], keys.TOOL_SUCCESS: not result["is_error"]})
    if result["is_error"]:
        span.fail(outcome.get("error") or "ToolError")
    if _log.isEnabledFor(logging.INFO):
        how = (
            f"failed with {outcome.get('error') or 'ToolError'}"
            if result["is_error"]
            else "succeeded"
        )
        _log.info(
            "tool %s, call %s: %s, %d characters", name, result["id"], how, len(result["content"])
        )


async def logged(request: Request, answer: Awaitable[Reply], chain: Chain, *, told: bool) -> Reply:
    """Await the answer to a request, and log the call.

    One that failed is logged at ERROR, without a word of what was sent or came back. At DEBUG the
    record of any call holds both, unless something of it is marked local; see
    `transom.telemetry.configure` for what is redacted.
    """
    began = time.monotonic()
    try:
        reply = await answer
    except Exception as error:
        if told or not isinstance(error, NeedsModel):
            _tell_failure(request, error, chain, f"{time.monotonic() - began:.2f} s")
        if told and isinstance(error, TransomError) and _log.isEnabledFor(logging.DEBUG):
            _tell(request, f"failed: {error.what}", "", chain.policy)
        raise
    if not (told and _log.isEnabledFor(logging.INFO)):
        return reply
    usage, took = reply.usage, f"{time.monotonic() - began:.2f} s"
    if usage != Usage():  # rules spend no tokens, and some servers report none
        took = (
            f"{usage.input_tokens} tokens in ({usage.cached_tokens} cached),"
            f" {usage.output_tokens} out, {took}"
        )
    _tell(
        request,
        f"answered by {reply.by}, {took}",
        reply.text,
        chain.policy,
    )
    return reply


def tell_unread(request: Request, error: ReplyError, chain: Chain, answers: int) -> None:
    """Log a call whose answers cannot be read, of which there were so many, as one that failed."""
    _tell_failure(request, error, chain, "all of them answered", answers)


def _tell_failure(
    request: Request, error: Exception, chain: Chain, ended: str, answers: int = 0
) -> None:
    """Whatever a log is filtered by; none of the error's words: a server may quote what it was
    sent.
    """
    names = [provider.name for provider in chain.of(request.role).providers]
    failed = error if isinstance(error, ProviderError) else None
    provider = failed.where if failed and failed.where in names else ",".join(names)
    # which was not sent
    sent = len(failed.causes) + 1 if failed else int(not isinstance(error, EgressError))
    attempts = answers or sent
    about: dict[str, str | int] = {
        "error_type": type(error).__name__,
        "provider": provider,
        "attempts": attempts,
    }
    if span := current_span():
        about |= {"trace_id": span.trace_id, "span_id": span.span_id}
    # that the rules abstain is no failure
    level = logging.INFO if isinstance(error, NeedsModel) else logging.ERROR
    outcome = failed.outcome if failed else f"failed with {type(error).__name__}"
    how = f"role {request.role} {outcome}, provider {provider}, attempts {attempts}"
    _log.log(level, "call %s: %s, %s", request.digest[:16], how, ended, extra={"about": about})


def _tell(request: Request, how: str, came: str, policy: EgressPolicy) -> None:
    head = f"call {request.digest[:16]}: role {request.role} {how}"
    if not _log.isEnabledFor(logging.DEBUG):
        _log.info("%s", head)
    elif kept := policy.kept(request):
        _log.debug(
            "%s\n--- what was sent and came back is left out: %s is marked local", head, kept
        )
    else:
        _log.debug("%s\n--- sent\n%s\n--- came back\n%s", head, render(request).as_text(), came)
