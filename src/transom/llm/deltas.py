"""Deltas: the pieces of a reply that is still coming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from transom.llm.reply import Reply
from transom.llm.turns import Text, ToolCallPart


@dataclass(frozen=True)
class Again:
    """All deltas of this reply so far are void: it is requested again, for the reason in one
    clause.
    """

    why: str


Delta: TypeAlias = Text | ToolCallPart | Again
"""A piece of the text; a tool call, once it is whole; or `Again`."""

OnDelta: TypeAlias = Callable[[Delta], None]


def tell(reply: Reply, on_delta: OnDelta | None) -> Reply:
    """Report a reply that came in one piece."""
    if on_delta:
        # Opaque parts are meant for the vendor, not for a listener.
        for part in reply.parts:
            if isinstance(part, Text | ToolCallPart):
                on_delta(part)
    return reply


def joined(first: OnDelta | None, second: OnDelta | None) -> OnDelta | None:
    """Return one listener that calls two; either may be None."""
    if first is None or second is None:
        return first or second

    def hear(delta: Delta) -> None:
        first(delta)
        second(delta)

    return hear


def noting(on_delta: OnDelta | None, pieces: list[Delta]) -> OnDelta | None:
    """Return a listener that also keeps the deltas that are not void in `pieces`."""
    if on_delta is None:
        return None

    def hear(delta: Delta) -> None:
        # The caller reads the same list, so it is emptied and not replaced.
        if isinstance(delta, Again):
            pieces.clear()
        else:
            pieces.append(delta)
        on_delta(delta)

    return hear
