"""One log record a model call: who was asked, what it took, how to find it; its text only at level DEBUG."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable

from transom.errors import TransomError
from transom.llm import Reply, Request, render
from transom.llm.egress import EgressPolicy

_log = logging.getLogger(__name__)


async def logged(request: Request, answer: Awaitable[Reply], policy: EgressPolicy) -> Reply:
    """Await the answer to a request, and log the call.

    At DEBUG the record holds what was sent and what came back, unless something of it is marked local; see
    `transom.telemetry.configure` for what is redacted.
    """
    began = time.monotonic()
    try:
        reply = await answer
    except TransomError as error:
        failed = f"failed with {type(error).__name__} after {time.monotonic() - began:.2f} s"
        _tell(request, f"{failed}: {error.what}", "", policy)
        raise
    if not _log.isEnabledFor(logging.INFO):
        return reply
    usage = reply.usage
    took = f"{usage.input_tokens} tokens in ({usage.cached_tokens} cached), {usage.output_tokens} out"
    _tell(request, f"answered by {reply.by}, {took}, {time.monotonic() - began:.2f} s", reply.text, policy)
    dropped = request.window.dropped
    if dropped:
        names = ", ".join(f"{one.name} ({one.tokens} tokens)" for one in dropped)
        _log.info("call %s: left out of its window: %s", request.digest[:16], names)
    return reply


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
