"""Memory as a source of blocks: recalls entries for a message; a broken memory does not stop the
run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

from transom.canonical import Json, compact_json
from transom.errors import MemoryUnavailable
from transom.llm import Block, Tier, estimate_tokens
from transom.llm.turns import Egress, strictest
from transom.memory.entry import MemoryEntry, Recalled
from transom.memory.protocol import Memory
from transom.telemetry import child_span, keys

_log = logging.getLogger(__name__)

BLOCK = "memory"
"""Name of the block, for a role's `sees`."""


class Recall:
    """A `BlockSource` over a memory, which also stores answers; agents with the strategy `memory`
    need one.

    Args:
        memory: the memory; None: nothing is recalled.
        limit: number of entries at most.
        filters: see `Memory.retrieve`.
        local: whether to recall entries that must not reach a remote provider.

    Attributes:
        status: `ok`, `off` without a memory, `broken` once it could not be reached.
        error: the error that made it `broken`.
    """

    def __init__(
        self,
        memory: Memory | None,
        *,
        limit: int = 5,
        filters: Mapping[str, Json] | None = None,
        local: bool = True,
    ) -> None:
        self.status: Literal["ok", "off", "broken"] = "ok" if memory else "off"
        self.error: MemoryUnavailable | None = None
        self._memory = memory
        self._limit = limit
        self._filters = filters
        self._local = local

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """Return the best entries for a query in one untrusted block of at most `tokens`
        estimated tokens, or none.
        """
        found = await self._retrieve(query)
        lines: list[str] = []
        shown: list[MemoryEntry] = []
        for one in found:
            line = line_of(one.entry)
            if one.entry.egress == "local" and not self._local:
                continue
            # shorter lines may fit after a longer one
            if estimate_tokens("\n".join([*lines, line])) <= tokens:
                lines.append(line)
                shown.append(one.entry)
        if not shown:
            return ()
        egress = strictest(*[entry.egress for entry in shown])
        return (Block(BLOCK, "\n".join(lines), Tier.TURN, "untrusted", egress),)

    async def keep(self, place: str, text: str, *, sources: Sequence[str], egress: Egress) -> None:
        """Store an answer by its place; see `transom.context.oversized.KeepsAnswers`."""
        if self._memory is None or self.status == "broken":
            return
        try:
            if await self._memory.get(place) is None:
                await self._memory.store(text, {"sources": [*sources]}, key=place, egress=egress)
        except MemoryUnavailable as error:
            self._broken(error)

    def _broken(self, error: MemoryUnavailable) -> None:
        self.status, self.error = "broken", error
        _log.warning("%s; the run goes on without it", error)

    async def _retrieve(self, query: str) -> list[Recalled]:
        if self._memory is None:
            return []
        try:
            with child_span("retrieval memory", **{keys.OPERATION: keys.RETRIEVAL}) as span:
                found = await self._memory.retrieve(query, self._limit, self._filters)
                span.set(keys.FOUND, len(found))
                return found
        except MemoryUnavailable as error:
            self._broken(error)
            return []


def line_of(entry: MemoryEntry) -> str:
    """Return an entry's line in a window: its id, its text, its metadata."""
    metadata = f" {compact_json(dict(entry.metadata))}" if entry.metadata else ""
    return f"[{entry.id}] {' '.join(entry.content.split())}{metadata}"
