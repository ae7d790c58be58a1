"""Events of a playbook, and the insights that result from them: an event is stored and applied in
one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transom.canonical import Json, compact_json
from transom.learning.insight import Insight, InsightCategory, InsightSource
from transom.learning.likeness import fingerprint
from transom.memory.index import index_steps, vectors_content
from transom.store import (
    Connection,
    IndexContent,
    RoomContent,
    StoreLocation,
    TableContent,
    open_tables,
    read_rows,
)
from transom.store.codec import now
from transom.telemetry.redact import Redactor

INDEX = "insights"

_STEPS = (
    (
        """CREATE TABLE insight_events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, kind TEXT NOT NULL,
            insight TEXT NOT NULL, key TEXT UNIQUE, data TEXT NOT NULL
        )""",
        "CREATE INDEX insight_events_by_insight ON insight_events (insight, seq)",
        """CREATE TABLE insights (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, serial INTEGER NOT NULL,
            category TEXT NOT NULL, content TEXT NOT NULL, fingerprint TEXT NOT NULL,
            helpful INTEGER NOT NULL DEFAULT 0, harmful INTEGER NOT NULL DEFAULT 0,
            against INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL, sources TEXT NOT NULL,
            scope TEXT NOT NULL, owner TEXT NOT NULL, overrides TEXT NOT NULL,
            created_at TEXT NOT NULL, last_used TEXT NOT NULL DEFAULT '',
            confirmed_at TEXT NOT NULL DEFAULT '', valid_from TEXT NOT NULL,
            valid_until TEXT NOT NULL, retired TEXT NOT NULL DEFAULT '',
            merged_into TEXT NOT NULL DEFAULT '', egress TEXT NOT NULL
        )""",
        "CREATE INDEX insights_by_fingerprint ON insights (fingerprint)",
        "CREATE INDEX insights_by_serial ON insights (serial)",
        "CREATE INDEX insights_overriding ON insights (overrides) WHERE overrides != ''",
        *index_steps(INDEX),
    ),
)
_COLUMNS = (
    "id, category, content, helpful, harmful, against, tags, sources, scope, owner, overrides,"
    " created_at, last_used, confirmed_at, valid_from, valid_until, retired, merged_into, egress"
)
CONTENT = RoomContent(
    "learning",
    _STEPS,
    (
        TableContent(
            "insight_events", ("seq", "at", "kind", "insight", "key", "data"), is_numbered=True
        ),
        TableContent("insights", ("number", "serial", "fingerprint", *_COLUMNS.split(", "))),
        vectors_content(INDEX),
    ),
    IndexContent(INDEX, "SELECT number, content, tags FROM insights"),
)
"""The tables of the playbook, for copying them."""

# Columns that an event `edited` may change.
_EDITABLE = {"content", "fingerprint", "overrides", "valid_from", "valid_until", "tags"}
# Fields of an event `added` that become columns without a change.
_COPIED_FIELDS = (
    "category",
    "content",
    "scope",
    "owner",
    "overrides",
    "valid_from",
    "valid_until",
    "last_used",
    "confirmed_at",
    "retired",
)


@dataclass(frozen=True)
class PlaybookEvent:
    """A change of an insight.

    Attributes:
        seq: its number in the database.
        at: its time; UTC, ISO 8601.
        kind: `added`, `seen`, `feedback`, `raised`, `edited`, `merged`, `retired`, `restored`,
            `confirmed`, `near`, `distinct`, or `withdrawn` (an outcome that no longer counts).
        insight: id of the insight.
        data: depends on the kind.
    """

    seq: int
    at: str
    kind: str
    insight: str
    data: Mapping[str, Any]


def scores_of(events: Iterable[PlaybookEvent]) -> list[tuple[str, int]]:
    """Return the times at which outcomes of an insight were counted, and the net score after each.

    Outcomes that came with a merged insight are not among them: its own history has them.
    """
    scores: list[tuple[str, int]] = []
    score = 0
    for event in events:
        if event.kind == "feedback":
            # An outcome that is good may speak against an insight, see `supports`.
            score += 2 * int(event.data["supports"]) - 1
        elif event.kind == "withdrawn":
            score -= 2 * int(event.data["supports"]) - 1
        elif event.kind == "confirmed":
            score += 1
        elif event.kind == "raised":
            # Counts of an imported playbook: `against` are among the first two.
            helpful, harmful, against = event.data["counts"]
            score += helpful + harmful - 2 * against
        else:
            # Other events change texts and places, not the score.
            continue
        scores.append((event.at, score))
    return scores


class InsightLedger:
    """The events and the insights of one database.

    Args:
        location: the database; None for one in memory.
        read_only: whether to only read.
        redact: removes secrets from stored texts; see `open_tables`.
        full_sync: whether every write has to survive power loss.
    """

    def __init__(
        self,
        location: StoreLocation | None,
        *,
        read_only: bool = False,
        redact: Redactor | None = None,
        full_sync: bool = False,
    ) -> None:
        self.tables = open_tables(
            location,
            "learning",
            _STEPS,
            read_only=read_only,
            redact=redact,
            full_sync=full_sync,
        )

    def append(
        self,
        run: Connection,
        kind: str,
        insight: str,
        data: Mapping[str, Json],
        key: str | None = None,
    ) -> int:
        """Store and apply an event in the caller's transaction.

        Returns:
            Its number; 0 if an event with this key is already stored.
        """
        recorded_at = now()
        text = compact_json(dict(data))
        sql = (
            "INSERT INTO insight_events (at, kind, insight, key, data) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING RETURNING seq"
        )
        row = run.execute(sql, (recorded_at, kind, insight, key, text)).fetchone()
        # A resumed run reports its outcomes again, under the same keys.
        if row is None:
            return 0
        number = int(row[0])
        _APPLY[kind](run, PlaybookEvent(number, recorded_at, kind, insight, data))
        return number

    def add(self, run: Connection, insight: Insight) -> str:
        """Add an insight in the caller's transaction, and return its id.

        An insight without an id gets the next free one. The ids of all categories share one
        sequence of numbers, and no number is used twice.
        """
        serial = run.execute("SELECT coalesce(max(serial), 0) + 1 FROM insights").fetchone()[0]
        key = insight.id or f"{insight.category.value}-{serial:05}"
        fields: dict[str, Json] = {}
        for name in (*_COPIED_FIELDS, "created_at", "egress"):
            fields[name] = getattr(insight, name)
        fields["tags"] = [*insight.tags]
        fields["sources"] = [
            source.to_json() for source in insight.sources if source != InsightSource()
        ]
        fields["counts"] = [*insight.counts] if any(insight.counts) else []
        fields["fingerprint"] = fingerprint(insight.content)
        # Empty fields are left out, which keeps the table of events small.
        self.append(run, "added", key, {name: value for name, value in fields.items() if value})
        return key

    def rebuild(self) -> None:
        """Make all insights again from the events. The result equals the stored insights."""

        def apply_all(run: Connection) -> None:
            # The search index refers to the numbers of rows, which events keep.
            run.execute("DELETE FROM insights")
            for event in self.events():
                _APPLY[event.kind](run, event)

        self.tables.write(apply_all)

    def events(self, insight: str | None = None, after: int = 0) -> list[PlaybookEvent]:
        """Return the events of an insight, or of all insights, in order.

        Args:
            insight: its id; None for all insights.
            after: number of an event; only later ones are returned.
        """
        sql = (
            "SELECT seq, at, kind, insight, data FROM insight_events WHERE seq > ? AND (?2 IS NULL"
            " OR insight = ?2)"
        )
        return read_rows(
            self.tables,
            _event,
            f"{sql} ORDER BY seq",
            (after, insight),
            noun="an event of the playbook",
        )

    def open_pairs(self) -> list[tuple[str, str]]:
        """Return pairs of near insights, the later one first, that no person has judged.

        A pair is judged when the later insight is called distinct, or gets another text.
        """
        # The members of an event are looked at here: the databases have other functions for JSON.
        rows = self.tables.query(
            "SELECT kind, insight, data FROM insight_events"
            " WHERE kind IN ('near', 'distinct', 'edited') ORDER BY seq"
        )
        pairs: dict[int, tuple[str, str]] = {}
        for number, (kind, insight, text) in enumerate(rows):
            data = json.loads(text)
            if kind == "near":
                pairs[number] = (str(insight), str(data["to"]))
            elif kind == "distinct" or data.get("content") is not None:
                for key in [key for key, pair in pairs.items() if pair[0] == insight]:
                    del pairs[key]
        return [*pairs.values()]

    def insights(
        self, condition: str = "TRUE", values: Sequence[Any] = (), order: str = "number"
    ) -> list[Insight]:
        """Return the insights that match an SQL condition, in the order of insertion by default."""
        sql = f"SELECT {_COLUMNS} FROM insights WHERE {condition} ORDER BY {order}"
        return read_rows(self.tables, _insight, sql, values, noun="an insight of the playbook")

    def numbered(self, numbers: Sequence[int]) -> dict[int, Insight]:
        """Return insights by their numbers in the search index."""
        marks = ",".join("?" * len(numbers))
        sql = f"SELECT number, {_COLUMNS} FROM insights WHERE number IN ({marks})"
        noun = "an insight of the playbook"
        return dict(read_rows(self.tables, _numbered, sql, numbers, noun=noun))


def _event(row: Sequence[Any]) -> PlaybookEvent:
    seq, recorded_at, kind, insight, data = row
    return PlaybookEvent(seq, recorded_at, kind, insight, json.loads(data))


def _numbered(row: Sequence[Any]) -> tuple[int, Insight]:
    number, *columns = row
    return number, _insight(columns)


def _insight(row: Sequence[Any]) -> Insight:
    # The other columns are in the order of the fields of `Insight`.
    key, category, content, helpful, harmful, against, tags, sources, *other_columns = row
    return Insight(
        key,
        InsightCategory(category),
        content,
        helpful,
        harmful,
        against,
        tuple(json.loads(tags)),
        tuple(InsightSource.from_json(source) for source in json.loads(sources)),
        *other_columns,
    )


def _added(run: Connection, event: PlaybookEvent) -> None:
    data = event.data
    row: dict[str, Any] = {
        "number": event.seq,
        "id": event.insight,
        "serial": int(event.insight.rpartition("-")[2]),
    }
    row |= {name: data.get(name, "") for name in (*_COPIED_FIELDS, "fingerprint")}
    row |= {"created_at": data.get("created_at", event.at), "egress": data.get("egress", "any")}
    row |= {
        "tags": compact_json(sorted({*data.get("tags", ())})),
        "sources": compact_json(data.get("sources", [])),
    }
    row |= dict(zip(("helpful", "harmful", "against"), data.get("counts", (0, 0, 0)), strict=True))
    run.execute(
        f"INSERT INTO insights ({', '.join(row)}) VALUES ({','.join('?' * len(row))})",
        [*row.values()],
    )


def _repeated(run: Connection, event: PlaybookEvent) -> None:
    data = event.data
    _enrich(
        run, event.insight, data.get("tags", ()), data.get("sources", ()), data.get("egress", "any")
    )


def _feedback(run: Connection, event: PlaybookEvent) -> None:
    good, supports = event.data["helpful"], event.data["supports"]
    _count(run, event.insight, (int(good), int(not good), int(not supports)), event.at)


def _withdrawn(run: Connection, event: PlaybookEvent) -> None:
    good, supports = event.data["helpful"], event.data["supports"]
    _count(run, event.insight, (-int(good), -int(not good), -int(not supports)), "")


def _raised(run: Connection, event: PlaybookEvent) -> None:
    _repeated(run, event)
    _count(run, event.insight, event.data["counts"], event.data.get("last_used", ""))


def _edited(run: Connection, event: PlaybookEvent) -> None:
    for name in sorted(_EDITABLE & event.data.keys()):
        value = event.data[name]
        _set(run, event.insight, name, compact_json(sorted({*value})) if name == "tags" else value)


def _merged(run: Connection, event: PlaybookEvent) -> None:
    sql = (
        "SELECT helpful, harmful, against, last_used, tags, sources, egress FROM insights WHERE"
        " id = ?"
    )
    *counts, last_used, tags, sources, egress = run.execute(sql, (event.insight,)).fetchone()
    into = event.data["into"]
    # The merged insight keeps its own counts: it can be shown as it was.
    _count(run, into, counts, last_used)
    _enrich(run, into, json.loads(tags), json.loads(sources), egress)
    run.execute(
        "UPDATE insights SET merged_into = ?1 WHERE id = ?2 OR merged_into = ?2",
        (into, event.insight),
    )
    _set(run, event.insight, "retired", f"merged into {into}")


def _retired(run: Connection, event: PlaybookEvent) -> None:
    _set(run, event.insight, "retired", event.data.get("why", ""))


def _confirmed(run: Connection, event: PlaybookEvent) -> None:
    _set(run, event.insight, "confirmed_at", event.at)
    _count(run, event.insight, (1, 0, 0), event.at)


def _questioned(run: Connection, event: PlaybookEvent) -> None:
    """Change nothing: the event opens or closes a question, see `Ledger.open_pairs`."""


def _set(run: Connection, insight: str, column: str, value: str) -> None:
    run.execute(f"UPDATE insights SET {column} = ? WHERE id = ?", (value, insight))


def _count(run: Connection, insight: str, counts: Sequence[int], last_used: str) -> None:
    run.execute(
        "UPDATE insights SET helpful = helpful + ?, harmful = harmful + ?, against = against + ?, "
        "last_used = CASE WHEN last_used < ?4 THEN ?4 ELSE last_used END WHERE id = ?5",
        (*counts, last_used, insight),
    )


def _enrich(
    run: Connection, insight: str, tags: Sequence[str], sources: Sequence[Json], egress: str
) -> None:
    """Add tags and sources, each once. A local source makes the insight local."""
    row = run.execute("SELECT tags, sources FROM insights WHERE id = ?", (insight,)).fetchone()
    all_tags = sorted({*json.loads(row[0]), *tags})
    all_sources = json.loads(row[1])
    for source in sources:
        if source and source not in all_sources:
            all_sources.append(source)
    run.execute(
        "UPDATE insights SET tags = ?, sources = ?, egress = CASE WHEN ? = 'any' THEN egress ELSE"
        " 'local' END WHERE id = ?",
        (compact_json(all_tags), compact_json(all_sources), egress, insight),
    )


# How an event of each kind changes the table of insights.
_APPLY = {
    "added": _added,
    "seen": _repeated,
    "feedback": _feedback,
    "withdrawn": _withdrawn,
    "raised": _raised,
    "edited": _edited,
    "merged": _merged,
    "retired": _retired,
    "restored": _retired,
    "confirmed": _confirmed,
    "near": _questioned,
    "distinct": _questioned,
}
