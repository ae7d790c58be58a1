"""Search over the texts of a table: by words with the store's full-text index, and by meaning
with an embedder.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from transom.memory.embedding import Embedder
from transom.memory.vectors import Vectors, allowed_of
from transom.memory.words import stems_of
from transom.store import Connection, RoomTables, TableContent, Value, WordIndexStep

BY_WORDS = 0.4
"""Weight of words in a score; the rest is meaning. Words find names and numbers, meaning finds
paraphrases.
"""

_LEAST_LIKENESS = 0.25  # cosine of a hit without a common word
# Limits that keep a search fast, also for a whole page as query.
_MOST_TERMS = 24
# Stems in one statement; of a longer query only the alphabetically first ones are looked up.
_MOST_LOOKED_UP = 400
# Occurrences of all terms together: frequent terms are slow and tell little.
_MOST_POSTINGS = 20_000
# Candidates by words and by meaning, from which the hits of a search are chosen.
_FEWEST_CANDIDATES = 60
_MOST_SHARING = 500  # texts, the newest, that are compared with a text


@dataclass(frozen=True)
class Hit:
    """A text that matches a query.

    Attributes:
        item: its row number.
        score: 0 to 1; only scores of the same search can be compared.
        likeness: cosine with the query; None if one of them has no vector.
    """

    item: int
    score: float
    likeness: float | None


def index_steps(name: str) -> tuple[str | WordIndexStep, ...]:
    """Return the statements that create an index, for the first migration of a room's tables."""
    return (
        WordIndexStep(name),
        # A change number is never reused, so that other processes recognise new vectors by it.
        f"""CREATE TABLE {name}_vectors (
            change INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL UNIQUE,
            model TEXT NOT NULL, vector BLOB
        )""",
    )


def vectors_content(name: str) -> TableContent:
    """Return the description of an index's vectors, for copying them to another database."""
    return TableContent(f"{name}_vectors", ("change", "item", "model", "vector"), is_numbered=True)


class Index:
    """A search index over the texts of one table, by their row numbers.

    Args:
        tables: the tables of the room.
        name: prefix of the index's own tables.
        embedder: None for search by words only.
    """

    def __init__(self, tables: RoomTables, name: str, embedder: Embedder | None = None) -> None:
        self.embedder = embedder
        self._tables = tables
        self._name = name
        self._words = tables.word_index(name)
        self._vectors = Vectors(tables, name, embedder.model) if embedder else None

    def embed(self, text: str) -> bytes | None:
        """Return the vector of a text for `put_vector`; None without an embedder.

        Call it outside a transaction, since it is slow.
        """
        if self.embedder is None:
            return None
        vector: bytes = self.embedder.embed([text])[0].tobytes()
        return vector

    def put_words(self, run: Connection, item: int, text: str, tags: str = "") -> None:
        """Index the words and tags of a text, in the caller's transaction."""
        self._words.put(run, item, stems_of(text), stems_of(tags))

    def put_vector(self, run: Connection, item: int, vector: bytes | None) -> None:
        """Index the vector of a text, or remove it with None, in the caller's transaction."""
        # Deleted and inserted instead of updated: a row has to get a new change number.
        run.execute(f"DELETE FROM {self._name}_vectors WHERE item = ?", (item,))
        if vector is not None and self.embedder is not None:
            sql = f"INSERT INTO {self._name}_vectors (item, model, vector) VALUES (?, ?, ?)"
            run.execute(sql, (item, self.embedder.model, vector))

    def remove(self, run: Connection, item: int) -> None:
        """Remove a text, in the caller's transaction."""
        self._words.remove(run, item)
        self.put_vector(run, item, None)

    def vector(self, item: int) -> tuple[str, bytes] | None:
        """Return the model and the vector (32-bit floats) of a text; None if it has none."""
        rows = self._tables.query(
            f"SELECT model, vector FROM {self._name}_vectors WHERE item = ?", (item,)
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def embed_missing(self, texts: str) -> int:
        """Embed the texts that lack a vector of this model, and return their number.

        Args:
            texts: a SELECT of rows with a number and a text.
        """
        if self.embedder is None:
            return 0
        sql = f"SELECT item FROM {self._name}_vectors WHERE model = ?"
        embedded_items = {item for (item,) in self._tables.query(sql, (self.embedder.model,))}
        rows = [row for row in self._tables.query(texts) if row[0] not in embedded_items]
        vectors = self.embedder.embed([text for _, text in rows])

        def put(run: Connection) -> None:
            for (item, _), vector in zip(rows, vectors, strict=True):
                self.put_vector(run, item, vector.tobytes())

        self._tables.write(put)
        return len(rows)

    def texts_sharing_stems(self, text: str, least_share: float) -> list[int]:
        """Return the numbers of texts with many stems in common with a text.

        Args:
            text: the text to compare with.
            least_share: least share of common stems in the stems of both texts, 0 to 1 (Jaccard
                index).
        """
        stems = {*stems_of(text)}
        counts = self._counts(stems)
        # A text with this share lacks at most n - ceil(share * n) of the n stems, so it has one of
        # any n - ceil(share * n) + 1, here of the rarest. Stems that no text has are lacked by all.
        unknown_stems = len(stems) - len(counts)
        needed = len(stems) - math.ceil(least_share * len(stems)) + 1 - unknown_stems
        # The text has no stems, or too many that no other text contains.
        if not counts or needed <= 0:
            return []
        rarest = [term for term, _ in counts[:needed]]
        items = []
        for item, words in self._words.containing(rarest, _MOST_SHARING):
            other_stems = {*words}
            if len(stems & other_stems) >= least_share * len(stems | other_stems):
                items.append(item)
        return items

    def search(
        self,
        query: str,
        limit: int,
        among: str,
        values: Sequence[Value] = (),
        vector: bytes | None = None,
    ) -> list[Hit]:
        """Return the texts that match a query best, best first; ties in the order of their numbers.

        Args:
            query: words or sentences.
            limit: number of texts at most.
            among, values: a SELECT of the row numbers of the allowed texts, and its parameters.
            vector: the query's vector, if known.
        """
        # The best text of both lists together may be far down in either.
        candidates = max(_FEWEST_CANDIDATES, 2 * limit)
        scores = self._by_words(query, candidates, among, values)
        cosines: dict[int, float] = {}
        if self._vectors and query.strip():
            cosines = self._vectors.near(
                lambda: vector or self.embed(query) or b"", candidates, scores, among, values
            )
        items = set(scores)
        for item, cosine in cosines.items():
            if cosine >= _LEAST_LIKENESS:
                items.add(item)
        hits = [_hit(item, scores.get(item, 0.0), cosines.get(item)) for item in items]
        return sorted(hits, key=lambda hit: (-hit.score, hit.item))[:limit]

    def nearest(self, item: int, limit: int) -> list[Hit]:
        """Return the texts that are nearest to a text by meaning, nearest first, without itself;
        none if it has no vector.
        """
        stored = self.vector(item)
        if stored is None:
            return []
        model, vector = stored
        # Those of the same model, which need not be the one of this index.
        vectors = Vectors(self._tables, self._name, model)
        among = f"SELECT item FROM {self._name}_vectors"
        hits: list[Hit] = []
        for other, cosine in vectors.near(lambda: vector, limit + 1, (), among, ()).items():
            if other != item and cosine >= _LEAST_LIKENESS:
                hits.append(Hit(other, cosine, cosine))
        return hits[:limit]

    def _counts(self, terms: Collection[str]) -> list[tuple[str, int]]:
        """Return the terms that occur in texts, with the number of texts; rarest first."""
        ordered = sorted(terms)
        rows: list[tuple[str, int]] = []
        for start in range(0, len(ordered), _MOST_LOOKED_UP):
            rows += self._words.counts(ordered[start : start + _MOST_LOOKED_UP])
        return sorted(rows, key=lambda row: (row[1], row[0]))

    def _by_words(
        self, query: str, limit: int, among: str, values: Sequence[Value]
    ) -> dict[int, float]:
        """Return number -> score (0 to 1) of the texts that match any of the words best."""
        terms = self._rare_terms(query)
        if not terms:
            return {}
        # A filter within the full-text search is slow, so it is applied to four times as many rows.
        # Only if it leaves too few of them, the search is repeated with the filter.
        unfiltered = 4 * limit
        rows = self._words.best(terms, unfiltered)
        allowed = allowed_of(self._tables, [item for item, _ in rows], among, values)
        if len(allowed) < limit and len(rows) == unfiltered:
            rows = self._words.best(terms, limit, among, values)
        else:
            rows = [row for row in rows if row[0] in allowed][:limit]
        # Scores are relative to the best one, so that they can be added to a cosine.
        scores = dict[int, float]()
        best = rows[0][1] if rows else 1.0
        for item, score in rows:
            scores[item] = score / best if best > 0 else 1.0
        return scores

    def _rare_terms(self, query: str) -> list[str]:
        """Return the rarest stems of a query, as many as can be searched for in a short time."""
        terms: list[str] = []
        postings = 0
        stems = sorted({*stems_of(query)})[:_MOST_LOOKED_UP]
        for term, count in self._counts(stems)[:_MOST_TERMS]:
            # Frequent words cost most and tell least; the rarest one is always searched for.
            if terms and postings + count > _MOST_POSTINGS:
                break
            terms.append(term)
            postings += count
        return terms


def _hit(item: int, words_score: float, likeness: float | None) -> Hit:
    """Combine the scores of words and meaning; a text without a vector is scored by words only."""
    if likeness is None:
        return Hit(item, words_score, None)
    score = BY_WORDS * words_score + (1 - BY_WORDS) * max(0.0, likeness)
    return Hit(item, score, likeness)
