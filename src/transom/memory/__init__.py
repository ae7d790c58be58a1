"""Memory: texts with metadata and relations, searched by words, by meaning and by relations."""

from transom.memory.embedding import Embedder, find_embedder
from transom.memory.entry import Direction, MemoryEntry, Neighbour, Recalled, Relation
from transom.memory.graphiti import GraphitiMemory
from transom.memory.protocol import Memory
from transom.memory.recall import Recall
from transom.memory.sqlite import SqliteMemory

__all__ = [
    "Direction",
    "Embedder",
    "GraphitiMemory",
    "Memory",
    "MemoryEntry",
    "Neighbour",
    "Recall",
    "Recalled",
    "Relation",
    "SqliteMemory",
    "find_embedder",
]
