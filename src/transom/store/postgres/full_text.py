"""Full-text indexes in PostgreSQL: `tsvector` finds the texts, and SQL scores them as FTS5 does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from transom.store.protocol import Connection, Value

Query = Callable[[str, Sequence[Any]], list[Any]]

# FTS5's constants of BM25. They let both stores give one text the same score.
_FREQUENCY = 1.2
_LENGTH = 0.75
_LEAST_WEIGHT = 1e-6
# Limits of `tsvector`: 2 KB a word, positions up to 16,383, 1 MB altogether.
_LONGEST_WORD = 200
_LAST_POSITION = 16_000
_MOST_BYTES = 900_000


def creation_of(name: str) -> tuple[str, ...]:
    """Return the statements that create an index: words have the weight A, tags B."""
    return (
        f"CREATE TABLE {name}_text"
        " (item BIGINT PRIMARY KEY, words TSVECTOR NOT NULL, size BIGINT NOT NULL)",
        f"CREATE INDEX {name}_text_words ON {name}_text USING gin (words)",
    )


class PostgresWordIndex:
    """A `WordIndex` in PostgreSQL."""

    def __init__(self, query: Query, name: str) -> None:
        self._query = query
        self._table = f"{name}_text"

    def put(self, run: Connection, item: int, stems: Sequence[str], tags: Sequence[str]) -> None:
        run.execute(
            f"INSERT INTO {self._table} (item, words, size) VALUES (?, ?::tsvector, ?)"
            " ON CONFLICT (item) DO UPDATE SET words = excluded.words, size = excluded.size",
            (item, _vector(stems, tags), len(stems) + len(tags)),
        )

    def remove(self, run: Connection, item: int) -> None:
        run.execute(f"DELETE FROM {self._table} WHERE item = ?", (item,))

    def counts(self, terms: Sequence[str]) -> list[tuple[str, int]]:
        sql = (
            "SELECT term, number FROM unnest(?::text[], ?::text[]) AS wanted (term, query)"
            f" CROSS JOIN LATERAL (SELECT count(*) AS number FROM {self._table}"
            " WHERE words @@ query::tsquery) AS counted WHERE number > 0"
        )
        return self._query(sql, ([*terms], [_quoted(term) for term in terms]))

    def containing(self, terms: Sequence[str], limit: int) -> list[tuple[int, list[str]]]:
        words = "SELECT array_agg(lexeme) FROM unnest(words) WHERE 'A' = ANY (weights)"
        sql = (
            f"SELECT item, ({words}) FROM {self._table} WHERE words @@ ?::tsquery"
            " ORDER BY item DESC LIMIT ?"
        )
        return self._query(sql, (_any_of(terms, ":A"), limit))

    def best(
        self, terms: Sequence[str], limit: int, among: str = "", values: Sequence[Value] = ()
    ) -> list[tuple[int, float]]:
        [(texts, mean)] = self._query(
            f"SELECT count(*), coalesce(avg(size), 0)::float8 FROM {self._table}", ()
        )
        weights = {_word(term): _weight(texts, count) for term, count in self.counts(terms)}
        if not weights:
            return []
        allowed = f"AND item IN ({among}) " if among else ""
        # unnest() yields a word of a text with its positions: as many as it occurs.
        score = (
            f"weight * frequency * {_FREQUENCY + 1} / (frequency + {_FREQUENCY} *"
            f" ({1 - _LENGTH} + {_LENGTH} * size / ?::float8))"
        )
        sql = (
            f"SELECT item, sum({score}) AS score FROM {self._table}"
            " CROSS JOIN LATERAL (SELECT lexeme, cardinality(positions)::float8 AS frequency"
            " FROM unnest(words)) AS word"
            " JOIN unnest(?::text[], ?::float8[]) AS wanted (lexeme, weight) USING (lexeme)"
            f" WHERE words @@ ?::tsquery {allowed}GROUP BY item ORDER BY score DESC, item LIMIT ?"
        )
        chosen = ([*weights], [*weights.values()], _any_of(terms))
        return self._query(sql, (mean or 1.0, *chosen, *values, limit))


def _weight(texts: int, count: int) -> float:
    """Return how much a word tells that `count` of the texts have."""
    return max(math.log((texts - count + 0.5) / (count + 0.5)), _LEAST_WEIGHT)


def _vector(stems: Sequence[str], tags: Sequence[str]) -> str:
    """Return the `tsvector` of a text, as PostgreSQL reads it."""
    positions: dict[str, list[str]] = {}
    weighted = [(stem, "A") for stem in stems] + [(tag, "B") for tag in tags]
    room = _MOST_BYTES
    for position, (term, weight) in enumerate(weighted[:_LAST_POSITION], start=1):
        word = _quoted(term)
        room -= len(word.encode()) if word not in positions else 2
        if room < 0:
            break
        positions.setdefault(word, []).append(f"{position}{weight}")
    return " ".join(f"{word}:{','.join(places)}" for word, places in positions.items())


def _word(term: str) -> str:
    return term[:_LONGEST_WORD]


def _quoted(term: str) -> str:
    return "'" + _word(term).replace("\\", "\\\\").replace("'", "''") + "'"


def _any_of(terms: Sequence[str], weight: str = "") -> str:
    return " | ".join(_quoted(term) + weight for term in terms)
