"""What a listener hears of a conversation while it goes on: all that is new, and nothing that the journal has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from transom.llm import Reply, ToolCall, ToolResult
from transom.llm.deltas import Delta


@dataclass(frozen=True)
class ReplyDelta:
    """A piece of a reply that is still coming: text, a whole tool call, or that all of it so far is void."""

    conversation: str
    piece: Delta


@dataclass(frozen=True)
class ReplyReceived:
    """A whole reply, in the journal."""

    conversation: str
    reply: Reply


@dataclass(frozen=True)
class ToolCallStarted:
    """A tool call begins; or begins to be answered, where it is refused or was made before."""

    conversation: str
    call: ToolCall


@dataclass(frozen=True)
class ToolCallFinished:
    """What came of a tool call, as soon as that is known; the model is told an outline where it is long."""

    conversation: str
    call: ToolCall
    result: ToolResult


Event: TypeAlias = ReplyDelta | ReplyReceived | ToolCallStarted | ToolCallFinished
OnEvent: TypeAlias = Callable[[Event], None]
