"""Full-text indexes in SQLite: tables of FTS5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transom.store.protocol import Connection, Value

Query = Callable[[str, Sequence[Value]], list[Any]]


def creation_of(name: str) -> tuple[str, ...]:
    """Return the statements that create an index."""
    tokens = "unicode61 remove_diacritics 0 tokenchars '.+-'"
    return (
        f'CREATE VIRTUAL TABLE {name}_text USING fts5(stems, tags, tokenize = "{tokens}")',
        f"CREATE VIRTUAL TABLE {name}_terms USING fts5vocab({name}_text, 'row')",
    )


class SqliteWordIndex:
    """A `WordIndex` in SQLite."""

    def __init__(self, query: Query, name: str) -> None:
        self._query = query
        self._name = name

    def put(self, run: Connection, item: int, stems: Sequence[str], tags: Sequence[str]) -> None:
        self.remove(run, item)
        row = (item, " ".join(stems), " ".join(tags))
        run.execute(f"INSERT INTO {self._name}_text (rowid, stems, tags) VALUES (?, ?, ?)", row)

    def remove(self, run: Connection, item: int) -> None:
        run.execute(f"DELETE FROM {self._name}_text WHERE rowid = ?", (item,))

    def counts(self, terms: Sequence[str]) -> list[tuple[str, int]]:
        marks = ",".join("?" * len(terms))
        return self._query(
            f"SELECT term, doc FROM {self._name}_terms WHERE term IN ({marks})", terms
        )

    def containing(self, terms: Sequence[str], limit: int) -> list[tuple[int, list[str]]]:
        name = f"{self._name}_text"
        sql = f"SELECT rowid, stems FROM {name} WHERE {name} MATCH ? ORDER BY rowid DESC LIMIT ?"
        rows = self._query(sql, (f"stems : ({_any_of(terms)})", limit))
        return [(item, stems.split()) for item, stems in rows]

    def best(
        self, terms: Sequence[str], limit: int, among: str = "", values: Sequence[Value] = ()
    ) -> list[tuple[int, float]]:
        name = f"{self._name}_text"
        # Without `+` SQLite would query FTS5 once for each allowed text.
        allowed = f"AND +rowid IN ({among}) " if among else ""
        sql = (
            f"SELECT rowid, bm25({name}) AS rank FROM {name} WHERE {name} MATCH ? {allowed}"
            "ORDER BY rank, rowid LIMIT ?"
        )
        rows = self._query(sql, (_any_of(terms), *values, limit))
        return [(item, -rank) for item, rank in rows]  # in SQLite, more negative is better


def _any_of(terms: Sequence[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)
