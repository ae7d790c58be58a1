"""Search over the texts of a table: by words with the store's full-text index, and by meaning
with an embedder.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from transom.memory.embedding import Embedder
from transom.memory.vectors import Vectors, allowed_of
from transom.memory.words import stems_of
from transom.store import Connection, RoomTables, Value, WordIndexStep

BY_WORDS = 0.4
"""Weight of words beside meaning: words find names and numbers, meaning finds paraphrases."""

_LEAST_LIKE = 0.25  # least cosine for a hit by meaning alone
_MOST_TERMS = 24
_MOST_LOOKED_UP = 400
_MOST_POSTINGS = 20_000  # limit, since frequent terms are slow and tell little
_FEWEST_CANDIDATES = 60
_MOST_SHARING = 500


@dataclass(frozen=True)
class Hit:
    """A found text: its number, its score from 0 to 1, comparable within one search, and its
    likeness.

    The likeness is the cosine with the query; None if one of them has no vector.
    """

    item: int
    score: float
    likeness: float | None


def index_steps(name: str) -> tuple[str | WordIndexStep, ...]:
    """Return the statements that create an index, for the first step of a room's tables."""
    return (
        WordIndexStep(name),
        # A change number is never reused, so that other processes recognise new vectors by it.
        f"""CREATE TABLE {name}_vectors (
            change INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL UNIQUE,
            model TEXT NOT NULL, vector BLOB
        )""",
    )


class Index:
    """A search index over the texts of one table, by row number. Without an embedder search uses
    words only.
    """

    def __init__(self, tables: RoomTables, name: str, embedder: Embedder | None = None) -> None:
        self.embedder = embedder
        self._tables = tables
        self._name = name
        self._words = tables.word_index(name)
        self._vectors = Vectors(tables, name, embedder.model) if embedder else None

    def embed(self, text: str) -> bytes | None:
        """Return the vector of a text for `put_vector`; call it outside a transaction, since it
        is slow.
        """
        return self.embedder.embed([text])[0].tobytes() if self.embedder else None

    def put_words(self, run: Connection, item: int, text: str, tags: str = "") -> None:
        """Index a text's words and tags, in the caller's transaction."""
        self._words.put(run, item, stems_of(text), stems_of(tags))

    def put_vector(self, run: Connection, item: int, vector: bytes | None) -> None:
        """Index a text's vector, or remove it with None, in the caller's transaction."""
        run.execute(f"DELETE FROM {self._name}_vectors WHERE item = ?", (item,))
        if vector is not None and self.embedder is not None:
            sql = f"INSERT INTO {self._name}_vectors (item, model, vector) VALUES (?, ?, ?)"
            run.execute(sql, (item, self.embedder.model, vector))

    def remove(self, run: Connection, item: int) -> None:
        """Remove a text, in the caller's transaction."""
        self._words.remove(run, item)
        self.put_vector(run, item, None)

    def vector(self, item: int) -> tuple[str, bytes] | None:
        """Return model and vector of a text as 32-bit floats; None if it has none."""
        rows = self._tables.query(
            f"SELECT model, vector FROM {self._name}_vectors WHERE item = ?", (item,)
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def embed_missing(self, texts: str) -> int:
        """Embed the rows (number, text) of a SELECT that lack a vector of this model; returns
        their number.
        """
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
        """Return numbers of the texts that share at least `part` of all stems with this text
        (Jaccard).
        """
        stems = {*stems_of(text)}
        known = self._counts(stems)
        # Each of them contains one of the rarest stems, since the other stems are too few to reach
        # that share.
        needed = int((1 - part) * len(stems)) + 1 - (len(stems) - len(known))
        if not known or needed <= 0:  # the text has no terms, or too many terms without any text
            return []
        rarest = [term for term, _ in known[:needed]]
        rows = self._words.containing(rarest, _MOST_SHARING)
        sharing = []
        for item, words in rows:
            other = {*words}
            if len(stems & other) >= part * len(stems | other):
                sharing.append(item)
        return sharing

    def search(
        self,
        query: str,
        limit: int,
        among: str,
        values: Sequence[Value] = (),
        vector: bytes | None = None,
    ) -> list[Hit]:
        """Return the best texts for a query, best first; ties in the order of their numbers.

        Args:
            among, values: a SELECT of the numbers of the allowed texts, and its parameters.
            vector: the query's vector, if known.
        """
        many = max(_FEWEST_CANDIDATES, 2 * limit)
        words = self._by_words(query, many, among, values)
        likeness: dict[int, float] = {}
        if self._vectors and query.strip():
            likeness = self._vectors.near(
                lambda: vector or self.embed(query) or b"", many, words, among, values
            )
        found = {*words, *(item for item, cosine in likeness.items() if cosine >= _LEAST_LIKE)}
        hits = [_hit(item, words.get(item, 0.0), likeness.get(item)) for item in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.item))[:limit]

    def _counts(self, terms: Collection[str]) -> list[tuple[str, int]]:
        """Return the terms that occur, with the number of their texts; rarest first."""
        rows = self._words.counts(sorted(terms)[:_MOST_LOOKED_UP])
        return sorted(rows, key=lambda row: (row[1], row[0]))

    def _by_words(
        self, query: str, many: int, among: str, values: Sequence[Value]
    ) -> dict[int, float]:
        chosen: list[str] = []
        postings = 0
        for term, count in self._counts({*stems_of(query)})[:_MOST_TERMS]:
            # Frequent words cost most and tell least; the rarest one is always searched for.
            if chosen and postings + count > _MOST_POSTINGS:
                break
            chosen.append(term)
            postings += count
        if not chosen:
            return {}
        # More rows than wanted, since the filter may take some of them away.
        first = 4 * many
        rows = self._words.best(chosen, first)
        allowed = allowed_of(self._tables, [item for item, _ in rows], among, values)
        if len(allowed) < many and len(rows) == first:  # the filter is narrow
            rows = self._words.best(chosen, many, among, values)
        else:
            rows = [row for row in rows if row[0] in allowed][:many]
        # Scores count relative to the best one, so that they compare with likeness.
        scores = dict[int, float]()
        best = rows[0][1] if rows else 1.0
        for item, score in rows:
            scores[item] = score / best if best > 0 else 1.0
        return scores


def _hit(item: int, words: float, likeness: float | None) -> Hit:
    """Combine the scores; a text without a vector is scored by its words only."""
    score = words if likeness is None else BY_WORDS * words + (1 - BY_WORDS) * max(0.0, likeness)
    return Hit(item, score, likeness)
