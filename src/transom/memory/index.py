"""Search over the texts of a table: by words through SQLite's FTS5, and by meaning where there is an embedder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from transom.memory.embedding import Embedder
from transom.memory.vectors import Vectors, allowed_of
from transom.memory.words import stems_of
from transom.store import Tables
from transom.store.tables import Connection, Value

BY_WORDS = 0.4
"""How much words count beside meaning: names and numbers are found by words, paraphrases by meaning."""

_LEAST_LIKE = 0.25  # cosine below which meaning alone finds nothing
_MOST_TERMS = 24
_MOST_LOOKED_UP = 400
_MOST_POSTINGS = 20_000  # a term in nearly every text costs much and tells little
_FEWEST_CANDIDATES = 60
_MOST_SHARING = 500


@dataclass(frozen=True)
class Hit:
    """A text that was found: its number, its score from 0 to 1, comparable within one search, and its likeness.

    The likeness is the cosine with the query; None where one of them has no vector.
    """

    item: int
    score: float
    likeness: float | None


def index_steps(name: str) -> tuple[str, ...]:
    """The statements that make an index of that name, for the first step of a room's tables."""
    tokens = "unicode61 remove_diacritics 0 tokenchars '.+-'"  # as `stems_of` makes them
    return (
        f'CREATE VIRTUAL TABLE {name}_text USING fts5(stems, tags, tokenize = "{tokens}")',
        f"CREATE VIRTUAL TABLE {name}_terms USING fts5vocab({name}_text, 'row')",
        # The number of a change is never given out again: by it other processes see what is new.
        f"""CREATE TABLE {name}_vectors (
            change INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL UNIQUE, model TEXT NOT NULL, vector BLOB
        )""",
    )


class Index:
    """The texts of one table, each under the number of its row. Without an embedder search is by words alone."""

    def __init__(self, tables: Tables, name: str, embedder: Embedder | None = None) -> None:
        self.embedder = embedder
        self._tables = tables
        self._name = name
        self._vectors = Vectors(tables, name, embedder.model) if embedder else None

    def embed(self, text: str) -> bytes | None:
        """The vector of a text, for `put_vector`; made outside of a transaction, since it takes a while."""
        return self.embedder.embed([text])[0].tobytes() if self.embedder else None

    def put_words(self, run: Connection, item: int, text: str, tags: str = "") -> None:
        """Have a text found by its words and its tags, as they are now. Part of the caller's transaction."""
        run.execute(f"DELETE FROM {self._name}_text WHERE rowid = ?", (item,))
        row = (item, " ".join(stems_of(text)), " ".join(stems_of(tags)))
        run.execute(f"INSERT INTO {self._name}_text (rowid, stems, tags) VALUES (?, ?, ?)", row)

    def put_vector(self, run: Connection, item: int, vector: bytes | None) -> None:
        """Have a text found by this meaning; None: by none. Part of the caller's transaction."""
        run.execute(f"DELETE FROM {self._name}_vectors WHERE item = ?", (item,))
        if vector is not None and self.embedder is not None:
            sql = f"INSERT INTO {self._name}_vectors (item, model, vector) VALUES (?, ?, ?)"
            run.execute(sql, (item, self.embedder.model, vector))

    def remove(self, run: Connection, item: int) -> None:
        """Forget a text. Part of the caller's transaction."""
        run.execute(f"DELETE FROM {self._name}_text WHERE rowid = ?", (item,))
        self.put_vector(run, item, None)

    def vector(self, item: int) -> tuple[str, bytes] | None:
        """The model and the vector of a text, 32-bit floats; None where it has none."""
        rows = self._tables.query(f"SELECT model, vector FROM {self._name}_vectors WHERE item = ?", (item,))
        return (rows[0][0], rows[0][1]) if rows else None

    def embed_missing(self, texts: str) -> int:
        """Give a vector to what a SELECT of numbers and texts yields and has none of this model; returns how many."""
        if self.embedder is None:
            return 0
        sql = f"SELECT item FROM {self._name}_vectors WHERE model = ?"
        known = {item for (item,) in self._tables.query(sql, (self.embedder.model,))}
        rows = [row for row in self._tables.query(texts) if row[0] not in known]
        vectors = self.embedder.embed([text for _, text in rows])

        def put(run: Connection) -> None:
            for (item, _), vector in zip(rows, vectors, strict=True):
                self.put_vector(run, item, vector.tobytes())

        self._tables.write(put)
        return len(rows)

    def sharing(self, text: str, part: float) -> list[int]:
        """Numbers of the texts that have that part of all their different stems in common with this one (Jaccard)."""
        stems = {*stems_of(text)}
        known = self._counts(stems)
        # Of its rarest stems, one must be in each of them: the others are too few to make that part.
        needed = int((1 - part) * len(stems)) + 1 - (len(stems) - len(known))
        if not known or needed <= 0:  # it has no terms, or too many of them stand nowhere
            return []
        name = f"{self._name}_text"
        sql = f"SELECT rowid, stems FROM {name} WHERE {name} MATCH ? ORDER BY rowid DESC LIMIT ?"
        rows = self._tables.query(sql, (f"stems : ({_any_of(known[:needed])})", _MOST_SHARING))
        others = [(item, {*found.split()}) for item, found in rows]
        return [item for item, other in others if len(stems & other) >= part * len(stems | other)]

    def search(
        self, query: str, limit: int, among: str, values: Sequence[Value] = (), vector: bytes | None = None
    ) -> list[Hit]:
        """The best texts for a query, the best first; of equal ones the one with the smaller number.

        Args:
            among, values: a SELECT that yields the numbers of the texts that may be found, and its parameters.
            vector: of the query, where it is known.
        """
        many = max(_FEWEST_CANDIDATES, 2 * limit)
        words = self._by_words(query, many, among, values)
        likeness: dict[int, float] = {}
        if self._vectors and query.strip():
            likeness = self._vectors.near(lambda: vector or self.embed(query) or b"", many, words, among, values)
        found = {*words, *(item for item, cosine in likeness.items() if cosine >= _LEAST_LIKE)}
        hits = [_hit(item, words.get(item, 0.0), likeness.get(item)) for item in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.item))[:limit]

    def _counts(self, terms: Collection[str]) -> list[tuple[str, int]]:
        """Terms that stand in some text, and in how many; the rarest first."""
        some = sorted(terms)[:_MOST_LOOKED_UP]
        marks = ",".join("?" * len(some))
        rows = self._tables.query(f"SELECT term, doc FROM {self._name}_terms WHERE term IN ({marks})", some)
        return sorted(rows, key=lambda row: (row[1], row[0]))

    def _by_words(self, query: str, many: int, among: str, values: Sequence[Value]) -> dict[int, float]:
        terms: list[tuple[str, int]] = []
        for term, count in self._counts({*stems_of(query)})[:_MOST_TERMS]:
            if terms and sum(known for _, known in terms) + count > _MOST_POSTINGS:
                break
            terms.append((term, count))
        if not terms:
            return {}
        name, first = f"{self._name}_text", 4 * many
        sql = f"SELECT rowid, bm25({name}) AS rank FROM {name} WHERE {name} MATCH ?"
        order = "ORDER BY rank, rowid LIMIT ?"
        rows = self._tables.query(f"{sql} {order}", (_any_of(terms), first))
        allowed = allowed_of(self._tables, [item for item, _ in rows], among, values)
        if len(allowed) < many and len(rows) == first:
            # A narrow filter. Without `+` SQLite would ask FTS5 once for each text that it lets through.
            rows = self._tables.query(f"{sql} AND +rowid IN ({among}) {order}", (_any_of(terms), *values, many))
        else:
            rows = [row for row in rows if row[0] in allowed][:many]
        best = -rows[0][1] if rows else 1.0  # SQLite's is the better the more negative
        return {item: -rank / best if best > 0 else 1.0 for item, rank in rows}


def _hit(item: int, words: float, likeness: float | None) -> Hit:
    """A text without a vector is judged by its words alone."""
    score = words if likeness is None else BY_WORDS * words + (1 - BY_WORDS) * max(0.0, likeness)
    return Hit(item, score, likeness)


def _any_of(terms: Sequence[tuple[str, int]]) -> str:
    return " OR ".join(f'"{term}"' for term, _ in terms)
