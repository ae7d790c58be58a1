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
    """An entry of memory.

    Attributes:
        id: a short line of text.
        content: the text.
        metadata: values by which entries are filtered.
        relationships: its relations, in both directions.
        embedding: its vector, of length 1; None if it was stored without an embedder.
        model: the model of the vector; None if there is no vector.
        egress: `local` if the text must not reach a remote provider.
        created_at: when it was first stored; UTC, ISO 8601.
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
        """Return the entry as JSON, without its vector, which is of no use to a reader."""
        relationships: list[Json] = []
        for relation in self.relationships:
            relationships.append(
                {"source": relation.source, "name": relation.name, "target": relation.target}
            )
        return {
            "id": self.id,
            "content": self.content,
            "metadata": dict(self.metadata),
            "relationships": relationships,
            "egress": self.egress,
            "created_at": self.created_at,
            "model": self.model,
        }


@dataclass(frozen=True)
class Recalled:
    """An entry that matches a query.

    Attributes:
        entry: the entry.
        score: 0 to 1; only scores of the same search can be compared.
    """

    entry: MemoryEntry
    score: float


@dataclass(frozen=True)
class Neighbour:
    """An entry that relations connect with another entry.

    Attributes:
        entry: the entry.
        hops: number of steps of the shortest way to it.
        via: the last relation of that way.
    """

    entry: MemoryEntry
    hops: int
    via: Relation


def id_of(content: str, metadata: Mapping[str, Json]) -> str:
    """Return an id that is the same for content and metadata that are equal as canonical JSON, in
    which 1 and 1.0 differ.
    """
    return digest({"content": content, "metadata": dict(metadata)})[:16]


def check_entry(entry_id: str | None, content: str) -> None:
    """Check the arguments of `Memory.store`.

    Raises:
        InputError: the content is empty, or the id is not a short line.
    """
    if not content.strip():
        raise InputError("the content is empty", place="memory", hint="give the text to store")
    if entry_id is None:
        return
    # Ids are printed in lists and in windows, one line each. Spaces around an id do not count.
    if not entry_id.isprintable() or not 0 < len(entry_id.strip()) <= _LONGEST_ID:
        hint = f"use a line of at most {_LONGEST_ID} characters"
        raise InputError(f"{entry_id!r:.80} cannot be an id", place="memory", hint=hint)
