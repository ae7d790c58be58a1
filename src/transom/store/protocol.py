"""What a store promises. `tests/store/conformance.py` holds every implementation to it."""

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
        seq: its place in the whole store, from 1, growing; a later record never has a smaller one.
        stream: what it belongs to, e.g. a run.
        kind: what it is, e.g. `reply`.
        data: its content.
        at: when it was handed over, UTC, ISO 8601 with microseconds: `2026-11-21T09:30:00.000001Z`.
    """

    seq: int
    stream: str
    kind: str
    data: Json
    at: str


class Store(Protocol):
    """Append-only streams, content-addressed blobs and small named documents.

    A write returns once it is committed: it survives `kill -9` from then on, and every later read, also of another
    process, sees it. A synced append survives power loss too, and so does every write of the same store that
    returned before it; the other writes are not synced on their own. When an awaiting task is cancelled, its write
    may or may not have taken place.

    Names (of streams, kinds, tables, keys) are non-empty text without NUL. Every method raises `StoreError` where
    the value is no JSON, the name is unusable, the store is closed, or the medium fails; a failed write leaves
    nothing behind and the store usable.
    """

    async def append(self, stream: str, kind: str, data: Json, *, sync: bool = True) -> int:
        """Add a record to the end of `stream`; returns its `seq`. Appends of one task keep their order."""
        ...

    def append_soon(self, stream: str, kind: str, data: Json) -> Future[int]:
        """Hand a record over without waiting. It is committed in a moment, before or with whatever is written next.

        Returns:
            What is to be awaited some time, since it says whether the write failed.
        """
        ...

    def read(self, stream: str, after: int = 0) -> list[Record]:
        """The records of `stream` with `seq > after`, in order; `[]` for a stream that nobody wrote to."""
        ...

    def streams(self, prefix: str = "") -> list[str]:
        """Sorted names of the streams that start with `prefix`."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Keep `data`; returns its SHA-256 in hex, by which `get_blob` finds it. The same bytes are kept once."""
        ...

    def get_blob(self, sha: str) -> bytes:
        """The bytes with this SHA-256. Raises `StoreError` where they are absent or no longer intact."""
        ...

    async def put(self, table: str, key: str, value: Json) -> None:
        """Set a document, replacing what was there."""
        ...

    async def put_if_absent(self, table: str, key: str, value: Json) -> Json:
        """Set a document unless there is one; returns the one that stands. One winner among all processes."""
        ...

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        """Replace a document if it still is `old` (None: if there is none); False, and no change, where it is not."""
        ...

    def get(self, table: str, key: str) -> Json | None:
        """The document, or None where there is none."""
        ...

    def items(self, table: str) -> dict[str, Json]:
        """All documents of a table, by sorted key."""
        ...

    async def delete(self, table: str, key: str) -> None:
        """Remove a document; nothing happens where there is none."""
        ...

    async def forget(self, stream: str, blobs: Collection[str] = ()) -> None:
        """Remove a stream's records and these blobs, for good. No other stream may still name the blobs."""
        ...

    async def close(self) -> None:
        """Finish what was handed over and let go of the medium. Closing twice does no harm."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
