"""Data types of memory: entries, relations, search results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from transom.canonical import Json, digest
from transom.errors import InputError
from transom.llm.turns import Egress

Direction = Literal["out", "in", "both"]
"""Direction of relations to follow: source to target, target to source, or both."""

_LONGEST_ID = 200


@dataclass(frozen=True, order=True)
class Relation:
    """A named relation between two entries: `checkout depends_on payment-gateway`."""

    source: str
    name: str
    target: str


@dataclass(frozen=True)
class MemoryEntry:
    """An entry of memory, filtered by its metadata, related and read by its id.

    Attributes:
        embedding: its vector, of length 1; None if it was stored without an embedder.
        model: the model of the vector.
        egress: `local` if the text must not reach a remote provider.
        created_at: time of its first storage, UTC, ISO 8601.
    """

    id: str
    content: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    relationships: tuple[Relation, ...] = ()
    embedding: tuple[float, ...] | None = field(default=None, repr=False)
    model: str | None = None
    egress: Egress = "any"
    created_at: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the entry without its vector, for people."""
        return {
            "id": self.id,
            "content": self.content,
            "metadata": dict(self.metadata),
            "relationships": [
                {"source": r.source, "name": r.name, "target": r.target} for r in self.relationships
            ],
            "egress": self.egress,
            "created_at": self.created_at,
            "model": self.model,
        }


@dataclass(frozen=True)
class Recalled:
    """A found entry and its score, from 0 to 1, comparable within one search."""

    entry: MemoryEntry
    score: float


@dataclass(frozen=True)
class Neighbour:
    """An entry reached from another one: the number of steps of the shortest way, and its last
    relation.
    """

    entry: MemoryEntry
    hops: int
    via: Relation


def id_of(content: str, metadata: Mapping[str, Json]) -> str:
    """Return the id of an entry without a given one: equal content and metadata are one entry."""
    return digest({"content": content, "metadata": dict(metadata)})[:16]


def check_entry(entry_id: str | None, content: str) -> None:
    """Raise InputError for empty content, or an id that is not a short line."""
    if not content.strip():
        raise InputError("the content is empty", where="memory", hint="give the text to store")
    if entry_id is not None and not (
        entry_id.isprintable() and 0 < len(entry_id.strip()) <= _LONGEST_ID
    ):
        hint = f"use a line of at most {_LONGEST_ID} characters"
        raise InputError(f"{entry_id!r:.80} cannot be an id", where="memory", hint=hint)
