"""What runs cost, and may: a model is not asked once the cap is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from transom.errors import CapReached, InputError
from transom.llm import Usage
from transom.runs.journal import RunState

_NO_MODEL = frozenset({"rules", "replay", "scripted"})
"""Who has no model behind it, also in a journal of earlier commands that had others in their chain."""


def cost_of(
    by: str, usage: Usage, price: Callable[[Usage, str], float | None], free: frozenset[str] = frozenset()
) -> float | None:
    """What a reply cost, in US dollars; None where nobody knows.

    Args:
        by: who gave it.
        usage: what it took.
        price: what that costs; None where nobody knows.
        free: who costs nothing.
    """
    if by in free:
        return 0.0
    cost = price(usage, by)
    return 0.0 if cost is None and by in _NO_MODEL else cost


@dataclass
class Spending:
    """What the runs of one command, or of one program, cost, and may.

    Replies that a journal has count as what they cost when they were given. A call that is under way when the cap is
    reached is let come to its end, so the last one may go beyond it.

    Attributes:
        limit: US dollars.
        price: what a reply cost, by its usage and who gave it; None where nobody knows.
        free: who costs nothing: providers on this machine.
        usd: spent so far.
        unpriced: who gave a reply of which nobody knows what it cost; "" while there is none.
    """

    limit: float
    price: Callable[[Usage, str], float | None]
    free: frozenset[str] = field(default_factory=frozenset)
    usd: float = 0.0
    unpriced: str = ""
    _runs: set[str] = field(default_factory=set)

    def add(self, by: str, usage: Usage) -> None:
        """A reply came."""
        cost = cost_of(by, usage, self.price, self.free)
        self.usd += cost or 0.0
        self.unpriced = by if cost is None else self.unpriced

    def take_in(self, run_id: str, state: RunState) -> None:
        """Add the replies that a run's journal holds when it is opened; once, however often that is."""
        known = run_id in self._runs
        self._runs.add(run_id)
        for spent in () if known else state.spent.values():
            for by, usage in spent.replies:
                self.add(by, usage)

    def check(self) -> None:
        """Refuse to ask where nothing is left.

        Raises:
            CapReached: the cap is reached.
            InputError: what was spent cannot be told.
        """
        if self.unpriced:
            hint = "give its price in a list of your own (paths.prices), or go on without the cap"
            raise InputError("nobody knows what its reply cost, so a cap cannot hold", where=self.unpriced, hint=hint)
        if self.usd >= self.limit:
            raise CapReached("usd", self.limit, self.usd)
