"""The budget of a conversation in this process, and the purse that holds it."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from pathlib import Path

from transom.agent.models import Budget
from transom.errors import CapReached
from transom.llm import Provider
from transom.llm.checked import check_kind
from transom.llm.prices import Prices, published
from transom.llm.purse import Purse
from transom.runs.conversation import Spent


class Meter:
    """Holds a conversation and all below it to one budget.

    Attributes:
        budget: the bounds; `hold` replaces them.
        purse: reserves tokens and dollars for each call.
    """

    def __init__(self) -> None:
        self.budget = Budget()
        self.purse = Purse()

    def hold(
        self, budget: Budget, providers: Sequence[Provider], prices: Path | None = None
    ) -> None:
        """Hold another budget from now on.

        Args:
            budget: the new bounds. Without prices of its own, those of the last budget stay.
            providers: those that may answer.
            prices: price list of the user, for a first budget without prices.

        Raises:
            InputError: the budget is in dollars, and a provider has no known price.
        """
        check_kind(budget, Budget, "budget", "Agent")
        # A larger budget of the same conversation need not name the prices again.
        price_list = budget.prices or self.purse.prices
        if price_list is None and prices is not None:
            price_list = Prices.load(prices)
        if budget.usd is not None:
            (price_list or published()).check(providers)
        # A model on this machine costs nothing.
        local = {provider.name for provider in providers if provider.local}
        self.budget = budget
        self.purse.set_limits(
            tokens=budget.tokens, usd=budget.usd, prices=price_list, free=self.purse.free | local
        )

    def usd(self, account: Hashable, spent: Spent, replies: int | None = None) -> float | None:
        """Return the dollars of the first so many replies, of all if None; None if unknown."""
        self.purse.take_in(account, spent.replies)
        return self.purse.usd_of(account, replies)

    def deadline(self, outer: float | None) -> float | None:
        """Return the time by which a message that is sent now has to be over.

        Args:
            outer: the deadline of the message around it, which is never exceeded.
        """
        if self.budget.seconds is None:
            return outer
        deadline = time.monotonic() + self.budget.seconds
        if outer is None:
            return deadline
        return min(deadline, outer)

    def seconds_left(self, deadline: float | None) -> float | None:
        """Return the seconds until a deadline, None for no limit; CapReached if it is over."""
        if deadline is None:
            return None
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise self.timed_out()
        return seconds

    def check_purse(self, account: Hashable, spent: Spent) -> None:
        """Raise CapReached if a conversation has used all that it may."""
        self.purse.take_in(account, spent.replies)
        self.purse.check()

    def timed_out(self) -> CapReached:
        """Return the error to raise when the time is over."""
        limit = self.budget.seconds or 0.0
        return CapReached("seconds", limit, limit)
