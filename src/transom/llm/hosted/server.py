"""How a server is reached, and the SDK clients for it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from transom.errors import InputError
from transom.llm.loops import PerLoop

T = TypeVar("T")

MAX_BODY = 32 * 1024 * 1024
"""Bytes; no reply of a model comes near it."""


NO_KEY = "none"
"""Sent to servers that need no key; the SDKs insist on one."""


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
        official: whether it is the vendor's own address, where an account's organization and project hold.
        service: whose models answer, where that is known: `openai`, `azure`, `openrouter`, ...; "": see its address.
        proxy: through which it is asked, as `proxy_of` says; None: directly, whatever the environment has.
    """

    base_url: str
    api_key: str = field(default=NO_KEY, repr=False)
    api_version: str | None = None
    seconds: float = 300.0
    stream: bool = True
    max_body: int = MAX_BODY
    key_variable: str = ""
    official: bool = False
    service: str = ""
    proxy: str | None = field(default=None, repr=False)


HEADERS = {"Accept-Encoding": "identity"}
"""Headers of each request, beside those that an SDK makes of the key and the body."""


def send_only_ours(client: Any, variable: str) -> None:
    """Have an SDK's client send `HEADERS`, and none of those in the environment.

    Each has a variable of headers, which are meant for somebody's gateway; it sends them to whatever server it is
    given, and an `Authorization` among them goes there in place of the key.

    Args:
        client: of a vendor's SDK.
        variable: the one of headers.

    Raises:
        InputError: this release of the SDK keeps them elsewhere, and the variable is set.
    """
    kept = "_custom_headers"
    if hasattr(client, kept):
        setattr(client, kept, dict(HEADERS))
    elif os.environ.get(variable):
        what = "the installed SDK would send the headers of this variable to the server"
        raise InputError(what, where=variable, hint="unset it")


@dataclass(frozen=True)
class _Held(Generic[T]):
    """A client, and the generator that closes it."""

    client: T
    closer: AsyncGenerator[None]


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
            await held.closer.aclose()

    def _begin(self) -> _Held[T]:
        client = self._make()
        closer = self._until_closed(client)
        with suppress(StopIteration):
            closer.__anext__().send(None)  # a started generator is closed by its loop before the loop closes
        return _Held(client, closer)

    async def _until_closed(self, client: T) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._held.pop()
            await self._close(client)
