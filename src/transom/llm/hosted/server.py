"""Where a server is, and what is agreed with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from transom.llm.loops import PerLoop

T = TypeVar("T")

MAX_BODY = 32 * 1024 * 1024
"""Bytes; no reply of a model comes near it."""


NO_KEY = "none"
"""Sent to servers that want none; the SDKs insist on something."""


@dataclass(frozen=True)
class Server:
    """How a server is reached.

    Attributes:
        base_url: as the vendor's SDK takes it.
        api_key: what it is to be shown; it stands in no error, log or trace.
        api_version: of Azure; None elsewhere.
        seconds: wall clock for one whole reply.
        stream: take replies in pieces where they are offered.
        max_body: bytes that one reply may have.
        key_variable: the environment variable that holds the key, for messages.
        proxy: through which it is asked, as `proxy_of` says; None: directly, whatever the environment has.
    """

    base_url: str
    api_key: str = field(default=NO_KEY, repr=False)
    api_version: str | None = None
    seconds: float = 300.0
    stream: bool = True
    max_body: int = MAX_BODY
    key_variable: str = ""
    proxy: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class _Held(Generic[T]):
    """A client, and what lets go of it when it is closed."""

    client: T
    life: AsyncGenerator[None]


class Clients(Generic[T]):
    """An SDK's client for each event loop that asks: its connections are of no use to another one.

    It is closed with its loop, as `asyncio.run` and `asyncio.Runner` end one; a program need not.

    Args:
        make: a new client.
        close: lets go of a client's connections.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._held = PerLoop(self._begin)

    def get(self) -> T:
        """The client of this loop, made where there is none yet."""
        return self._held.get().client

    async def aclose(self) -> None:
        """Close the client of this loop, if it has one; those of other loops are in use there."""
        held = self._held.pop()
        if held is not None:
            await held.life.aclose()

    def _begin(self) -> _Held[T]:
        client = self._make()
        life = self._live(client)
        with suppress(StopIteration):
            life.__anext__().send(None)  # begun, it is one of those that a loop ends before it is closed
        return _Held(client, life)

    async def _live(self, client: T) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._held.pop()
            await self._close(client)
