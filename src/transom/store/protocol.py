"""The interface of a store. `tests/store/conformance.py` tests every implementation."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Collection
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from transom.canonical import Json


@dataclass(frozen=True)
class Record:
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

    async def append(self, stream: str, kind: str, data: Json, *, sync: bool = True) -> int:
        """Append a record to `stream`; returns its `seq`. Appends of one task keep their order."""
        ...

    def append_soon(self, stream: str, kind: str, data: Json) -> Future[int]:
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
