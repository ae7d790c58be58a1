"""A provider whose every reply breaks off once."""

from __future__ import annotations

import asyncio
from typing import Any

from transom.errors import ProviderError
from transom.llm import OnDelta, Provider, Reply, Request, Text


class Halting:
    """Streams the half of each reply, breaks, and is whole when it is asked again."""

    def __init__(self, inner: Provider) -> None:
        self._inner, self._broke = inner, set[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        if request.digest not in self._broke:
            self._broke.add(request.digest)
            if on_delta:
                on_delta(Text("Half of "))
            await asyncio.sleep(0)
            raise ProviderError("the stream broke off", retryable=True)
        return await self._inner.complete(request, on_delta=on_delta)
