"""What a listener hears of a conversation while it goes on. A resumed one says the same as a fresh one."""

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
class CameOf:
    """What came of a tool call, in the journal."""

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


Event: TypeAlias = Heard | Replied | CameOf | Opened | Completed
OnEvent: TypeAlias = Callable[[Event], None]


def nobody(event: Event) -> None:
    """Listens to nothing."""
    del event
