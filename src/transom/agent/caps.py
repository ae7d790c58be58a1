"""How much a conversation may use. A cap that is reached ends it with its work so far; with a higher one it goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from transom.errors import CapReached
from transom.llm import Reply, Usage
from transom.tools import MAX_TURNS

if TYPE_CHECKING:
    from transom.agent.prices import Prices


@dataclass(frozen=True)
class Caps:
    """What may be used.

    Attributes:
        turns: replies to one message that may call tools; the model is told when they are used up.
        tokens: read and written, over the whole conversation and its sub-conversations.
        usd: the same in dollars; needs a price of every hosted model that may answer.
        seconds: one message may take, tools included.
        prices: by which dollars are counted; the published ones where None.
    """

    turns: int = MAX_TURNS
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    prices: Prices | None = None


@dataclass
class Meter:
    """What a conversation and its sub-conversations have used. Replies from the journal count as they did at first."""

    caps: Caps = field(default_factory=Caps)
    usage: Usage = field(default_factory=Usage)
    usd: float = 0.0
    deadline: float | None = None

    def begin(self) -> None:
        """A message is sent: its time begins."""
        self.deadline = None if self.caps.seconds is None else time.monotonic() + self.caps.seconds

    def add(self, reply: Reply) -> None:
        """A reply came."""
        self.usage += reply.usage
        if self.caps.usd is not None and self.caps.prices is not None:
            self.usd += self.caps.prices.of(reply.usage, reply.by) or 0.0

    def left(self) -> float | None:
        """Seconds that are left for this message; None for no limit.

        Raises:
            CapReached: none are, or tokens or dollars are used up.
        """
        caps, tokens = self.caps, self.usage.input_tokens + self.usage.output_tokens
        if caps.tokens is not None and tokens >= caps.tokens:
            raise CapReached("tokens", caps.tokens, tokens)
        if caps.usd is not None and self.usd >= caps.usd:
            raise CapReached("usd", caps.usd, self.usd)
        if self.deadline is None:
            return None
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise self.late()
        return seconds

    def late(self) -> CapReached:
        """What to raise when the time is over."""
        limit = self.caps.seconds or 0.0
        return CapReached("seconds", limit, limit)
