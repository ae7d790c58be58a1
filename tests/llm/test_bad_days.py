"""Thirty at a time against a real server that fails one call in five, in six ways, and keeps a log of its own."""

from __future__ import annotations

import asyncio
import json
import random
import time
from itertools import count
from pathlib import Path

import pytest

from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.server import LocalServer, Seen, Wire
from tests.llm.test_limits import most_in_a_period
from transom.errors import ProviderError
from transom.llm import Block, Reply, Request, Text, Tier, Window
from transom.llm.hosted import Server
from transom.llm.limits import Bucket, Limits
from transom.llm.retry import RetryPolicy
from transom.llm.steady import SteadyProvider

CALLS, AT_ONCE, PERIOD, ALLOWED = 200, 30, 0.6, 100
PATIENT = RetryPolicy(attempts=4, initial_delay=0.01, max_delay=0.05, max_retry_after=0.05)
OPEN_FILES = Path("/proc/self/fd")
FAULTS = ("429", "500", "cut", "broken", "stall", "error inside")


def request(number: int) -> Request:
    return Request("p.seat", Window((Block("role", "You.", Tier.STABLE), Block("ask", f"<{number}>"))))


class BadDay:
    """Answers `said NUMBER`; every fifth call fails, chosen by a seed, not by the caller."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.arrived: list[float] = []
        self._numbers = count()
        self._chance = random.Random(7)

    def __call__(self, wire: Wire, seen: Seen) -> None:
        self.arrived.append(time.monotonic())
        fault = FAULTS[next(self._numbers) % len(FAULTS)] if self._chance.random() < 0.2 else ""
        asked = json.dumps(seen.body["messages"]).rpartition("<ask>")[2].partition("<")[2].partition(">")[0]
        match fault:
            case "429":
                said = self.dialect.error("rate_limit_error", "slow")
                wire.answer(429, json.dumps(said).encode(), {"retry-after": "0"})
            case "500":
                wire.answer(500, b"{}")
            case "broken":
                wire.answer(200, b'{"half')
            case "error inside":
                wire.answer(200, json.dumps(self.dialect.error("api_error", "oh")).encode())
            case _:
                self._stream(wire, asked, fault)

    def _stream(self, wire: Wire, asked: str, fault: str) -> None:
        pieces = self.dialect.pieces([Text(f"said {asked}")])
        wire.begin(self.dialect.stream_type)
        for piece in pieces[:2] if fault else pieces:
            wire.chunk(piece)
        if fault == "stall":
            wire.wait(2)
        elif not fault:
            wire.end()


@pytest.mark.parametrize("dialect", DIALECTS[1:2], ids=lambda one: one.name)
async def test_a_bad_day_is_survived_within_the_limits(dialect: Dialect) -> None:
    dialect.vendor(Server("http://a")).connect()  # type: ignore[call-arg]  # imports the SDK
    before = len(list(OPEN_FILES.iterdir()))
    day = BadDay(dialect)
    with LocalServer(day) as server:
        inner = dialect.provider(server.url, seconds=1.0, stream=True)
        provider = SteadyProvider(inner, PATIENT, Bucket("p", Limits(requests=ALLOWED), period=PERIOD))
        turnstile = asyncio.Semaphore(AT_ONCE)

        async def talk(number: int) -> Reply | ProviderError:
            async with turnstile:
                try:
                    return await provider.complete(request(number))
                except ProviderError as error:
                    return error

        ended = await asyncio.gather(*(talk(number) for number in range(CALLS)))
        await provider.aclose()
    assert len(list(OPEN_FILES.iterdir())) == before
    arrived = day.arrived
    right = [number for number, one in enumerate(ended) if isinstance(one, Reply) and one.text == f"said {number}"]
    failed = [one for one in ended if isinstance(one, ProviderError)]
    assert len(right) >= 0.97 * CALLS
    assert len(right) + len(failed) == CALLS
    assert all(len(error.causes) == 3 for error in failed)
    assert CALLS * 1.1 < len(arrived) < CALLS * 1.6
    assert most_in_a_period(arrived, [1] * len(arrived), PERIOD) <= ALLOWED
