"""Deltas: the pieces of a reply that is still coming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from transom.llm.reply import Reply
from transom.llm.turns import Text, ToolCall


@dataclass(frozen=True)
class Again:
    """All deltas of this reply so far are void: it is requested again, for the reason in one
    clause.
    """

    why: str


Delta: TypeAlias = Text | ToolCall | Again
"""A piece of the text; a tool call, once it is whole; or `Again`."""

OnDelta: TypeAlias = Callable[[Delta], None]


def tell(reply: Reply, on_delta: OnDelta | None) -> Reply:
    """Report a reply that came in one piece."""
    if on_delta:
        for part in reply.parts:
            if isinstance(part, Text | ToolCall):
                on_delta(part)
    return reply


def both(one: OnDelta | None, other: OnDelta | None) -> OnDelta | None:
    """One listener for two; either may be None."""
    if one is None or other is None:
        return one or other

    def hear(delta: Delta) -> None:
        one(delta)
        other(delta)

    return hear


def noting(on_delta: OnDelta | None, heard: list[Delta]) -> OnDelta | None:
    """The listener, which also keeps the deltas that are not void in a list."""
    if on_delta is None:
        return None

    def hear(delta: Delta) -> None:
        if isinstance(delta, Again):
            heard.clear()
        else:
            heard.append(delta)
        on_delta(delta)

    return hear
