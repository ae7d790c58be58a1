"""A purse: the tokens and dollars that model calls may use, reserved before each call.

A limit that is only looked at does not hold when calls run at the same time: each of forty calls
sees that something is left. A purse sets an estimate aside for each call that is under way, so the
limit is exceeded by at most one call.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from transom.errors import CapReached, InputError, TransomError
from transom.llm.prices import Prices, published
from transom.llm.provider import Provider
from transom.llm.reply import Usage

_NO_MODEL = frozenset({"rules", "replay", "scripted"})
"""Providers without a model behind them. A journal may name some that are not in today's chain."""

FAILED_ATTEMPT: ContextVar[Callable[[str, Usage], None]] = ContextVar("failed_attempt")
"""Set while a call is under way: takes the provider and the usage of an attempt that failed after
its reply had begun. The server bills such an attempt, and the next one repeats the request.
"""


class Estimate(NamedTuple):
    """The most that a call should take.

    Attributes:
        tokens: of its window and of the longest answer.
        usd: None if no price is known.
    """

    tokens: int
    usd: float | None


@dataclass
class _Account:
    """The replies of one conversation and of all below it, as far as they are counted.

    Attributes:
        replies: the provider of each reply, and its usage.
        sums: the dollars of no reply, of the first, of the first two, and so on; None from the
            first reply of unknown cost on.
    """

    replies: list[tuple[str, Usage]] = field(default_factory=list)
    sums: list[float | None] = field(default_factory=lambda: [0.0])


@dataclass
class PurseBalance:
    """What is spent from a purse, and what is set aside for calls under way.

    Attributes:
        tokens, usd: what all replies took; a reply of unknown cost counts as none.
        dearest: the most that one reply took.
        unpriced: the first provider that gave a reply of unknown cost; "" if there is none.
        under_way: the estimates of the calls under way.
    """

    tokens: int = 0
    usd: float = 0.0
    dearest: Estimate = field(default_factory=lambda: Estimate(0, 0.0))
    unpriced: str = ""
    under_way: list[Estimate] = field(default_factory=list)

    def count(self, provider_name: str, tokens: int, usd: float | None) -> None:
        """Count a reply; `usd` is None if its cost is unknown."""
        if usd is None:
            self.unpriced = self.unpriced or provider_name
            usd = 0.0
        self.tokens += tokens
        self.usd += usd
        dearest_usd = self.dearest.usd or 0.0
        # Most replies are not the dearest one, and this runs for each of them.
        if tokens > self.dearest.tokens or usd > dearest_usd:
            self.dearest = Estimate(max(self.dearest.tokens, tokens), max(dearest_usd, usd))

    def check(self, tokens: int | None, usd: float | None) -> None:
        """Raise the error of a limit that is reached; see `Purse.reserve`."""
        if tokens is not None and self.tokens >= tokens:
            raise CapReached("tokens", tokens, self.tokens)
        if usd is None:
            return
        if self.unpriced:
            raise InputError(
                "the cost of its reply is unknown, so a cap cannot hold",
                place=self.unpriced,
                hint=(
                    "give its price in a list of your own (paths.prices), or go on without the cap"
                ),
            )
        if self.usd >= usd:
            raise CapReached("usd", usd, self.usd)

    def fits(self, estimate: Estimate, tokens: int | None, usd: float | None) -> bool:
        """Return whether a call may go ahead below these limits; raise if it never may."""
        if not self.under_way:
            self.check(tokens, usd)
            return True
        calls = [*self.under_way, estimate]
        if tokens is not None:
            # An estimate that proved too low once may do so again, so the dearest reply so far
            # is the least that is set aside.
            set_aside = sum(max(call.tokens, self.dearest.tokens) for call in calls)
            if self.tokens + set_aside > tokens:
                return False
        if usd is not None:
            total = self.usd
            for call in calls:
                # Nobody knows how much to set aside without a price: such a call takes all.
                if call.usd is None or self.unpriced:
                    return False
                if call.usd > 0:  # a model on this machine stays free
                    total += max(call.usd, self.dearest.usd or 0.0)
            return total <= usd
        return True


@dataclass(eq=False)
class _Waiter:
    """A call that waits until its estimate fits."""

    estimate: Estimate
    admitted: asyncio.Future[None]


class Purse:
    """What the calls of a conversation and of all below it, or of all runs of a command, may use.

    A call reserves its estimate before it is sent, and releases it when its reply is counted. If
    the estimate does not fit beside the calls under way, the call waits for them, in the order of
    arrival. Once no call is under way, it goes ahead if anything is left, and fails if nothing is.
    So only a call that has the purse to itself can exceed a limit.

    Waiting ends: a reservation is held only while its own request is under way. No tool runs and no
    other call begins in that time, so no call waits for one that waits for it.

    Attributes:
        tokens: limit on tokens read and written; None for no limit.
        usd: limit on US dollars; None for no limit.
        is_capped: whether there is a limit, so that calls have to reserve.
        prices: price list for dollars; None for the published one.
        free: names of providers that cost nothing: those on this machine.
        balance: what is spent and set aside.
    """

    def __init__(
        self,
        *,
        tokens: int | None = None,
        usd: float | None = None,
        prices: Prices | None = None,
        free: Iterable[str] = (),
    ) -> None:
        self.tokens, self.usd = tokens, usd
        self.is_capped = tokens is not None or usd is not None
        self.prices, self.free = prices, frozenset(free)
        self.balance = PurseBalance()
        self._accounts: dict[Hashable, _Account] = {}
        self._waiting: deque[_Waiter] = deque()

    def set_limits(
        self,
        *,
        tokens: int | None,
        usd: float | None,
        prices: Prices | None,
        free: Iterable[str],
    ) -> None:
        """Hold other limits from now on, and count all replies again by these prices."""
        self.tokens, self.usd = tokens, usd
        self.is_capped = tokens is not None or usd is not None
        self.prices, self.free = prices, frozenset(free)
        self._count_again()
        for waiter in self._waiting:
            # A budget may be raised from another thread than the one whose calls wait.
            waiter.admitted.get_loop().call_soon_threadsafe(self._admit)

    # -- counting ----------------------------------------------------------------------------------

    def take_in(self, account: Hashable, replies: Sequence[tuple[str, Usage]]) -> None:
        """Count the replies of an account that are not counted yet.

        Args:
            account: the conversation or run whose replies these are.
            replies: all of them, oldest first, as the journal has them.
        """
        counted = self._accounts.setdefault(account, _Account())
        # The journal was read anew, and some replies did not reach it.
        if len(replies) < len(counted.replies):
            counted.replies = []
            self._count_again()
        for provider_name, usage in islice(replies, len(counted.replies), None):
            counted.replies.append((provider_name, usage))
            self._count(counted, provider_name, usage)

    def usd_of(self, account: Hashable, replies: int | None = None) -> float | None:
        """Return the dollars of the first so many replies of an account; None if unknown."""
        sums = self._accounts.setdefault(account, _Account()).sums
        return sums[-1 if replies is None else replies]

    def _count(self, account: _Account, provider_name: str, usage: Usage) -> None:
        tokens, usd = usage.input_tokens + usage.output_tokens, self._cost(provider_name, usage)
        previous_sum = account.sums[-1]
        if previous_sum is None or usd is None:
            account.sums.append(None)
        else:
            account.sums.append(previous_sum + usd)
        self.balance.count(provider_name, tokens, usd)

    def _count_again(self) -> None:
        self.balance = PurseBalance(under_way=self.balance.under_way)
        for account in self._accounts.values():
            account.sums = [0.0]
            for provider_name, usage in account.replies:
                self._count(account, provider_name, usage)

    def _cost(self, provider_name: str, usage: Usage) -> float | None:
        if provider_name in self.free:
            return 0.0
        cost = (self.prices or published()).of(usage, provider_name)
        return 0.0 if cost is None and provider_name in _NO_MODEL else cost

    # -- reserving ---------------------------------------------------------------------------------

    def estimate(self, providers: Iterable[Provider], read: int, written: int) -> Estimate:
        """Return the most that a call should take, whichever of the providers answers.

        Args:
            providers: those that may be asked.
            read: tokens of the window, as estimated from above.
            written: the limit on tokens of the answer.
        """
        usd: float | None = 0.0
        # The dearest provider counts; one of unknown price makes the estimate unknown.
        for provider in providers if self.usd is not None else ():
            if provider.local or provider.name in self.free:
                continue
            highest = (self.prices or published()).at_most(provider.name, read, written)
            usd = None if highest is None or usd is None else max(usd, highest)
        return Estimate(read + written, usd)

    async def reserve(self, estimate: Estimate) -> None:
        """Set an estimate aside once it fits; `release` gives it back.

        Raises:
            CapReached: a limit is reached, and no call is under way.
            InputError: there is a limit in dollars, and the cost of a reply is unknown.
        """
        if not self._waiting and self._fits(estimate):
            self.balance.under_way.append(estimate)
            return
        waiter = _Waiter(estimate, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        try:
            await waiter.admitted
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def release(self, estimate: Estimate) -> None:
        """Give a reserved estimate back: its reply is counted, or it has none."""
        self.balance.under_way.remove(estimate)
        self._admit()

    def check(self) -> None:
        """Raise the error of a limit that is reached; see `reserve`."""
        self.balance.check(self.tokens, self.usd)

    def _fits(self, estimate: Estimate) -> bool:
        return self.balance.fits(estimate, self.tokens, self.usd)

    def _admit(self) -> None:
        """Let the calls go ahead that fit now, in the order in which they came."""
        while self._waiting:
            waiter = self._waiting[0]
            if waiter.admitted.done():  # cancelled, and its task has not run since
                self._waiting.popleft()
                continue
            try:
                if not self._fits(waiter.estimate):
                    return
            except TransomError as error:
                self._waiting.popleft()
                waiter.admitted.set_exception(error)
            else:
                self._waiting.popleft()
                self.balance.under_way.append(waiter.estimate)
                waiter.admitted.set_result(None)

    def _withdraw(self, waiter: _Waiter) -> None:
        """Take back a call that was cancelled while it waited, or just when it was admitted."""
        if waiter in self._waiting:
            self._waiting.remove(waiter)
            self._admit()
        elif not waiter.admitted.cancelled() and waiter.admitted.exception() is None:
            self.release(waiter.estimate)


async def reserve_all(purses: Sequence[Purse], estimates: Sequence[Estimate]) -> None:
    """Reserve in each of several purses, or in none of them."""
    reserved = 0
    try:
        for purse, estimate in zip(purses, estimates, strict=True):
            await purse.reserve(estimate)
            reserved += 1
    except BaseException:
        release_all(purses[:reserved], estimates[:reserved])
        raise


def release_all(purses: Sequence[Purse], estimates: Sequence[Estimate]) -> None:
    """Release what `reserve_all` reserved."""
    for purse, estimate in zip(purses, estimates, strict=True):
        purse.release(estimate)
