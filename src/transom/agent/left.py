"""A message that was left without its answer, and behind which something else was said: it stays without one.

A program that runs again says the same again. What failed on the network, was stopped or reached a cap when it ran
before would be answered today, and that answer would void all that was said and paid for behind it. So it ends again
as it did then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from transom.canonical import Json
from transom.errors import (
    AuthenticationFailed,
    CapReached,
    NetworkFailed,
    OutOfTurns,
    Paused,
    ProviderError,
    RateLimited,
    ReplyError,
    RequestRefused,
    RunBusy,
    StoreError,
    TransomError,
    Unanswered,
)

if TYPE_CHECKING:
    from transom.agent.turns import Conversation
    from transom.agent.views import Response

_PLAIN = (AuthenticationFailed, NetworkFailed, ProviderError, RateLimited, RequestRefused)
_KINDS = {one.__name__: one for one in _PLAIN}
_KEPT = {one.__name__: one for one in (RunBusy, StoreError)}
"""What keeps a message from being said, or a reply from being kept, and says no more than other errors."""

_ENDS = (CapReached, Unanswered, OutOfTurns, Paused, ProviderError, ReplyError, RunBusy)
"""How a message may have ended without an answer."""


async def end_as_then(talk: Conversation, answer: Callable[[], Awaitable[Response]]) -> None:
    """Take in what came of the last message when the code ran before; nobody is asked.

    Args:
        talk: where it was said.
        answer: has the role answer it.

    Raises:
        See `Conversation.ask`, but for how a message may have ended.
    """
    left = left_then(talk.stage.told(talk.name))
    talk.left_then = left or {"left": asyncio.CancelledError.__name__}
    try:
        await answer()
    except _ENDS:
        return
    except StoreError as error:
        if error is not talk.as_then:  # it is today's
            raise
    finally:
        talk.left_then = left


def left_to_json(error: BaseException) -> dict[str, Json]:
    """What is journaled with whatever is said next; of a kind with more to it the nearest one that has not."""
    match error:
        case ProviderError():
            kind = next(one.__name__ for one in type(error).__mro__ if one.__name__ in _KINDS)
            told: dict[str, Json] = {"error": kind, "what": error.what, "where": error.where, "hint": error.hint}
            return {**told, "retryable": error.retryable}
        case RunBusy() | StoreError() if type(error).__name__ in _KEPT:
            return {"error": type(error).__name__, "what": error.what, "where": error.where, "hint": error.hint}
        case CapReached():
            return {"cap": error.cap}
        case Paused():
            return {"left": Paused.__name__}
        case Unanswered():
            return {"left": error.by}
    return {"left": type(error).__name__}


def left_from_json(data: Any, talk: Conversation) -> TransomError:
    """The inverse of `left_to_json`, for a message of today."""
    if data.get("error") in _KEPT:
        return _KEPT[data["error"]](data["what"], where=data["where"], hint=data["hint"])
    if "error" in data:
        kind = _KINDS[data["error"]]
        error = kind.__new__(kind)
        told = {name: data[name] for name in ("where", "hint", "retryable")}
        ProviderError.__init__(error, data["what"], **told)
        return error
    if "cap" in data:
        limit = getattr(talk.meter.caps, data["cap"], None) or 0
        return CapReached(data["cap"], limit, limit)
    if data["left"] == Paused.__name__:
        return Paused("it waited for a person, and something else was said then", run_id=talk.stage.host.id)
    return Unanswered(data["left"], where=talk.name)


def left_then(told: list[Any]) -> Any | None:
    """What a message was left with when the code ran before; None where nobody knows.

    Args:
        told: what the journal has behind it.
    """
    return next((one.get("after") for one in told if one["event"] in ("asked", "completed")), None)
