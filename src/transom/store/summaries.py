"""Summaries of streams: one row a stream, kept in the transaction of each append, so that a list of
many streams reads none of their records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transom.store.codec import checksum, decode, encode
from transom.store.protocol import (
    OUTDATED,
    Connection,
    Record,
    StatementResult,
    StreamSummary,
    Summarise,
    SummaryFilter,
    keep_unchanged,
)

_COLUMNS = "stream, kind, status, waits, last_at, data, crc"
READ = f"SELECT {_COLUMNS} FROM summaries WHERE stream = ?"
# Most records change neither kind, status nor waits: their index is then left alone.
_REPLACE_DATA = "UPDATE summaries SET last_at = ?, data = ?, crc = ? WHERE stream = ?"
_PUT = f"""
    INSERT INTO summaries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (stream) DO UPDATE SET kind = excluded.kind, status = excluded.status,
        waits = excluded.waits, last_at = excluded.last_at, data = excluded.data,
        crc = excluded.crc
"""
_MOST_RECENT = 64
_recent: dict[str, tuple[tuple[Any, ...], StreamSummary]] = {}
"""The rows that this process wrote last, by stream, and what they hold. A row that is read as it
was written is not decoded again, which is half of what a summary costs at each reply of a model.
"""
FORGET = "DELETE FROM summaries WHERE stream = ?"


def list_of(
    only: SummaryFilter, limit: int | None, offset: int, *, by_stream: bool = True
) -> tuple[str, list[str | int]]:
    """Return the SELECT of summaries and its values, the last stream first, or the last changed."""
    condition, texts = _condition(only)
    order = "stream DESC" if by_stream else "last_at DESC, stream DESC"
    values: list[str | int] = [*texts]
    sql = f"SELECT {_COLUMNS} FROM summaries WHERE {condition} ORDER BY {order}"
    if limit is not None:
        sql += " LIMIT ? OFFSET ?"
        values += [limit, offset]
    return sql, values


def count_of(only: SummaryFilter) -> tuple[str, list[str]]:
    """Return the SELECT that counts summaries, and its values."""
    condition, values = _condition(only)
    places = "kind, status, waits"
    sql = f"SELECT {places}, count(*) FROM summaries WHERE {condition} GROUP BY {places}"
    return sql, values


def _condition(only: SummaryFilter) -> tuple[str, list[str]]:
    """Return the condition of a SELECT, and its values."""
    conditions = ["stream <> ''"]
    values: list[str] = []
    columns = (
        ("kind", only.kinds),
        ("status", only.statuses),
        ("waits", only.waits),
        ("stream", only.streams),
    )
    for column, accepted in columns:
        if accepted:
            conditions.append(f"{column} IN ({', '.join('?' * len(accepted))})")
            values += accepted
    lacking = only.lacking and f"%{only.lacking}%"
    for comparison, value in (
        ("stream >= ?", only.first),
        ("stream < ?", only.before),
        ("data NOT LIKE ?", lacking),
    ):
        if value:
            conditions.append(comparison)
            values.append(value)
    return " AND ".join(conditions), values


def summary_of(row: Sequence[Any]) -> StreamSummary:
    """Return the summary in a row; ValueError if it is damaged."""
    stream, kind, status, waits, last_at, data, crc = row
    value = decode(data, crc, stream, f"{kind}\0{status}\0{waits}", last_at)
    return StreamSummary(stream, kind, status, waits, last_at, value)


def reads_summary(summarise: Summarise | None) -> bool:
    """Return whether `keep_summary` reads the summary before the record."""
    return summarise is not None and summarise is not keep_unchanged


def keep_summary(
    connection: Connection,
    record: Record,
    summarise: Summarise | None,
    read: Callable[[int], Sequence[Record]],
    reading: StatementResult | None = None,
) -> None:
    """Write the summary of a stream after a record, in the transaction that appends the record.

    Args:
        connection: the connection of the transaction.
        record: the record.
        summarise: as for `Store.append`. Without it the summary is marked as outdated: whoever
            lists it makes it again.
        read: returns the records of the stream between a number and this record.
        reading: the result of `READ`, where it was sent together with the record.
    """
    if summarise is None:
        write_summary(connection, _outdated(record))
        return
    row = (reading or connection.execute(READ, (record.stream,))).fetchone()
    before = None
    if row:
        recent = _recent.get(record.stream)
        before = recent[1] if recent and recent[0] == row else summary_of(row)
        if before.kind == OUTDATED:
            return
    uncounted: Sequence[Record] = ()
    if before is not None and before.counted is not None:
        uncounted = read(before.counted)
    after = summarise(before, [*uncounted, record])
    place = (after.kind, after.status, after.waits)
    text, crc = _encoded(after)
    if before is None or (before.kind, before.status, before.waits) != place:
        connection.execute(_PUT, (record.stream, *place, after.last_at, text, crc))
    else:
        connection.execute(_REPLACE_DATA, (after.last_at, text, crc, record.stream))
    if len(_recent) >= _MOST_RECENT:
        _recent.clear()
    _recent[record.stream] = (record.stream, *place, after.last_at, text, crc), after


def write_summary(connection: Connection, summary: StreamSummary) -> None:
    """Write a summary, replacing an existing one."""
    text, crc = _encoded(summary)
    place = (summary.kind, summary.status, summary.waits)
    connection.execute(_PUT, (summary.stream, *place, summary.last_at, text, crc))


def summarise_records(records: Sequence[Record], summarise: Summarise) -> StreamSummary | None:
    """Return the summary of a stream from all its records; None if there are none."""
    return summarise(None, records) if records else None


def _outdated(record: Record) -> StreamSummary:
    return StreamSummary(record.stream, OUTDATED, "", "", record.at, {})


def _encoded(summary: StreamSummary) -> tuple[str, int]:
    """Return the data of a summary as text, and the checksum of the row."""
    text = encode(summary.data, summary.stream)
    place = f"{summary.kind}\0{summary.status}\0{summary.waits}"
    return text, checksum(summary.stream, place, text, summary.last_at)
