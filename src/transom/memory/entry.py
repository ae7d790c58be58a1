"""What memory keeps: entries, how they are related, and what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from transom.canonical import Json, digest
from transom.errors import InputError
from transom.llm.turns import Egress

Direction = Literal["out", "in", "both"]
"""Along relations, against them, or either way."""

_LONGEST_ID = 200


@dataclass(frozen=True, order=True)
class Relation:
    """`source` stands in this relation to `target`: `checkout depends_on payment-gateway`."""

    source: str
    name: str
    target: str


@dataclass(frozen=True)
class MemoryEntry:
    """One thing that is remembered; it is filtered by its metadata, related and read again by its id.

    Attributes:
        embedding: its vector, of length 1; None where no embedder was there.
        model: whose vector that is.
        egress: `local` where the text must not reach a remote provider.
        created_at: when it was first stored, UTC, ISO 8601.
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
        """Without the vector, which is of no use to people."""
        return {
            "id": self.id,
            "content": self.content,
            "metadata": dict(self.metadata),
            "relationships": [{"source": r.source, "name": r.name, "target": r.target} for r in self.relationships],
            "egress": self.egress,
            "created_at": self.created_at,
            "model": self.model,
        }


@dataclass(frozen=True)
class Recalled:
    """An entry that was found, and how well it fits: from 0 to 1, comparable within one search."""

    entry: MemoryEntry
    score: float


@dataclass(frozen=True)
class Neighbour:
    """An entry that is reached from another one in so many steps, the shortest way, over `via` in the last of them."""

    entry: MemoryEntry
    hops: int
    via: Relation


def id_of(content: str, metadata: Mapping[str, Json]) -> str:
    """The id of an entry that nobody named: the same content and metadata are one entry."""
    return digest({"content": content, "metadata": dict(metadata)})[:16]


def check_entry(entry_id: str | None, content: str) -> None:
    """Refuse what cannot be kept: an empty content, an id that is no short line."""
    if not content.strip():
        raise InputError("the content is empty", where="memory", hint="give the text that is to be remembered")
    if entry_id is not None and not (entry_id.isprintable() and 0 < len(entry_id.strip()) <= _LONGEST_ID):
        hint = f"use a line of at most {_LONGEST_ID} characters"
        raise InputError(f"{entry_id!r:.80} cannot be an id", where="memory", hint=hint)
