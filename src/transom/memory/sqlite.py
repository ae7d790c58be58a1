"""Memory in the workspace's store: a full-text index, exact vectors, and a table of relations."""

from __future__ import annotations

import array
import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

from transom.canonical import Json, compact_json
from transom.errors import InputError, MemoryUnavailable, NotFoundError, StoreError
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
from transom.memory.index import Hit, Index, index_steps, vectors_content
from transom.memory.observing import observed
from transom.memory.protocol import ABILITIES
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
from transom.telemetry import keys
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

    abilities = ABILITIES

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
        full_sync: bool = False,
    ) -> Self:
        """Open the memory in a database.

        Args:
            location: the database; None for a database in memory.
            embedder: see `find_embedder`; None for search by words only.
            read_only: whether to only read; the folder of the database need not be writable.
            redact: removes secrets from stored texts; see `open_tables`.
            full_sync: whether every write has to survive power loss.

        Raises:
            MemoryUnavailable: the database cannot be used.
        """
        try:
            tables = open_tables(
                location,
                "memory",
                _STEPS,
                read_only=read_only,
                redact=redact,
                full_sync=full_sync,
            )
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
        metadata = dict(metadata or {})
        # The same content gets the same id, so that storing it again changes nothing.
        entry_id = self._tables.cleaned(key) if key else id_of(content, metadata)
        with observed("store"):
            return await self._do(lambda: self._put(entry_id, content, metadata, egress))

    async def get(self, key: str) -> MemoryEntry | None:
        with observed("get") as span:
            entries = await self._do(lambda: self._entries([key]))
            span.set(keys.FOUND, len(entries))
        return entries.get(key)

    async def retrieve(
        self, query: str, limit: int = 5, filters: Mapping[str, Json] | None = None
    ) -> list[Recalled]:
        condition, values = _condition(self._tables, filters or {})
        with observed("retrieve") as span:
            entries = await self._do(lambda: self._search(query, limit, condition, values))
            span.set(keys.FOUND, len(entries))
            return entries

    async def nearest(self, key: str, limit: int = 10) -> list[Recalled]:
        """Return the entries that are nearest to one by meaning, nearest first, without itself.

        No model is loaded: stored vectors are compared. An entry without one has no neighbours.

        Raises:
            NotFoundError: there is no such entry.
        """

        def search() -> list[Recalled]:
            rows = self._tables.query("SELECT number FROM memories WHERE id = ?", (key,))
            if not rows:
                raise NotFoundError(f"unknown entry {key!r}", hint="see: transom memory search")
            return self._recalled(self._index.nearest(rows[0][0], limit))

        with observed("neighbours") as span:
            entries = await self._do(search)
            span.set(keys.FOUND, len(entries))
            return entries

    async def relate(self, source: str, target: str, relationship: str) -> None:
        if not relationship.strip():
            raise InputError(
                "the relationship has no name", place="memory", hint="name it, e.g. depends_on"
            )

        def insert(run: Connection) -> None:
            # In the same transaction: another process may forget one of them.
            for end in (source, target):
                _require(run.execute("SELECT 1 FROM memories WHERE id = ?", (end,)).fetchone(), end)
            run.execute(
                "INSERT INTO memory_relations VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (source, relationship, target),
            )

        with observed("relate"):
            await self._do(lambda: self._tables.write(insert))

    async def neighbours(
        self,
        key: str,
        hops: int | None = 1,
        *,
        relationship: str | None = None,
        direction: Direction = "both",
    ) -> list[Neighbour]:
        with observed("neighbours") as span:
            entries = await self._do(lambda: self._reach(key, hops, relationship, direction))
            span.set(keys.FOUND, len(entries))
            return entries

    async def forget(self, key: str) -> bool:
        def remove(run: Connection) -> bool:
            row = run.execute(
                "DELETE FROM memories WHERE id = ? RETURNING number", (key,)
            ).fetchone()
            if row:
                run.execute("DELETE FROM memory_relations WHERE source = ?1 OR target = ?1", (key,))
                self._index.remove(run, row[0])
            return row is not None

        with observed("forget"):
            return await self._do(lambda: self._tables.write(remove))

    async def embed_missing(self) -> int:
        """Embed the entries that have no vector of this embedder, and return their number."""
        texts = "SELECT number, content FROM memories"
        return await self._do(lambda: self._index.embed_missing(texts))

    async def close(self) -> None:
        self._tables.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _do(self, work: Callable[[], T]) -> T:
        """Run blocking work in a thread, so that the event loop goes on meanwhile."""
        try:
            return await asyncio.to_thread(work)
        except StoreError as error:
            raise _unavailable(error) from error

    def _put(self, key: str, content: str, metadata: Mapping[str, Json], egress: str) -> str:
        # Outside the transaction: an embedding takes longer than other processes should wait.
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
        self, query: str, limit: int, condition: str, values: Sequence[Value]
    ) -> list[Recalled]:
        if not query.strip():
            return self._newest(limit, condition, values)
        allowed = f"SELECT number FROM memories {condition}"
        return self._recalled(self._index.search(query, limit, allowed, values))

    def _recalled(self, hits: Sequence[Hit]) -> list[Recalled]:
        rows = self._tables.query(
            f"SELECT number, id FROM memories WHERE number IN ({_parameters(hits)})",
            [hit.item for hit in hits],
        )
        ids = dict(rows)
        entries = self._entries(list(ids.values()))
        recalled = []
        for hit in hits:
            # Another process may have forgotten the entry since the search.
            if ids.get(hit.item) in entries:
                recalled.append(Recalled(entries[ids[hit.item]], hit.score))
        return recalled

    def _newest(self, limit: int, condition: str, values: Sequence[Value]) -> list[Recalled]:
        rows = self._tables.query(
            f"SELECT id FROM memories {condition} ORDER BY number DESC LIMIT ?", (*values, limit)
        )
        ids = [row[0] for row in rows]
        entries = self._entries(ids)
        return [Recalled(entries[entry_id], 0.0) for entry_id in ids]

    def _entries(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        """Return the entries with these ids, by their id, as far as they exist."""
        parameters = _parameters(ids)
        relations: dict[str, list[Relation]] = {}
        sql = (
            f"SELECT * FROM memory_relations WHERE source IN ({parameters}) UNION SELECT * FROM"
            f" memory_relations WHERE target IN ({parameters}) ORDER BY 1, 2, 3"
        )
        for row in self._tables.query(sql, (*ids, *ids)):
            # A relation of an entry with itself is listed once.
            for end in dict.fromkeys((row[0], row[2])):
                relations.setdefault(end, []).append(Relation(*row))

        def entry(row: Any) -> MemoryEntry:
            return self._entry(row, relations)

        sql = f"{_ENTRY} WHERE id IN ({parameters})"
        entries = read_rows(self._tables, entry, sql, ids, noun="an entry of memory")
        return {entry.id: entry for entry in entries}

    def _entry(self, row: Any, relations: Mapping[str, Iterable[Relation]]) -> MemoryEntry:
        number, entry_id, content, metadata, egress, created_at = row
        model, vector = self._index.vector(number) or (None, b"")
        return MemoryEntry(
            entry_id,
            content,
            json.loads(metadata),
            relationships=tuple(relations.get(entry_id, ())),
            embedding=tuple(array.array("f", vector)) if model else None,
            model=model,
            egress=egress,
            created_at=created_at,
        )

    def _reach(
        self, start: str, hops: int | None, name: str | None, direction: Direction
    ) -> list[Neighbour]:
        _require(self._tables.query("SELECT 1 FROM memories WHERE id = ?", (start,)), start)
        # Breadth first, so that each entry is reached by a shortest way.
        reached: dict[str, tuple[int, Relation]] = {}
        frontier = [start]
        step = 0
        while frontier and (hops is None or step < hops):
            step += 1
            next_frontier = []
            for end, relation in self._steps(frontier, name, direction):
                if end != start and end not in reached:
                    reached[end] = (step, relation)
                    next_frontier.append(end)
            frontier = next_frontier
        entries = self._entries([*reached])
        neighbours = []
        for end, (step, relation) in reached.items():
            # Another process may have forgotten the entry meanwhile.
            if end in entries:
                neighbours.append(Neighbour(entries[end], step, relation))
        return sorted(neighbours, key=lambda neighbour: (neighbour.hops, neighbour.entry.id))

    def _steps(
        self, ids: Sequence[str], name: str | None, direction: Direction
    ) -> list[tuple[str, Relation]]:
        """Return the entries one step away with their relations, in a fixed order."""
        columns = []
        if direction != "in":
            columns.append(("source", "target"))
        if direction != "out":
            columns.append(("target", "source"))
        steps: list[tuple[str, Relation]] = []
        for start_column, end_column in columns:
            # The name is the last parameter, and is used twice.
            number = len(ids) + 1
            sql = (
                f"SELECT {end_column}, source, name, target FROM memory_relations WHERE"
                f" {start_column} IN ({_parameters(ids)}) AND (?{number} IS NULL OR name ="
                f" ?{number})"
            )
            for row in self._tables.query(sql, (*ids, name)):
                steps.append((row[0], Relation(*row[1:])))
        return sorted(steps)


def _unavailable(error: StoreError) -> MemoryUnavailable:
    return MemoryUnavailable(
        f"memory cannot be used: {error.problem}", place=error.place, hint=error.hint
    )


def _parameters(values: Sequence[object]) -> str:
    """Return the parameters of an SQL list with these values."""
    return ",".join("?" * len(values))


def _require(rows: object, key: str) -> None:
    if not rows:
        raise InputError(
            f"unknown entry {key!r}", place="memory", hint="store it first, with that id"
        )


def _condition(tables: RoomTables, filters: Mapping[str, Json]) -> tuple[str, list[Value]]:
    """Return a WHERE clause over the metadata, "" if there is no filter, and its parameters.

    Raises:
        InputError: a key or a bound cannot be used.
    """
    clauses: list[str] = []
    values: list[Value] = []
    for key, condition in filters.items():
        # Keys become parts of a JSON path, in quotation marks.
        if '"' in key or not key:
            raise InputError(
                f"{key!r} cannot be filtered by", place="memory", hint="name a key of the metadata"
            )
        if isinstance(condition, dict) and condition.keys() <= {"from", "to"} and condition:
            for name, sign in (("from", ">="), ("to", "<=")):
                if name in condition:
                    bound = _bound(key, condition[name])
                    # SQL would compare 9 and 10 as texts otherwise.
                    numeric = not isinstance(bound, str)
                    clauses.append(tables.json_compares("metadata", sign, numeric=numeric))
                    values += [key, bound]
        else:
            members = condition if isinstance(condition, list) else [condition]
            clauses.append(tables.json_is_among("metadata", len(members)))
            values += [key, *map(compact_json, members)]
    if not clauses:
        return "", values
    return f"WHERE {' AND '.join(clauses)}", values


def _bound(key: str, value: Json) -> Value:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    raise InputError(
        f"{value!r} is not a bound for {key}", place="memory", hint="give a number or a text"
    )
