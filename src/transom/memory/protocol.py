"""What a memory promises. `tests/memory/conformance.py` holds every implementation to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Self

from transom.canonical import Json
from transom.llm.turns import Egress
from transom.memory.entry import Direction, MemoryEntry, Neighbour, Recalled


class Memory(Protocol):
    """Entries that are found by what they mean, by what is noted of them, and by how they are related.

    Every method raises `MemoryUnavailable` where the memory cannot be reached: a run can go on without it. What a
    person or a program gave wrongly is an `InputError`.
    """

    async def store(
        self,
        content: str,
        metadata: Mapping[str, Json] | None = None,
        *,
        key: str | None = None,
        egress: Egress = "any",
    ) -> str:
        """Remember a text; returns its id.

        Args:
            key: its id; what stood under it is replaced. None: content and metadata make one, so that what is stored
                twice stands once.
            egress: `local` where the text must not reach a remote provider.
        """
        ...

    async def get(self, key: str) -> MemoryEntry | None:
        """The entry, or None where there is none."""
        ...

    async def retrieve(self, query: str, limit: int = 5, filters: Mapping[str, Json] | None = None) -> list[Recalled]:
        """The entries that fit best, the best first. An empty query finds the newest.

        Args:
            filters: what the metadata must hold: a value, one of a list, or `{"from": a, "to": b}`, both inclusive and
                either may lack. `{"feature": "F1", "timestamp": {"from": "2026-11-01"}}`.
        """
        ...

    async def relate(self, source: str, target: str, relationship: str) -> None:
        """Say that `source` stands in this relation to `target`. Saying it twice does no harm.

        Raises:
            InputError: one of them is not there.
        """
        ...

    async def neighbours(
        self, key: str, hops: int | None = 1, *, relationship: str | None = None, direction: Direction = "both"
    ) -> list[Neighbour]:
        """The entries that are reached from one, the nearest first; each once, also where relations form a cycle.

        Args:
            key: where to begin; it is not among them.
            hops: steps at most; None: as many as it takes.
            relationship: of this name only.
            direction: `out` follows relations from source to target, `in` the other way. What depends on X, over any
                number of steps: `neighbours(X, None, relationship="depends_on", direction="in")`.

        Raises:
            InputError: there is no such entry.
        """
        ...

    async def forget(self, key: str) -> bool:
        """Remove an entry and its relations; False where there is none."""
        ...

    async def close(self) -> None:
        """Let go of the medium. Closing twice does no harm."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...
