"""The playbook's events and what they come to: an event is appended and folded in within one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.canonical import Json, compact_json
from transom.learning.insight import Insight, InsightCategory, Source
from transom.memory.index import index_steps
from transom.store import Tables
from transom.store.codec import now
from transom.store.tables import Connection

INDEX = "insights"

_STEPS = (
    (
        """CREATE TABLE insight_events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, kind TEXT NOT NULL, insight TEXT NOT NULL,
            key TEXT UNIQUE, data TEXT NOT NULL
        )""",
        "CREATE INDEX insight_events_by_insight ON insight_events (insight, seq)",
        """CREATE TABLE insights (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, serial INTEGER NOT NULL, category TEXT NOT NULL,
            content TEXT NOT NULL, fingerprint TEXT NOT NULL, helpful INTEGER NOT NULL DEFAULT 0,
            harmful INTEGER NOT NULL DEFAULT 0, against INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL,
            sources TEXT NOT NULL, scope TEXT NOT NULL, owner TEXT NOT NULL, overrides TEXT NOT NULL,
            created_at TEXT NOT NULL, last_used TEXT NOT NULL DEFAULT '', confirmed_at TEXT NOT NULL DEFAULT '',
            valid_from TEXT NOT NULL, valid_until TEXT NOT NULL, retired TEXT NOT NULL DEFAULT '',
            merged_into TEXT NOT NULL DEFAULT '', egress TEXT NOT NULL
        )""",
        "CREATE INDEX insights_by_fingerprint ON insights (fingerprint)",
        "CREATE INDEX insights_by_serial ON insights (serial)",
        "CREATE INDEX insights_overriding ON insights (overrides) WHERE overrides != ''",
        *index_steps(INDEX),
    ),
)
_COLUMNS = (
    "id, category, content, helpful, harmful, against, tags, sources, scope, owner, overrides, created_at, last_used, "
    "confirmed_at, valid_from, valid_until, retired, merged_into, egress"
)
_EDITABLE = ("content", "fingerprint", "scope", "owner", "overrides", "valid_from", "valid_until")


@dataclass(frozen=True)
class PlaybookEvent:
    """Something that happened to an insight.

    Attributes:
        seq: its place among all events of the database.
        at: when, UTC.
        kind: `added`, `seen`, `feedback`, `raised`, `edited`, `merged`, `retired`, `restored` or `confirmed`.
        insight: its id.
        data: what else is known.
    """

    seq: int
    at: str
    kind: str
    insight: str
    data: Mapping[str, Json]


class Ledger:
    """Events and insights of one database.

    Args:
        path: the database; None for one in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self.tables = Tables.open(path, "learning", _STEPS)

    def append(self, run: Connection, kind: str, insight: str, data: Mapping[str, Json], key: str | None = None) -> int:
        """Add an event and fold it in. Part of the caller's transaction.

        Returns:
            Its number, or 0 where an event of that key is there already and nothing was done.
        """
        at, text = now(), compact_json(dict(data))
        sql = "INSERT OR IGNORE INTO insight_events (at, kind, insight, key, data) VALUES (?, ?, ?, ?, ?)"
        cursor = run.execute(sql, (at, kind, insight, key, text))
        if not cursor.rowcount or not cursor.lastrowid:
            return 0
        _FOLD[kind](run, cursor.lastrowid, at, insight, data)
        return cursor.lastrowid

    def rebuild(self) -> None:
        """Fold all events anew. The insights are what they were: a test of the whole."""

        def fold(run: Connection) -> None:
            run.execute("DELETE FROM insights")
            events = run.execute("SELECT seq, at, kind, insight, data FROM insight_events ORDER BY seq").fetchall()
            for seq, at, kind, insight, data in events:
                _FOLD[kind](run, seq, at, insight, json.loads(data))

        self.tables.write(fold)

    def events(self, insight: str | None = None, after: int = 0) -> list[PlaybookEvent]:
        """The events of an insight, or of all, in order, behind that number."""
        sql = "SELECT seq, at, kind, insight, data FROM insight_events WHERE seq > ? AND (?2 IS NULL OR insight = ?2)"
        rows = self.tables.query(f"{sql} ORDER BY seq", (after, insight))
        return [PlaybookEvent(seq, at, kind, one, json.loads(data)) for seq, at, kind, one, data in rows]

    @property
    def epoch(self) -> int:
        """The number of the newest event; 0 for none."""
        return int(self.tables.query("SELECT coalesce(max(seq), 0) FROM insight_events")[0][0])

    def insights(self, where: str = "1", values: Sequence[Any] = (), order: str = "number") -> list[Insight]:
        """Those for which a condition holds, in the order in which they were added or another one."""
        sql = f"SELECT {_COLUMNS} FROM insights WHERE {where} ORDER BY {order}"
        return [_insight(row) for row in self.tables.query(sql, values)]

    def numbered(self, numbers: Sequence[int]) -> dict[int, Insight]:
        """Insights by the numbers that the index knows them by."""
        marks = ",".join("?" * len(numbers))
        rows = self.tables.query(f"SELECT number, {_COLUMNS} FROM insights WHERE number IN ({marks})", numbers)
        return {row[0]: _insight(row[1:]) for row in rows}


def next_serial(run: Connection) -> int:
    """The number of the next id: one runs through all categories, and none is given out twice."""
    return int(run.execute("SELECT coalesce(max(serial), 0) + 1 FROM insights").fetchone()[0])


def _insight(row: Sequence[Any]) -> Insight:
    key, category, content, helpful, harmful, against, tags, sources, *rest = row
    known = tuple(Source.from_json(one) for one in json.loads(sources))
    counts = (helpful, harmful, against)
    return Insight(key, InsightCategory(category), content, *counts, tuple(json.loads(tags)), known, *rest)


def _added(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    run.execute(
        "INSERT INTO insights (number, id, serial, category, content, fingerprint, helpful, harmful, against, tags, "
        "sources, scope, owner, overrides, created_at, last_used, confirmed_at, valid_from, valid_until, retired, "
        f"egress) VALUES ({','.join('?' * 21)})",
        (
            seq, insight, int(insight.rpartition("-")[2]), data["category"], data["content"], data["fingerprint"],
            *data.get("counts", (0, 0, 0)), compact_json(sorted(set(data.get("tags", ())))),
            compact_json(data.get("sources", [])), data["scope"], data.get("owner", ""), data.get("overrides", ""),
            data.get("created_at", at), data.get("last_used", ""), data.get("confirmed_at", ""),
            data.get("valid_from", ""), data.get("valid_until", ""), data.get("retired", ""), data.get("egress", "any"),
        ),
    )  # fmt: skip


def _seen(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    del seq, at
    _enrich(run, insight, data.get("tags", ()), data.get("sources", ()), data.get("egress", "any"))


def _feedback(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    del seq
    good, against = data["helpful"], not data["supports"]
    run.execute(
        "UPDATE insights SET helpful = helpful + ?, harmful = harmful + ?, against = against + ?, last_used = ? "
        "WHERE id = ?",
        (int(good), int(not good), int(against), at, insight),
    )


def _raised(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    _seen(run, seq, at, insight, data)
    run.execute(
        "UPDATE insights SET helpful = helpful + ?, harmful = harmful + ?, against = against + ?, "
        "last_used = max(last_used, ?) WHERE id = ?",
        (*data["counts"], data.get("last_used", ""), insight),
    )


def _edited(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    del seq, at
    for column in _EDITABLE:
        if column in data:
            run.execute(f"UPDATE insights SET {column} = ? WHERE id = ?", (data[column], insight))
    if "tags" in data:
        run.execute("UPDATE insights SET tags = ? WHERE id = ?", (compact_json(sorted(set(data["tags"]))), insight))


def _merged(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    del seq, at
    sql = "SELECT helpful, harmful, against, last_used, tags, sources, egress FROM insights WHERE id = ?"
    *counts, last_used, tags, sources, egress = run.execute(sql, (insight,)).fetchone()
    into = data["into"]
    run.execute(
        "UPDATE insights SET helpful = helpful + ?, harmful = harmful + ?, against = against + ?, "
        "last_used = max(last_used, ?) WHERE id = ?",
        (*counts, last_used, into),
    )
    _enrich(run, into, json.loads(tags), json.loads(sources), egress)
    run.execute("UPDATE insights SET merged_into = ?1 WHERE id = ?2 OR merged_into = ?2", (into, insight))
    run.execute("UPDATE insights SET retired = ? WHERE id = ?", (f"merged into {into}", insight))


def _retired(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    del seq, at
    run.execute("UPDATE insights SET retired = ? WHERE id = ?", (data["why"], insight))


def _restored(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    del seq, at, data
    run.execute("UPDATE insights SET retired = '' WHERE id = ? AND merged_into = ''", (insight,))


def _confirmed(run: Connection, seq: int, at: str, insight: str, data: Mapping[str, Any]) -> None:
    del seq, data
    run.execute("UPDATE insights SET confirmed_at = ? WHERE id = ?", (at, insight))


def _enrich(run: Connection, insight: str, tags: Sequence[str], sources: Sequence[Json], egress: str) -> None:
    """More tags and sources; each stays once. What also came of local text is local."""
    row = run.execute("SELECT tags, sources FROM insights WHERE id = ?", (insight,)).fetchone()
    all_tags = sorted({*json.loads(row[0]), *tags})
    known = json.loads(row[1])
    known += [one for one in _each_once(sources) if one not in known]
    run.execute(
        "UPDATE insights SET tags = ?, sources = ?, egress = CASE WHEN ? = 'any' THEN egress ELSE 'local' END "
        "WHERE id = ?",
        (compact_json(all_tags), compact_json(known), egress, insight),
    )


def _each_once(sources: Sequence[Json]) -> Iterator[Json]:
    seen: list[Json] = []
    for one in sources:
        if one and one not in seen:
            seen.append(one)
            yield one


_FOLD = {
    "added": _added,
    "seen": _seen,
    "feedback": _feedback,
    "raised": _raised,
    "edited": _edited,
    "merged": _merged,
    "retired": _retired,
    "restored": _restored,
    "confirmed": _confirmed,
}
