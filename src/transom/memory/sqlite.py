"""Memory in the workspace's store: full text, exact vectors, and relations in a table."""

from __future__ import annotations

import array
import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

from transom.canonical import Json, compact_json
from transom.errors import InputError, MemoryUnavailable, StoreError
from transom.llm.turns import Egress
from transom.memory.embedding import Embedder
from transom.memory.entry import (
    Direction,
    MemoryEntry,
    Neighbour,
    Recalled,
    Relation,
    check_entry,
    id_of,
)
from transom.memory.index import Index, index_steps, vectors_content
from transom.store import (
    Connection,
    IndexContent,
    RoomContent,
    RoomTables,
    StoreLocation,
    TableContent,
    Value,
    open_tables,
    read_rows,
)
from transom.store.codec import now
from transom.telemetry.redact import Redactor

T = TypeVar("T")

_STEPS = (
    (
        """CREATE TABLE memories (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
            content TEXT NOT NULL, metadata TEXT NOT NULL, egress TEXT NOT NULL,
            created_at TEXT NOT NULL
        )""",
        """CREATE TABLE memory_relations (
            source TEXT NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL,
            PRIMARY KEY (source, name, target)
        ) WITHOUT ROWID""",
        "CREATE INDEX memory_relations_back ON memory_relations (target, name)",
        *index_steps("memories"),
    ),
)
CONTENT = RoomContent(
    "memory",
    _STEPS,
    (
        TableContent(
            "memories",
            ("number", "id", "content", "metadata", "egress", "created_at"),
            is_numbered=True,
        ),
        TableContent("memory_relations", ("source", "name", "target"), keys=3),
        vectors_content("memories"),
    ),
    IndexContent("memories", "SELECT number, content, '[]' FROM memories"),
)
"""The tables of the memory, for copying them."""

_ENTRY = "SELECT number, id, content, metadata, egress, created_at FROM memories"


class SqliteMemory:
    """A `Memory` in the tables of a store, safe for several processes. Create it with `open`."""

    def __init__(self, tables: RoomTables, embedder: Embedder | None) -> None:
        self._tables = tables
        self._index = Index(tables, "memories", embedder)

    @classmethod
    def open(
        cls,
        location: StoreLocation | None,
        embedder: Embedder | None = None,
        *,
        read_only: bool = False,
        redact: Redactor | None = None,
    ) -> Self:
        """Open the memory in a database.

        Args:
            location: the database; None for a database in memory.
            embedder: see `find_embedder`; None: search by words only.
            read_only: only read; the database may lie where nothing can be written.
            redact: finds the secrets that are not kept; see `open_tables`.

        Raises:
            MemoryUnavailable: the database cannot be used.
        """
        try:
            tables = open_tables(location, "memory", _STEPS, read_only=read_only, redact=redact)
            return cls(tables, embedder)
        except StoreError as error:
            raise _unavailable(error) from error

    async def store(
        self,
        content: str,
        metadata: Mapping[str, Json] | None = None,
        *,
        key: str | None = None,
        egress: Egress = "any",
    ) -> str:
        check_entry(key, content)
        content = self._tables.cleaned(content)
        noted = dict(metadata or {})
        # The same content gets the same key, so that storing it again changes nothing.
        chosen = self._tables.cleaned(key) if key else id_of(content, noted)
        return await self._do(lambda: self._put(chosen, content, noted, egress))

    async def get(self, key: str) -> MemoryEntry | None:
        found = await self._do(lambda: self._entries([key]))
        return found.get(key)

    async def retrieve(
        self, query: str, limit: int = 5, filters: Mapping[str, Json] | None = None
    ) -> list[Recalled]:
        where, values = _condition(self._tables, filters or {})
        return await self._do(lambda: self._search(query, limit, where, values))

    async def relate(self, source: str, target: str, relationship: str) -> None:
        if not relationship.strip():
            raise InputError(
                "the relationship has no name", where="memory", hint="name it, e.g. depends_on"
            )

        def insert(run: Connection) -> None:
            for end in (source, target):
                _require(run.execute("SELECT 1 FROM memories WHERE id = ?", (end,)).fetchone(), end)
            run.execute(
                "INSERT INTO memory_relations VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (source, relationship, target),
            )

        await self._do(lambda: self._tables.write(insert))

    async def neighbours(
        self,
        key: str,
        hops: int | None = 1,
        *,
        relationship: str | None = None,
        direction: Direction = "both",
    ) -> list[Neighbour]:
        return await self._do(lambda: self._reach(key, hops, relationship, direction))

    async def forget(self, key: str) -> bool:
        def remove(run: Connection) -> bool:
            row = run.execute(
                "DELETE FROM memories WHERE id = ? RETURNING number", (key,)
            ).fetchone()
            if row:
                run.execute("DELETE FROM memory_relations WHERE source = ?1 OR target = ?1", (key,))
                self._index.remove(run, row[0])
            return row is not None

        return await self._do(lambda: self._tables.write(remove))

    async def embed_missing(self) -> int:
        """Embed the entries that have no vector of this embedder; returns their number."""
        return await self._do(
            lambda: self._index.embed_missing("SELECT number, content FROM memories")
        )

    async def close(self) -> None:
        self._tables.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _do(self, work: Callable[[], T]) -> T:
        """Run in a thread, since a search with its embedding would block the event loop."""
        try:
            return await asyncio.to_thread(work)
        except StoreError as error:
            raise _unavailable(error) from error

    def _put(self, key: str, content: str, metadata: Mapping[str, Json], egress: str) -> str:
        vector = self._index.embed(content)

        def insert(run: Connection) -> None:
            sql = (
                "INSERT INTO memories (id, content, metadata, egress, created_at) VALUES (?, ?, ?,"
                " ?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content, metadata ="
                " excluded.metadata, egress = excluded.egress RETURNING number"
            )
            number = run.execute(
                sql, (key, content, compact_json(dict(metadata)), egress, now())
            ).fetchone()[0]
            self._index.put_words(run, number, content)
            self._index.put_vector(run, number, vector)

        self._tables.write(insert)
        return key

    def _search(
        self, query: str, limit: int, where: str, values: Sequence[Value]
    ) -> list[Recalled]:
        if not query.strip():
            rows = self._tables.query(
                f"SELECT id FROM memories {where} ORDER BY number DESC LIMIT ?", (*values, limit)
            )
            found = self._entries([key for (key,) in rows])
            return [Recalled(found[key], 0.0) for (key,) in rows]
        hits = self._index.search(query, limit, f"SELECT number FROM memories {where}", values)
        marks = ",".join("?" * len(hits))
        rows = self._tables.query(
            f"SELECT number, id FROM memories WHERE number IN ({marks})", [hit.item for hit in hits]
        )
        ids = dict(rows)
        found = self._entries(list(ids.values()))
        return [
            Recalled(found[ids[hit.item]], hit.score) for hit in hits if ids.get(hit.item) in found
        ]

    def _entries(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        marks = ",".join("?" * len(ids))
        related: dict[str, list[Relation]] = {}
        sql = (
            f"SELECT * FROM memory_relations WHERE source IN ({marks}) UNION SELECT * FROM"
            " memory_relations "
        )
        for row in self._tables.query(
            f"{sql} WHERE target IN ({marks}) ORDER BY 1, 2, 3", (*ids, *ids)
        ):
            for end in dict.fromkeys((row[0], row[2])):
                related.setdefault(end, []).append(Relation(*row))

        def entry(row: Any) -> MemoryEntry:
            return self._entry(row, related)

        sql = f"{_ENTRY} WHERE id IN ({marks})"
        entries = read_rows(self._tables, entry, sql, ids, noun="an entry of memory")
        return {entry.id: entry for entry in entries}

    def _entry(self, row: Any, related: Mapping[str, Iterable[Relation]]) -> MemoryEntry:
        number, key, content, metadata, egress, created = row
        model, vector = self._index.vector(number) or (None, b"")
        embedding = tuple(array.array("f", vector)) if model else None
        return MemoryEntry(
            key,
            content,
            json.loads(metadata),
            tuple(related.get(key, ())),
            embedding,
            model,
            egress,
            created,
        )

    def _reach(
        self, start: str, hops: int | None, name: str | None, direction: Direction
    ) -> list[Neighbour]:
        _require(self._tables.query("SELECT 1 FROM memories WHERE id = ?", (start,)), start)
        reached: dict[str, tuple[int, Relation]] = {}
        edge, step = [start], 0
        while edge and (hops is None or step < hops):
            step += 1
            following: dict[str, Relation] = {}
            for end, relation in self._steps(edge, name, direction):
                if end != start and end not in reached:
                    following.setdefault(end, relation)
            reached |= {end: (step, relation) for end, relation in following.items()}
            edge = [*following]
        entries = self._entries([*reached])
        found = [Neighbour(entries[end], *how) for end, how in reached.items() if end in entries]
        return sorted(found, key=lambda one: (one.hops, one.entry.id))

    def _steps(
        self, edge: Sequence[str], name: str | None, direction: Direction
    ) -> Iterable[tuple[str, Relation]]:
        """Return the entries one step away with their relations, in a fixed order."""
        found: list[tuple[str, Relation]] = []
        for here, there in (("source", "target"), ("target", "source")):
            if direction == ("in" if here == "source" else "out"):
                continue
            sql = f"SELECT {there}, source, name, target FROM memory_relations WHERE {here} IN "
            sql += (
                f"({','.join('?' * len(edge))}) AND (?{len(edge) + 1} IS NULL OR name ="
                f" ?{len(edge) + 1})"
            )
            found += [
                (row[0], Relation(*row[1:])) for row in self._tables.query(sql, (*edge, name))
            ]
        return sorted(found)


def _unavailable(error: StoreError) -> MemoryUnavailable:
    return MemoryUnavailable(
        f"memory cannot be used: {error.what}", where=error.where, hint=error.hint
    )


def _require(found: object, key: str) -> None:
    if not found:
        raise InputError(
            f"unknown entry {key!r}", where="memory", hint="store it first, with that id"
        )


def _condition(tables: RoomTables, filters: Mapping[str, Json]) -> tuple[str, list[Value]]:
    """Return a WHERE clause over the metadata, and its parameters."""
    clauses: list[str] = []
    values: list[Value] = []
    for key, wanted in filters.items():
        if '"' in key or not key:
            raise InputError(
                f"{key!r} cannot be filtered by", where="memory", hint="name a key of the metadata"
            )
        if isinstance(wanted, dict) and wanted.keys() <= {"from", "to"} and wanted:
            for name, sign in (("from", ">="), ("to", "<=")):
                if name in wanted:
                    bound = _scalar(key, wanted[name])
                    numeric = not isinstance(bound, str)
                    clauses.append(tables.json_compares("metadata", sign, numeric=numeric))
                    values += [key, bound]
        else:
            among = wanted if isinstance(wanted, list) else [wanted]
            clauses.append(tables.json_is_among("metadata", len(among)))
            values += [key, *(compact_json(member) for member in among)]
    return (f"WHERE {' AND '.join(clauses)}" if clauses else "", values)


def _scalar(key: str, value: Json) -> Value:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    raise InputError(
        f"{value!r} is not a bound for {key}", where="memory", hint="give a number or a text"
    )
