"""The data that a program and an agent exchange: a budget, responses, and events."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias

from typing_extensions import TypeVar  # `typing` has no defaults before Python 3.13

from transom.errors import InputError, ReplyError
from transom.llm import Reply, Request, Text, ToolCallPart, ToolResultPart, Turn, Usage, Window
from transom.llm.checked import Output
from transom.llm.deltas import Delta
from transom.llm.prices import Prices
from transom.llm.structured import answer_read
from transom.tools import MAX_TURNS

Out = TypeVar("Out", default=Any)
"""The type of an agent's answers."""
Ended = Literal["answered", "length", "refusal", "turns", "tokens", "usd", "seconds"]
_ID = re.compile(r"\[([a-z]{2,12}-[0-9a-z]{3,}(?:-[0-9a-z]+)*)\]")
"""An insight or a memory, as its block names it: `[str-00001]`."""


@dataclass(frozen=True)
class Budget:
    """The most that a conversation and its sub-conversations may use.

    Each call reserves what it may take before it is sent, so `tokens` and `usd` are exceeded by at
    most one call.

    Attributes:
        turns: the number of replies to one message that may call tools; the model is told when they
            are used up.
        tokens: tokens read and written, over the whole conversation and its sub-conversations.
        usd: the same in dollars; needs a price of every hosted model that may answer.
        seconds: seconds that one message may take, including tools and sub-conversations.
        prices: the price list by which dollars are counted; None for the published prices.
    """

    turns: int = MAX_TURNS
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for name in ("turns", "tokens", "usd", "seconds"):
            limit: object = getattr(self, name)
            if limit is None and name != "turns":
                continue
            # A bool is an int in Python.
            is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
            # Written so that NaN, which is less than nothing and more than nothing, is refused.
            if not (is_number and limit >= 0):  # type: ignore[operator]  # it is a number
                problem = f"{name} must be a number from 0 on, and is {limit!r}"
                raise InputError(problem, place="Budget", hint="None is no cap, but for turns")


@dataclass(frozen=True)
class Response(Generic[Out]):
    """The response to a message.

    Attributes:
        text: the text of the last reply.
        ended: `answered`, or the reason why there is no answer: `length` and `refusal` are the
            model's; the others are caps, and `Agent.resume` goes on from there once the budget is
            raised.
        usage: tokens of the whole conversation so far.
        usd: US dollars that the whole conversation has cost so far, 0 for models on this machine;
            None if the cost of a reply is unknown.
        turns: the conversation so far, including this message.
        output: the schema or class that the answer follows, as its role or agent declares it.
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
        """The window of the last call; None if a cap left no call."""
        request = self._request()
        if request is None:
            return None
        return request.window

    @property
    def value(self) -> Out:
        """The answer of an agent with an `output`: an instance of its class, or the JSON
        data of a schema. None without an output.

        Raises:
            ReplyError: there is no answer (see `ended`); or the class refuses it: it checks more
                than its schema says, or has changed since.
        """
        value: Any = None
        if self.output is not None:
            if self.ended != "answered":
                hint = "read .ended before .value"
                raise ReplyError(f"there is no answer: it ended with {self.ended}", hint=hint)
            value = answer_read(self.text, self.output)
        return value  # type: ignore[no-any-return]  # of the type that the agent declares

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the insights and memories in the last call's window, in order."""
        window = self.window
        if window is None:
            return ()
        ids: list[str] = []
        for block in window.blocks:
            if block.name in ("playbook", "insights", "memory", "memories"):
                ids += _ID.findall(block.text)
        return tuple(dict.fromkeys(ids))  # each once, in order

    @property
    def cited(self) -> tuple[str, ...]:
        """The ids of `shown` that the answer names; only these earn credit."""
        # Only ids of the window count: a model may invent one.
        words = set(re.findall(r"(?<![a-z])[a-z]+(?:-[0-9a-z]+)+", self.text))
        return tuple(shown_id for shown_id in self.shown if shown_id in words)


# -- events ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReplyDelta:
    """A piece of a reply that is still coming: text, a whole tool call, or the news that all pieces
    so far are void.
    """

    conversation: str
    piece: Delta

    @property
    def text(self) -> str:
        """The text of the piece; "" if it is no text."""
        return self.piece.text if isinstance(self.piece, Text) else ""


@dataclass(frozen=True)
class ReplyReceived:
    """A whole reply; it is in the journal."""

    conversation: str
    reply: Reply


@dataclass(frozen=True)
class ToolCallStarted:
    """The beginning of a tool call, also of one that is refused or was made before."""

    conversation: str
    call: ToolCallPart


@dataclass(frozen=True)
class ToolCallFinished:
    """The result of a tool call, as soon as it is known, whole. If it is long, the model gets an
    outline or a summary instead.
    """

    conversation: str
    call: ToolCallPart
    result: ToolResultPart


@dataclass(frozen=True)
class MessageEnded:
    """The end of a message, with its response; the last event of a stream."""

    conversation: str
    response: Response


Event: TypeAlias = ReplyDelta | ReplyReceived | ToolCallStarted | ToolCallFinished | MessageEnded
OnEvent: TypeAlias = Callable[[Event], None]
