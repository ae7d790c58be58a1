"""The interface of a memory. `tests/memory/conformance.py` tests every implementation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, Self, TypeAlias

from transom.canonical import Json
from transom.llm.turns import Egress
from transom.memory.entry import Direction, MemoryEntry, Neighbour, Recalled

Ability: TypeAlias = Literal["filters", "relations", "local"]
"""What a memory may lack: filters on metadata; relations; texts that must not reach a remote
provider.
"""

ABILITIES: frozenset[Ability] = frozenset({"filters", "relations", "local"})


class Memory(Protocol):
    """A store of entries that are found by meaning, by metadata, and by relations.

    Every method raises `MemoryUnavailable` if the memory cannot be reached: a run can go on without
    it. Wrong arguments raise `InputError`, and so does what the memory lacks.

    Attributes:
        abilities: what it can do beyond storing, finding and forgetting.
    """

    abilities: frozenset[Ability]

    async def store(
        self,
        content: str,
        metadata: Mapping[str, Json] | None = None,
        *,
        key: str | None = None,
        egress: Egress = "any",
    ) -> str:
        """Store a text, and return its id.

        Args:
            content: the text.
            metadata: values for filters.
            key: its id; an entry with this id is replaced. None for an id that is made from content
                and metadata, so that an equal entry is stored once.
            egress: `local` if the text must not reach a remote provider.
        """
        ...

    async def get(self, key: str) -> MemoryEntry | None:
        """Return an entry, or None."""
        ...

    async def retrieve(
        self, query: str, limit: int = 5, filters: Mapping[str, Json] | None = None
    ) -> list[Recalled]:
        """Return the entries that match best, best first. An empty query returns the newest.

        Args:
            query: a text.
            limit: number of entries at most.
            filters: conditions on the metadata: a value, a list of values, or `{"from": a, "to":
                b}`, both inclusive and optional. `{"feature": "F1", "timestamp": {"from":
                "2026-11-01"}}`.
        """
        ...

    async def relate(self, source: str, target: str, relationship: str) -> None:
        """Add a relation from `source` to `target`, if it does not exist.

        Raises:
            InputError: one of the entries is unknown.
        """
        ...

    async def neighbours(
        self,
        key: str,
        hops: int | None = 1,
        *,
        relationship: str | None = None,
        direction: Direction = "both",
    ) -> list[Neighbour]:
        """Return the entries that relations connect with an entry, nearest first; each once, also
        in cycles.

        Args:
            key: the entry to start from, which is not returned.
            hops: number of steps at most; None for no limit.
            relationship: follow only relations with this name.
            direction: `out` follows relations from source to target, `in` the other way. Everything
                that depends on X: `neighbours(X, None, relationship="depends_on", direction="in")`.

        Raises:
            InputError: the entry is unknown.
        """
        ...

    async def forget(self, key: str) -> bool:
        """Remove an entry and its relations; return False if it is unknown."""
        ...

    async def close(self) -> None:
        """Close the memory. A second call does nothing."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...
