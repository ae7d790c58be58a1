"""The interface of a store. `tests/store/conformance.py` tests every implementation."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from transom.canonical import Json

T = TypeVar("T")


class Record(NamedTuple):
    """One appended record.

    Attributes:
        seq: its number in the whole store, from 1, ascending.
        stream: the stream that it belongs to, e.g. a run's.
        kind: its kind, e.g. `reply`.
        data: its content.
        at: time of the append, UTC, ISO 8601 with microseconds: `2026-11-21T09:30:00.000001Z`.
    """

    seq: int
    stream: str
    kind: str
    data: Json
    at: str


OUTDATED = ""
"""The kind of a stream whose records were appended without a summary."""


@dataclass(frozen=True)
class StreamSummary:
    """What a list shows of a stream.

    Attributes:
        stream: the stream.
        kind: what sort of stream it is; `OUTDATED` if the summary has to be made again.
        status: how it stands.
        waits: what it waits for; "" for nothing.
        last_at: the time of its last record.
        data: all else that a list shows. A summary that may miss later records of its stream has
            the member `counted`: number and time of the last record that it counts.
    """

    stream: str
    kind: str
    status: str
    waits: str
    last_at: str
    data: Json

    @property
    def counted(self) -> int | None:
        """The number of the last record that it counts; None if it misses none."""
        match self.data:
            # Another time: code that knew nothing of missing records has changed the summary.
            case {"counted": [int() as number, self.last_at]}:
                return number
        return None


Summarise: TypeAlias = Callable[[StreamSummary | None, Sequence[Record]], StreamSummary]
"""Returns the summary of a stream after further records, at least one, from the summary before
them.
"""


def keep_unchanged(before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
    """Leave a summary as it is: `Summarise` for a record that no list shows, or that is counted
    later, which costs nothing.

    Raises:
        LookupError: The stream has no summary yet.
    """
    if before is None:
        first = records[0]
        raise LookupError(f"{first.stream} has no summary before its record {first.kind!r}")
    return before


@dataclass(frozen=True)
class SummaryFilter:
    """Which summaries are meant; an empty tuple filters by nothing.

    Attributes:
        kinds, statuses, waits: the values that are taken.
        streams: the names of the streams that are taken.
        first, before: the names that are taken begin with the one and end before the other, as
            bytes are compared.
        lacking: text that the JSON of `data`, which is compact, must not contain; without `%` and
            `_`.
    """

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    first: str = ""
    before: str = ""
    lacking: str = ""


EVERY = SummaryFilter()


@dataclass(frozen=True)
class SummaryCount:
    """How many streams have these values."""

    kind: str
    status: str
    waits: str
    count: int


class Store(Protocol):
    """Append-only streams, content-addressed blobs and small named documents.

    A write returns once it is committed: it then survives `kill -9`, and every later read, also of
    another process, sees it. A synced append also survives power loss, and so does every write of
    the same store that returned before it; other writes are not synced on their own. The write of a
    cancelled task may or may not have happened.

    Names (of streams, kinds, tables, keys) are non-empty text without NUL. Every method raises
    `StoreError` if the value is not JSON, the name is invalid, the store is closed, or the medium
    fails; a failed write changes nothing, and the store stays usable.
    """

    async def append(
        self,
        stream: str,
        kind: str,
        data: Json,
        *,
        sync: bool = True,
        summarise: Summarise | None = None,
        recorded_at: str | None = None,
        blobs: Sequence[bytes] = (),
    ) -> int:
        """Append a record to `stream`; returns its `seq`. Appends of one task keep their order.

        Args:
            sync: whether it has to survive power loss.
            recorded_at: the time of the record as `Record.at` has it; None for now.
            blobs: blobs that the record names, stored in the same transaction; see `put_blob`.
            summarise: gives the stream's summary after the record, which is kept in the same
                transaction; it may be called twice. `keep_unchanged` leaves the row alone; if the
                summary says what it has `counted`, the next append that does not leave it alone
                counts the records since then, too. Without it the summary becomes outdated.
        """
        ...

    def append_soon(
        self,
        stream: str,
        kind: str,
        data: Json,
        *,
        summarise: Summarise | None = None,
        recorded_at: str | None = None,
    ) -> Future[int]:
        """Append a record without waiting. It is committed shortly, before or with the next write.

        Returns:
            A future to await later, since it has the error of a failed write.
        """
        ...

    def read(self, stream: str, after: int = 0) -> list[Record]:
        """Return the records of `stream` with `seq > after`, in order; `[]` for an unknown
        stream.
        """
        ...

    def read_all(self, after: int) -> list[Record]:
        """Return the records of every stream with `seq > after`, in order."""
        ...

    def last_seq(self) -> int:
        """Return the highest `seq` that was given so far, 0 if there is none."""
        ...

    def streams(self, prefix: str = "") -> list[str]:
        """Return the sorted names of the streams that start with `prefix`."""
        ...

    def summaries(
        self,
        only: SummaryFilter = EVERY,
        *,
        limit: int | None = None,
        offset: int = 0,
        by_stream: bool = True,
    ) -> list[StreamSummary]:
        """Return summaries of streams, the last name first, or the last changed if not `by_stream`.
        No record is read.
        """
        ...

    def count_summaries(self, only: SummaryFilter = EVERY) -> list[SummaryCount]:
        """Return how many summaries there are of each kind, status and `waits`."""
        ...

    async def summarise_again(self, stream: str, summarise: Summarise) -> None:
        """Make the summary of a stream from its records, while nobody appends to it."""
        ...

    def changes(self) -> int:
        """Return a number that is another one after a commit, also of another process; it is
        cheap enough to be asked several times a second.
        """
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store `data`; returns its SHA-256 in hex, the key for `get_blob`. Equal bytes are
        stored once.
        """
        ...

    def get_blob(self, sha: str) -> bytes:
        """Return the bytes with this SHA-256. Raises `StoreError` if they are missing or
        damaged.
        """
        ...

    async def put(self, table: str, key: str, value: Json) -> None:
        """Set a document, replacing an existing one."""
        ...

    async def put_if_absent(self, table: str, key: str, value: Json) -> Json:
        """Set a document unless it exists; returns the stored one. Only one of several processes
        wins.
        """
        ...

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        """Replace a document if it equals `old` (None: if it does not exist); otherwise False,
        without a change.
        """
        ...

    def get(self, table: str, key: str) -> Json | None:
        """Return a document, or None."""
        ...

    def items(self, table: str) -> dict[str, Json]:
        """Return all documents of a table, sorted by key."""
        ...

    async def delete(self, table: str, key: str) -> None:
        """Delete a document, if it exists."""
        ...

    async def forget(self, stream: str, blobs: Collection[str] = ()) -> None:
        """Delete a stream's records and these blobs permanently. No other stream may refer to
        the blobs.
        """
        ...

    async def close(self) -> None:
        """Complete pending writes and close the store; closing twice is allowed."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Lease(Protocol):
    """The right of this process to write to a stream, until it is released."""

    def release(self) -> None:
        """Free the stream after the writes that were begun; may be called twice."""
        ...


@runtime_checkable
class LeasingStore(Protocol):
    """A store that processes on several machines share: no file can lock its streams."""

    def hold(self, stream: str) -> Lease | None:
        """Take the lease of a stream for this store; None if it is taken already.

        A lease is renewed until it is released. That of a process that died, or was cut off from
        the database, expires after some seconds. Once another store has taken the stream, every
        append of the former holder raises `StoreError`, and changes nothing.
        """
        ...

    def holder_of(self, stream: str) -> str:
        """Return the host and the process that hold a stream now, `HOST:PID`; "" if none does."""
        ...

    def interrupt(self, stream: str) -> bool:
        """Ask the process that holds a stream to stop, as Ctrl-C does; it does so within seconds.

        Returns:
            Whether a process is asked; False if none but this one holds the stream.
        """
        ...


Value: TypeAlias = str | int | float | bytes | None
"""A parameter of an SQL statement."""


class StatementResult(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of changed rows."""
        ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all further rows."""
        ...


class Connection(Protocol):
    """The argument of a transaction's function."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> StatementResult:
        """Run a statement with `?` for its values in turn, or `?1` for the first one."""
        ...


class WordIndex(Protocol):
    """A full-text index of a room: words and tags by number, scored with BM25.

    Words are given as stems of letters, digits and `.+-`. Scores are above zero, higher is better,
    and the same in all stores.
    """

    def put(self, run: Connection, item: int, stems: Sequence[str], tags: Sequence[str]) -> None:
        """Index a text, or replace it, in the caller's transaction."""
        ...

    def remove(self, run: Connection, item: int) -> None:
        """Remove a text, in the caller's transaction."""
        ...

    def counts(self, terms: Sequence[str]) -> list[tuple[str, int]]:
        """Return the terms that occur, each with the number of its texts."""
        ...

    def containing(self, terms: Sequence[str], limit: int) -> list[tuple[int, list[str]]]:
        """Return the newest texts that have one of these words: number and words; no tags."""
        ...

    def best(
        self, terms: Sequence[str], limit: int, among: str = "", values: Sequence[Value] = ()
    ) -> list[tuple[int, float]]:
        """Return number and score of the best texts, best first; ties in the order of numbers.

        Args:
            terms: words or tags of which a text must have one.
            limit: their largest number.
            among, values: a SELECT of the numbers of the allowed texts, and its parameters.
        """
        ...


class RoomTables(Protocol):
    """A room's own tables in the database: SQL that all stores speak, synchronous, for any number
    of threads and processes.

    A write returns once it is committed: it then survives `kill -9`, and other processes see it.
    It keeps no secrets: they are removed from every text that it writes.

    Attributes:
        read_only: whether every write is refused.
        where: the database, for errors.
    """

    read_only: bool
    where: str

    def cleaned(self, text: str) -> str:
        """Return a text as `write` keeps it. A room that computes something from a text (an id, a
        fingerprint, words to search for) computes it from the cleaned text.
        """
        ...

    def query(self, sql: str, values: Sequence[Value] = ()) -> list[Any]:
        """Return all rows of a statement; see `Connection.execute`."""
        ...

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction without other writers; returns its result."""
        ...

    def word_index(self, name: str) -> WordIndex:
        """Return the full-text index that a step created with `WordIndexStep(name)`."""
        ...

    def json_is_among(self, column: str, count: int) -> str:
        """Return the condition that a member of a JSON object is one of some JSON texts.

        Its parameters are the member's name and `count` texts.
        """
        ...

    def json_compares(self, column: str, sign: str, *, numeric: bool) -> str:
        """Return the condition that compares a member of a JSON object with a number, or a text.

        Its parameters are the member's name and the value. A number is less than every text.
        """
        ...

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        ...


@dataclass(frozen=True)
class WordIndexStep:
    """A step of a room's migrations that creates a full-text index."""

    name: str


MigrationStep: TypeAlias = Sequence[str | WordIndexStep]
"""Statements that lead from one version of a room's tables to the next."""
