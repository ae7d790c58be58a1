"""How much a conversation and all within it may use. A cap that is reached ends a message with its work so far."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from transom.errors import CapReached, InputError
from transom.llm import Provider
from transom.llm.checked import check_kind
from transom.llm.prices import Prices, Spending, published
from transom.runs.conversation import Spent
from transom.tools import MAX_TURNS


@dataclass(frozen=True)
class Budget:
    """What may be used.

    Attributes:
        turns: replies to one message that may call tools; the model is told when they are used up.
        tokens: read and written, over the whole conversation and its sub-conversations.
        usd: the same in dollars; needs a price of every hosted model that may answer.
        seconds: one message may take, tools and sub-conversations included.
        prices: by which dollars are counted; the published ones where None.

    Raises:
        InputError: a number below 0, or no number.
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


@dataclass
class Meter:
    """Holds what a conversation and its sub-conversations used against a budget."""

    budget: Budget = field(default_factory=Budget)
    _spending: Spending = field(default_factory=Spending)
    _counted: int = 0

    def hold(self, budget: Budget, providers: Sequence[Provider], prices: Path | None = None) -> None:
        """Another budget from now on; InputError where the cost of a reply could not be told."""
        check_kind(budget, Budget, "budget", "Agent")
        known = budget.prices or self._spending.prices or (Prices.load(prices) if prices else None)
        if budget.usd is not None:
            (known or published()).check(providers)
        free = self._spending.free | {one.name for one in providers if one.local}
        self.budget, self._spending, self._counted = budget, Spending(budget.usd, known, free), 0

    def usd(self, spent: Spent, replies: int | None = None) -> float | None:
        """Dollars of the first so many replies, of all where None; None where nobody knows what one cost."""
        many = len(spent.replies) if replies is None else replies
        if many < self._counted:
            self._spending, self._counted = replace(self._spending, unpriced="", _sum=0.0), 0
        for by, usage in spent.replies[self._counted : many]:
            self._spending.add(by, usage)
        self._counted = many
        return self._spending.usd

    def deadline(self, outer: float | None) -> float | None:
        """When a message that is sent now has to be over, and at the latest when the one is that it is part of."""
        mine = None if self.budget.seconds is None else time.monotonic() + self.budget.seconds
        return min((one for one in (mine, outer) if one is not None), default=None)

    def left(self, spent: Spent, deadline: float | None) -> float | None:
        """Seconds that are left until a message's deadline; None for no limit.

        Raises:
            CapReached: none are, or tokens or dollars are used up.
        """
        budget, tokens = self.budget, spent.usage.input_tokens + spent.usage.output_tokens
        if budget.tokens is not None and tokens >= budget.tokens:
            raise CapReached("tokens", budget.tokens, tokens)
        if budget.usd is not None:
            self.usd(spent)
            self._spending.check()
        seconds = None if deadline is None else deadline - time.monotonic()
        if seconds is not None and seconds <= 0:
            raise self.late()
        return seconds

    def late(self) -> CapReached:
        """What to raise when the time is over."""
        limit = self.budget.seconds or 0.0
        return CapReached("seconds", limit, limit)
