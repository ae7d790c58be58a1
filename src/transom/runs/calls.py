"""One log record a model call: who was asked, what it took, how to find it; its text only at level DEBUG."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable

from transom.errors import EgressError, NeedsModel, ProviderError, ReplyError, TransomError
from transom.llm import Chain, Reply, Request, render
from transom.llm.egress import EgressPolicy
from transom.telemetry import current_span

_log = logging.getLogger(__name__)


async def logged(request: Request, answer: Awaitable[Reply], chain: Chain, *, told: bool) -> Reply:
    """Await the answer to a request, and log the call.

    One that failed is logged at ERROR, without a word of what was sent or came back. At DEBUG the record of any call
    holds both, unless something of it is marked local; see `transom.telemetry.configure` for what is redacted.

    Args:
        request: what is asked.
        answer: comes of it.
        chain: who is asked.
        told: whether calls that were answered are logged, and texts at all.
    """
    began = time.monotonic()
    try:
        reply = await answer
    except Exception as error:
        seconds = time.monotonic() - began
        if told or not isinstance(error, NeedsModel):
            _tell_failure(request, error, chain, f"{seconds:.2f} s")
        if told and isinstance(error, TransomError) and _log.isEnabledFor(logging.DEBUG):
            _tell(request, f"failed: {error.what}", "", chain.policy)
        raise
    if not (told and _log.isEnabledFor(logging.INFO)):
        return reply
    usage = reply.usage
    took = f"{usage.input_tokens} tokens in ({usage.cached_tokens} cached), {usage.output_tokens} out"
    _tell(request, f"answered by {reply.by}, {took}, {time.monotonic() - began:.2f} s", reply.text, chain.policy)
    dropped = request.window.dropped
    if dropped:
        names = ", ".join(f"{one.name} ({one.tokens} tokens)" for one in dropped)
        _log.info("call %s: left out of its window: %s", request.digest[:16], names)
    return reply


def tell_unread(request: Request, error: ReplyError, chain: Chain, answers: int) -> None:
    """Log a call whose answers cannot be read, of which there were so many, as one that failed."""
    _tell_failure(request, error, chain, "all of them answered", answers)


def _tell_failure(request: Request, error: Exception, chain: Chain, ended: str, answers: int = 0) -> None:
    """Whatever a log is filtered by; none of the error's words: a server may quote what it was sent."""
    names = [provider.name for provider in chain.of(request.role).providers]
    failed = error if isinstance(error, ProviderError) else None
    provider = failed.where if failed and failed.where in names else ",".join(names)
    attempts = len(failed.causes) + 1 if failed else int(not isinstance(error, EgressError))  # which was not sent
    attempts = answers or attempts
    about: dict[str, str | int] = {"error_type": type(error).__name__, "provider": provider, "attempts": attempts}
    span = current_span()
    if span:
        about |= {"trace_id": span.trace_id, "span_id": span.span_id}
    level = logging.INFO if isinstance(error, NeedsModel) else logging.ERROR  # that the rules abstain is no failure
    how = f"role {request.role} failed with {type(error).__name__}, provider {provider}, attempts {attempts}"
    _log.log(level, "call %s: %s, %s", request.digest[:16], how, ended, extra={"about": about})


def _tell(request: Request, how: str, came: str, policy: EgressPolicy) -> None:
    head = f"call {request.digest[:16]}: role {request.role} {how}"
    if _log.isEnabledFor(logging.DEBUG):
        kept = policy.kept(request)
        if kept:
            _log.debug("%s\n--- what was sent and came back is left out: %s is marked local", head, kept)
            return
        _log.debug("%s\n--- sent\n%s\n--- came back\n%s", head, render(request).as_text(), came)
    else:
        _log.info("%s", head)
