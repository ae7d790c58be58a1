"""Memory as a source of blocks for the window of a message. A run survives a broken memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

from transom.canonical import Json, compact_json
from transom.errors import InputError, MemoryUnavailable
from transom.llm import Block, Tier, estimate_tokens
from transom.llm.turns import Egress, strictest
from transom.memory.entry import MemoryEntry, Recalled
from transom.memory.protocol import Memory

_log = logging.getLogger(__name__)

BLOCK = "memory"
"""Name of the block, for a role's `sees`."""


class Recall:
    """A `BlockSource` over a memory, which also stores answers. Agents with the strategy `memory`
    need it.

    Args:
        memory: the memory; None to recall nothing.
        limit: number of entries at most.
        filters: see `Memory.retrieve`.
        local: whether to recall entries that must not reach a remote provider.

    Attributes:
        status: `ok`, `off` without a memory, `broken` after it could not be reached once.
        error: the error that made it `broken`, or None.
    """

    def __init__(
        self,
        memory: Memory | None,
        *,
        limit: int = 5,
        filters: Mapping[str, Json] | None = None,
        local: bool = True,
    ) -> None:
        if memory and filters and "filters" not in memory.abilities:
            raise InputError(
                "this memory cannot search with filters", place="Recall", hint="leave them out"
            )
        self.status: Literal["ok", "off", "broken"] = "ok" if memory else "off"
        self.error: MemoryUnavailable | None = None
        self._memory = memory
        self._limit = limit
        self._filters = filters
        self._local = local

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """Return the entries that match a query best, in one untrusted block.

        Args:
            query: the text of the message.
            tokens: size of the block at most, in estimated tokens.

        Returns:
            One block; none if no entry matches or fits.
        """
        lines: list[str] = []
        entries: list[MemoryEntry] = []
        for recalled in await self._retrieve(query):
            entry = recalled.entry
            if entry.egress == "local" and not self._local:
                continue
            # The loop goes on after a line that does not fit: shorter ones may.
            line = line_of(entry)
            if estimate_tokens("\n".join([*lines, line])) <= tokens:
                lines.append(line)
                entries.append(entry)
        if not entries:
            return ()
        egress = strictest(*[entry.egress for entry in entries])
        return (Block(BLOCK, "\n".join(lines), Tier.TURN, "untrusted", egress),)

    async def keep(self, place: str, text: str, *, sources: Sequence[str], egress: Egress) -> None:
        """Store an answer by its position; see `transom.context.oversized.KeepsAnswers`."""
        if self._memory is None or self.status == "broken":
            return
        if egress == "local" and "local" not in self._memory.abilities:
            _log.info("an answer is not kept: it must not leave this machine")
            return
        try:
            # A resumed run passes here again.
            if await self._memory.get(place) is None:
                await self._memory.store(text, {"sources": [*sources]}, key=place, egress=egress)
        except MemoryUnavailable as error:
            self._mark_broken(error)

    def _mark_broken(self, error: MemoryUnavailable) -> None:
        self.status = "broken"
        self.error = error
        _log.warning("%s; the run goes on without it", error)

    async def _retrieve(self, query: str) -> list[Recalled]:
        if self._memory is None:
            return []
        try:
            return await self._memory.retrieve(query, self._limit, self._filters)
        except MemoryUnavailable as error:
            self._mark_broken(error)
            return []


def line_of(entry: MemoryEntry) -> str:
    """Return the line of an entry in a window: its id, its text, its metadata."""
    metadata = f" {compact_json(dict(entry.metadata))}" if entry.metadata else ""
    return f"[{entry.id}] {' '.join(entry.content.split())}{metadata}"
