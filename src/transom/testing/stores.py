"""What every store promises, tried on a store of your own."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from transom.canonical import Json
from transom.errors import InputError, StoreError
from transom.store import Record, Store
from transom.testing.promises import check_promises

StoreOpener: TypeAlias = Callable[[], AbstractAsyncContextManager[Store]]
"""Opens the same store each time, as a new process would."""


async def store_conformance(open_store: StoreOpener) -> None:
    """Try an empty store of your own; all that `transom.store.Store` promises must hold.

    Example: `asyncio.run(store_conformance(lambda: SqliteStore.open(tmp_path / "state.db")))`. A
    kill of the process and a power loss are not tried.

    Args:
        open_store: opens the store; called for each promise, and again where a promise is about
            what is kept. It must be empty at first.

    Raises:
        AssertionError: names each promise that does not hold, with the reason.
        InputError: the store is not empty.
    """
    if await _holds_records(open_store):
        raise InputError("the store is not empty", hint="try a new one, as in a temporary folder")
    await check_promises(_PROMISES, open_store)


async def _holds_records(open_store: StoreOpener) -> bool:
    """Return whether a store holds records. One that cannot tell is left to the promises."""
    try:
        async with open_store() as store:
            return bool(store.streams())
    except Exception:  # noqa: BLE001  code of the user's, which may raise anything
        return False


def _data(records: Sequence[Record]) -> list[Json]:
    return [record.data for record in records]


def _kinds(records: Sequence[Record]) -> list[str]:
    return [record.kind for record in records]


async def _appends_keep_their_order(open_store: StoreOpener) -> None:
    numbers: list[int] = []
    async with open_store() as store:
        for number in range(5):
            numbers.append(await store.append("order", "kind", number))
    # Opened again, since a record has to outlive the store's object.
    async with open_store() as store:
        records = store.read("order")
        time = "2026-11-21T09:00:00.000001Z"
        await store.append("timed", "kind", 1, recorded_at=time)
        assert store.read("timed")[0].at == time, "the caller may give the time"
    assert numbers == sorted(set(numbers)), "numbers ascend"
    assert [record.seq for record in records] == numbers, "each record has its number"
    assert _data(records) == [0, 1, 2, 3, 4], "data comes back"


async def _concurrent_appends_all_arrive(open_store: StoreOpener) -> None:
    async with open_store() as store:
        # All are handed over before the first one is committed.
        work = [store.append("concurrent", "kind", number) for number in range(100)]
        numbers = await asyncio.gather(*work)
        records = store.read("concurrent")
    assert len(set(numbers)) == len(numbers), "each append has a number of its own"
    assert _data(records) == list(range(100)), "they keep their order"


async def _one_sequence_runs_through_all_streams(open_store: StoreOpener) -> None:
    async with open_store() as store:
        first = await store.append("one", "kind", 1)
        second = await store.append("two", "kind", 2)
        third = await store.append("one", "kind", 3)
        assert first < second < third == store.last_seq(), "numbers ascend over streams"
        # A reader asks for what is new since the last record that it knows.
        assert _data(store.read("one", after=first)) == [3]
        assert _data(store.read_all(first)) == [2, 3]
        assert {"one", "two"} <= set(store.streams()), "streams are listed"
        assert store.streams("tw") == ["two"], "a prefix selects streams"
        assert store.read("a stream without records") == []


async def _appends_without_waiting_keep_their_order(open_store: StoreOpener) -> None:
    async with open_store() as store:
        soon = store.append_soon("soon", "first", 1)
        later = await store.append("soon", "second", 2)
        assert await soon < later, "it is committed before the next write"
    async with open_store() as store:
        assert _kinds(store.read("soon")) == ["first", "second"]


async def _odd_values_come_back(open_store: StoreOpener) -> None:
    # NUL and text outside the basic plane are what databases get wrong.
    values: list[Any] = [
        None,
        True,
        0,
        -1.5,
        "",
        "\0",
        "漢字 \U0001f989",
        [[]],
        {"": {"a": [1], "b": None}},
    ]
    async with open_store() as store:
        for value in values:
            await store.append("values", "kind", value)
            await store.put("values", "key", value)
            assert store.get("values", "key") == value, repr(value)
        assert _data(store.read("values")) == values


async def _a_value_that_is_not_json_is_refused(open_store: StoreOpener) -> None:
    wrong: list[Any] = [float("nan"), float("inf"), b"bytes", object()]
    async with open_store() as store:
        for value in wrong:
            await _refused(store.append("refused", "kind", value), repr(value))
            await _refused(store.put("refused", "key", value), repr(value))
        for name in ("", "a\0b"):
            await _refused(store.append(name, "kind", 1), f"the name {name!r}")
            await _refused(store.put("refused", name, 1), f"the name {name!r}")
        # A refused write changes nothing, and the store goes on.
        assert store.read("refused") == []
        assert store.items("refused") == {}
        await store.append("refused", "kind", 1)


async def _blobs_are_kept_under_their_digest(open_store: StoreOpener) -> None:
    async with open_store() as store:
        for data in (b"", b"\0\xff", b"netlist " * 100_000):
            sha = await store.put_blob(data)
            assert sha == hashlib.sha256(data).hexdigest(), "the key is the SHA-256"
            # The same bytes again are no second blob.
            assert await store.put_blob(data) == sha
            assert store.get_blob(sha) == data
        sha = hashlib.sha256(b"with a record").hexdigest()
        await store.append("blobs", "kind", sha, blobs=[b"with a record"])
        assert store.get_blob(sha) == b"with a record", "a record brings the blobs that it names"
        await _refused(_call(store.get_blob, "0" * 64), "an unknown blob")


async def _documents_are_set_replaced_and_deleted(open_store: StoreOpener) -> None:
    async with open_store() as store:
        assert store.get("documents", "b") is None, "a missing document is None"
        await store.put("documents", "b", 1)
        await store.put("documents", "a", {"x": [1]})
        await store.put("documents", "b", 2)
        await store.put("other documents", "c", 3)
    async with open_store() as store:
        assert store.items("documents") == {"a": {"x": [1]}, "b": 2}
        assert list(store.items("documents")) == ["a", "b"], "documents are sorted by key"
        # The second time there is nothing to delete, and that is no error.
        await store.delete("documents", "b")
        await store.delete("documents", "b")
        assert store.get("documents", "b") is None, "a deleted document is gone"


async def _one_writer_wins(open_store: StoreOpener) -> None:
    async with open_store() as store:
        work = [store.put_if_absent("race", "key", number) for number in range(20)]
        documents = await asyncio.gather(*work)
        winner = store.get("race", "key")
        assert documents == [winner] * 20, "all writers get the document of the winner"
        first = store.swap("race", "key", winner, "first")
        second = store.swap("race", "key", winner, "second")
        swaps = await asyncio.gather(first, second)
        assert sorted(swaps) == [False, True], "only one of two swaps finds the old document"
        # A swap may also begin a document.
        assert not await store.swap("race", "other", 1, 2), "a missing document equals no value"
        assert await store.swap("race", "other", None, 2), "None stands for a missing document"


async def _a_stream_can_be_forgotten(open_store: StoreOpener) -> None:
    async with open_store() as store:
        sha = await store.put_blob(b"forgotten")
        number = await store.append("forgotten", "kind", sha)
        await store.append("remembered", "kind", 1)
        await store.forget("forgotten", [sha])
        assert store.read("forgotten") == []
        assert "forgotten" not in store.streams()
        await _refused(_call(store.get_blob, sha), "a forgotten blob")
        assert _data(store.read("remembered")) == [1], "other streams stay"
        # A reader that remembers a number would otherwise miss the new record.
        assert await store.append("forgotten", "kind", 2) > number, "no number is given twice"


async def _a_commit_is_noticed(open_store: StoreOpener) -> None:
    async with open_store() as reader:
        before = reader.changes()
        # Another object stands for another process.
        async with open_store() as writer:
            await writer.append("noticed", "kind", 1)
        assert reader.changes() != before, "a commit elsewhere changes the number"
        assert _data(reader.read("noticed")) == [1]


async def _a_closed_store_refuses(open_store: StoreOpener) -> None:
    async with open_store() as store:
        await store.append("closed", "kind", 1)
        await store.close()
        await store.close()  # closing twice is allowed
        await _refused(store.append("closed", "kind", 2), "an append to a closed store")


async def _call(function: Callable[[str], object], argument: str) -> None:
    function(argument)


async def _refused(work: Awaitable[object], case: str) -> None:
    """Fail unless a call raises StoreError."""
    try:
        await work
    except StoreError:
        return
    raise AssertionError(f"{case} is not refused with a StoreError")


_PROMISES = (
    _appends_keep_their_order,
    _concurrent_appends_all_arrive,
    _one_sequence_runs_through_all_streams,
    _appends_without_waiting_keep_their_order,
    _odd_values_come_back,
    _a_value_that_is_not_json_is_refused,
    _blobs_are_kept_under_their_digest,
    _documents_are_set_replaced_and_deleted,
    _one_writer_wins,
    _a_stream_can_be_forgotten,
    _a_commit_is_noticed,
    _a_closed_store_refuses,
)
