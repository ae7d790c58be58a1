"""What a listener hears of a conversation while it goes on.

Of what the journal has, a resumed conversation says what a fresh one said: each reply, that each call began, and what
came of it. Four things differ: a reply comes in fewer pieces; the calls of one reply, which may have been over in any
order, come in the order of the reply; of results that are too much together, each was told whole when it came, and is
told later as the model was told it; and of a call that is over, its result is told, but nothing of what went on in its
sub-conversations. What an error or a pause cut off is told again when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from transom.llm import Reply, ToolCall, ToolResult
from transom.llm.deltas import Delta


@dataclass(frozen=True)
class Heard:
    """A piece of a reply that is still coming: text, a whole tool call, or that all of it so far is void."""

    conversation: str
    piece: Delta


@dataclass(frozen=True)
class Replied:
    """A whole reply, in the journal."""

    conversation: str
    reply: Reply


@dataclass(frozen=True)
class Began:
    """A tool call begins; or begins to be answered, where it is refused or was made before."""

    conversation: str
    call: ToolCall


@dataclass(frozen=True)
class CameOf:
    """What came of a tool call, as soon as that is known.

    The model is told so, or told an outline of it where it came with others that are too much together. It is in the
    journal, or on its way there: a kill before the next reply may have the call made again, unless it must not be made
    twice.
    """

    conversation: str
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True)
class Opened:
    """A sub-conversation begins."""

    conversation: str
    parent: str
    purpose: str


@dataclass(frozen=True)
class Completed:
    """A sub-conversation is over. `how` is `summary`, or `extract` where no summary could be had."""

    conversation: str
    summary: str
    how: str


Event: TypeAlias = Heard | Replied | Began | CameOf | Opened | Completed
OnEvent: TypeAlias = Callable[[Event], None]


def nobody(event: Event) -> None:
    """Listens to nothing."""
    del event
