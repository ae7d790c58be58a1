"""The data of a program and an agent: a budget, the response to a message, and the events for a
listener.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from transom.errors import InputError
from transom.llm import Reply, Request, ToolCall, ToolResult, Turn, Usage, Window
from transom.llm.checked import Output
from transom.llm.deltas import Delta
from transom.llm.prices import Prices
from transom.llm.structured import answer_read
from transom.tools import MAX_TURNS

Ended = Literal["answered", "length", "refusal", "turns", "tokens", "usd", "seconds"]
_ID = re.compile(r"\[([a-z]{2,12}-[0-9a-z]{3,}(?:-[0-9a-z]+)*)\]")
"""An insight or a memory, as its block names it: `[str-00001]`."""


@dataclass(frozen=True)
class Budget:
    """The most that a conversation may use, with all below it.

    Each call reserves what it may take before it is sent, so `tokens` and `usd` are exceeded by at
    most one call.

    Attributes:
        turns: replies to one message that may call tools; the model is told when they are used up.
        tokens: read and written, over the whole conversation and its sub-conversations.
        usd: the same in dollars; needs a price of every hosted model that may answer.
        seconds: one message may take, tools and sub-conversations included.
        prices: by which dollars are counted; the published ones where None.
    """

    turns: int = MAX_TURNS
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for name in ("turns", "tokens", "usd", "seconds"):
            most: object = getattr(self, name)
            number = isinstance(most, int | float) and not isinstance(most, bool) and most >= 0
            if not number and (most is not None or name == "turns"):
                what = f"{name} must be a number from 0 on, and is {most!r}"
                raise InputError(what, where="Budget", hint="None is no cap, but for turns")


@dataclass(frozen=True)
class Response:
    """The response to a message.

    Attributes:
        text: what the role said last.
        ended: `answered`, or why it did not come to an answer: `length` and `refusal` are the
            model's; the others are caps, and `Agent.resume` goes on from there once the budget is
            raised.
        usage: tokens of the whole conversation so far.
        usd: US dollars that the whole conversation has cost so far, 0 for what is on this machine;
            None where nobody knows what a reply of it cost.
        turns: the conversation so far, this message's included.
        output: what the answer follows, as its role says it.
    """

    text: str
    ended: Ended
    usage: Usage
    usd: float | None
    turns: tuple[Turn, ...]
    output: Output | None = field(default=None, repr=False, compare=False)
    _request: Callable[[], Request | None] = field(default=lambda: None, repr=False, compare=False)

    @property
    def window(self) -> Window | None:
        """The window of the last call; None where a cap left no call."""
        request = self._request()
        return request.window if request else None

    @property
    def value(self) -> Any:
        """The answer of a role with an `output`: an instance of its model class, or for a schema
        the JSON as data.

        None where the role has none, or did not come to an answer (see `ended`).

        Raises:
            ReplyError: the class takes no such answer: it knows more than its schema, or is another
                one today.
        """
        if self.output is None or self.ended != "answered":
            return None
        return answer_read(self.text, self.output)

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the insights and memories in the last call's window, in order."""
        window, found = self.window, list[str]()
        for block in window.blocks if window else ():
            if block.name in ("playbook", "insights", "memory", "memories"):
                found += _ID.findall(block.text)
        return tuple(dict.fromkeys(found))

    @property
    def cited(self) -> tuple[str, ...]:
        """The ids of `shown` that the answer names; only these earn credit."""
        said = set(re.findall(r"(?<![a-z])[a-z]+(?:-[0-9a-z]+)+", self.text))
        return tuple(one for one in self.shown if one in said)


# -- what goes on ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReplyDelta:
    """A piece of a reply that is still coming: text, a whole tool call, or that all of it so far
    is void.
    """

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
    """The result of a tool call, as soon as it is known; the model is told an outline where it
    is long.
    """

    conversation: str
    call: ToolCall
    result: ToolResult


Event: TypeAlias = ReplyDelta | ReplyReceived | ToolCallStarted | ToolCallFinished
OnEvent: TypeAlias = Callable[[Event], None]
