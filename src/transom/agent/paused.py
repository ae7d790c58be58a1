"""A reply that its server ended before it was over: handed back what it said, the model goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from transom.errors import ProviderError
from transom.llm import Asked, Reply, Request, Said, Turn

_MOST_PAUSES = 10
_GO_ON = Asked("You have said nothing. Please go on.")


async def whole(ask: Callable[[Request], Awaitable[Reply]], request: Request, reply: Reply) -> Reply:
    """The whole of a reply that paused.

    A model that has nothing to add to what its tools found may stop without a word, and would again if it were asked
    the same. It is asked once to go on; where it has nothing to say then either, that is its answer.

    Args:
        ask: one more request.
        request: what was asked.
        reply: what came so far.

    Raises:
        ProviderError: it comes to no end.
    """
    last, urged = reply, False
    for _ in range(_MOST_PAUSES):
        if reply.stop != "pause" or reply.calls:
            return reply
        silent = not last.parts
        if silent and urged:
            return replace(reply, stop="end")
        urged = urged or silent
        said: tuple[Turn, ...] = (Said(reply.parts),) if reply.parts else ()
        turns = (*request.window.turns, *said, *((_GO_ON,) if silent else ()))
        last = await ask(replace(request, window=replace(request.window, turns=turns)))
        reply = replace(last, parts=(*reply.parts, *last.parts), usage=reply.usage + last.usage)
    if reply.stop != "pause":
        return reply
    hint = "ask for less at once, or choose another model"
    raise ProviderError(f"it paused {_MOST_PAUSES + 1} times and came to no end", where=reply.by, hint=hint)
