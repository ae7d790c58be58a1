"""How much a conversation may use. A cap that is reached ends it with its work so far; with a higher one it goes on."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from transom.agent.bill import Bill
from transom.agent.prices import Prices
from transom.errors import CapReached, InputError
from transom.llm import Provider, Reply, Usage
from transom.runs.names import is_within
from transom.runs.spending import Spending
from transom.tools import MAX_TURNS

Place: TypeAlias = tuple[str, int]
"""A conversation, and which of its replies."""


@dataclass(frozen=True)
class Caps:
    """What may be used.

    Attributes:
        turns: replies to one message that may call tools; the model is told when they are used up.
        tokens: read and written, over the whole conversation and its sub-conversations.
        usd: the same in dollars; needs a price of every hosted model that may answer.
        seconds: one message may take, tools included, and whatever these say in sub-conversations.
        prices: by which dollars are counted, without a cap on them, too; the published ones where None.

    Raises:
        InputError: a number that caps nothing: less than nothing, or none at all.
    """

    turns: int = MAX_TURNS
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for name in ("turns", "tokens", "usd", "seconds"):
            most = getattr(self, name)
            if (most is None and name == "turns") or (most is not None and not _caps(most)):
                hint = "give a number from 0 on" + ("" if name == "turns" else ", or None for no cap")
                raise InputError(f"{name}={most!r} caps nothing", where="Caps", hint=hint)


def _caps(most: object) -> bool:
    """Whether it is a number that caps something; the text of one is none."""
    try:
        return bool(most >= 0)  # type: ignore[operator]  # that is the question
    except TypeError:
        return False


@dataclass
class Meter:
    """What a conversation and its sub-conversations have used.

    Replies from the journal count as they did at first. A sub-conversation that came to its end is not walked through
    again, so what it used is counted together with the reply that followed upon it, or where a program completes it.
    """

    caps: Caps = field(default_factory=Caps)
    usage: Usage = field(default_factory=Usage)
    purse: Spending | None = None
    bill: Bill = field(default_factory=Bill)
    _past: deque[tuple[Place, Reply]] = field(default_factory=deque)  # not counted yet, in the journal's order
    _known: dict[Place, Reply] = field(default_factory=dict)
    _passed: dict[Place, Reply] = field(default_factory=dict)

    @property
    def usd(self) -> float | None:
        """Dollars, whether they are capped or not; None where nobody knows what a reply cost."""
        return self.bill.usd

    def hold(self, caps: Caps, providers: Sequence[Provider], prices: Path | None = None) -> None:
        """Other caps from now on.

        Args:
            caps: these.
            providers: who may be asked.
            prices: a price list of one's own, where the caps have none.

        Raises:
            InputError: a cap in dollars, and the cost of a provider's replies could not be told; a price list of one's
                own that cannot be read.
        """
        given: object = caps
        if not isinstance(given, Caps):
            raise InputError(f"what is capped is said by Caps, and this is {caps!r:.80}", where="Caps", hint="Caps()")
        if caps.usd is not None:
            known = caps.prices or Prices.load(prices)
            known.check(providers)
            free = frozenset(one.name for one in providers if one.local)
            self.purse = Spending(caps.usd, known.of, free, self.purse.usd if self.purse else 0.0)
        elif self.purse:
            self.purse.limit = math.inf
        self.bill.price_by(caps.prices, prices, providers)
        self.caps = caps

    def deadline(self, outer: float | None) -> float | None:
        """When a message that is sent now has to be over; None for no limit.

        Args:
            outer: of the message that it is part of.
        """
        mine = None if self.caps.seconds is None else time.monotonic() + self.caps.seconds
        return min((one for one in (mine, outer) if one is not None), default=None)

    def recall(self, replies: Iterable[tuple[Place, Reply]]) -> None:
        """Know what earlier lives used; oldest first."""
        new = [one for one in replies if one[0] not in self._known]
        self._past.extend(new)
        self._known.update(new)

    def pass_by(self, replies: Iterable[tuple[Place, Reply]]) -> None:
        """Know what is counted, and comes again: a conversation is begun anew, and goes through what it has."""
        passed = dict(replies)
        self._passed.update(passed)
        self._known.update(passed)

    @property
    def behind(self) -> bool:
        """Whether earlier lives used more than what is counted so far."""
        return bool(self._past)

    def catch_up(self) -> None:
        """Count all that earlier lives used: what comes now is new."""
        while self._past:
            self._count(self._past.popleft()[1])

    def add(self, reply: Reply, place: Place) -> None:
        """A reply came, or one of the journal is passed by; whatever the journal has before it counts too."""
        if self._passed and self._passed.pop(place, None) == reply:
            return
        if not self._known:
            self._count(reply)
        elif self._known.get(place) != reply:
            self.catch_up()
            self._count(reply)
        else:
            self._count_past(max((number for number, one in enumerate(self._past, 1) if one[0] == place), default=0))

    def skip(self, name: str) -> None:
        """A conversation is over and not gone through to its end: what it and its sub-conversations used counts."""
        found = (number for number, ((talk, _), _) in enumerate(self._past, 1) if is_within(talk, name))
        self._count_past(max(found, default=0))

    def _count_past(self, first: int) -> None:
        """Count so many of the replies of earlier lives, oldest first."""
        for _ in range(first):
            self._count(self._past.popleft()[1])

    def _count(self, reply: Reply) -> None:
        self.usage += reply.usage
        self.bill.replies.append((reply.by, reply.usage))
        if self.purse:
            self.purse.add(reply.by, reply.usage)

    def left(self, deadline: float | None) -> float | None:
        """Seconds that are left until a message's deadline; None for no limit.

        Raises:
            CapReached: none are, or tokens or dollars are used up.
            InputError: dollars are capped, and nobody knows what a reply cost.
        """
        caps, tokens = self.caps, self.usage.input_tokens + self.usage.output_tokens
        if caps.tokens is not None and tokens >= caps.tokens:
            raise CapReached("tokens", caps.tokens, tokens)
        if self.purse:
            self.purse.check()
        if deadline is None:
            return None
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise self.late()
        return seconds

    @staticmethod
    def is_late(deadline: float | None) -> bool:
        """Whether a message's deadline is over."""
        return deadline is not None and time.monotonic() >= deadline

    def late(self) -> CapReached:
        """What to raise when the time is over."""
        limit = self.caps.seconds or 0.0
        return CapReached("seconds", limit, limit)
