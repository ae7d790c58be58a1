"""What a conversation has cost so far, which is found out when somebody asks: most turns nobody does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from transom.agent.prices import Prices, published
from transom.llm import Provider, Usage
from transom.runs.spending import cost_of


@dataclass
class Bill:
    """The replies of a conversation and its sub-conversations, and by which prices they count.

    Attributes:
        replies: who gave each, and what it took; whoever adds to them says no more.
        prices: the published ones where None.
        free: who costs nothing: providers on this machine.
    """

    replies: list[tuple[str, Usage]] = field(default_factory=list)
    prices: Prices | None = None
    free: frozenset[str] = frozenset()
    _summed: int = 0  # of the replies, those that are in the sum already
    _sum: float | None = 0.0

    def price_by(self, given: Prices | None, own: Path | None, providers: Iterable[Provider]) -> None:
        """Count all of it by other prices, or go on by those that were given before.

        Args:
            given: these.
            own: a list of the user's own, which counts where none was ever given.
            providers: who may be asked; those on this machine cost nothing.

        Raises:
            InputError: see `Prices.load`.
        """
        if given or (own and self.prices is None):
            self.prices = given or Prices.load(own)
        self.free |= {one.name for one in providers if one.local}
        self._summed, self._sum = 0, 0.0

    @property
    def usd(self) -> float | None:
        """Dollars so far; None where nobody knows what one of the replies cost."""
        for by, usage in self.replies[self._summed :]:
            if by in self.free:
                continue
            cost = cost_of(by, usage, self._price)
            self._sum = None if cost is None or self._sum is None else self._sum + cost
        self._summed = len(self.replies)
        return self._sum

    def _price(self, usage: Usage, by: str) -> float | None:
        if usage.cost is not None:
            return usage.cost
        return (self.prices or published()).of(usage, by)
