"""Asking a model in a run: who answered first goes on, within what the run may spend and the time that there is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from transom.errors import TransomError
from transom.llm import Chain, Reply, Request
from transom.llm.deltas import OnDelta, both
from transom.llm.provider import of_provider
from transom.runs.host import Host
from transom.runs.observe import logged
from transom.telemetry import Span


class Models:
    """Who answers in one stage.

    Attributes:
        pinned: who answered first, and is asked from then on, by the `id` of the chain.
    """

    def __init__(self, run: Host) -> None:
        self._run = run
        self.pinned: dict[int, str] = {}
        self._first = asyncio.Lock()

    async def reply(
        self, request: Request, chain: Chain, span: Span, *, on_delta: OnDelta | None, seconds: float | None
    ) -> Reply:
        """Have a chain answer.

        Args:
            request: what is asked.
            chain: the one of the role that asks.
            span: of the call; where that fails, it is told whose it was.
            on_delta: hears the reply as it comes.
            seconds: how long to wait for it.

        Raises:
            ProviderError, EgressError: from the chain.
            CapReached: the run has cost what it may.
            TimeoutError: no reply in time.
        """
        try:
            if self._run.spending:
                self._run.spending.check()
            asked = self._answer(request, id(chain), on_delta)
            asked = logged(request, asked, self._run.chain, told=self._run.log_calls)
            reply = await (asked if seconds is None else _in_time(asked, seconds))
        except (TransomError, TimeoutError) as error:
            span.update(of_provider(self.pinned.get(id(chain)) or chain.failed(error)))
            raise
        return reply if request.window.egress == "any" else replace(reply, egress=request.window.egress)

    async def _answer(self, request: Request, chain: int, on_delta: OnDelta | None) -> Reply:
        """The first reply settles who answers in this stage, also for calls that run beside it."""
        hear = both(on_delta, self._run.on_delta)
        if chain in self.pinned:
            return await self._run.chain.answer(request, only=self.pinned[chain], on_delta=hear)
        async with self._first:
            reply = await self._run.chain.answer(request, only=self.pinned.get(chain), on_delta=hear)
            self.pinned[chain] = reply.by
            return reply


async def _in_time(asked: Awaitable[Reply], seconds: float) -> Reply:
    """A reply, waited for in this very task: a stop that comes together with it is heard.

    Raises:
        TimeoutError: none in that many seconds.
    """
    async with asyncio.timeout(seconds):
        return await asked
