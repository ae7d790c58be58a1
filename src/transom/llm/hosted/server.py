"""Where a server is, and what is agreed with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

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
    """

    base_url: str
    api_key: str = field(default=NO_KEY, repr=False)
    api_version: str | None = None
    seconds: float = 300.0
    stream: bool = True
    max_body: int = MAX_BODY
    key_variable: str = ""


class OneLoop(Generic[T]):
    """A client of the running event loop: its connections are of no use to another one.

    Args:
        make: a new client.
        close: lets go of a client's connections.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._client: T | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> T:
        """The client of this loop, made where there is none yet."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = self._make(), loop
        return self._client

    async def aclose(self) -> None:
        """Close the client, if this loop has one."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await self._close(client)
