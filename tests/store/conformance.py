"""The suite that every store must pass: derive a class whose name starts with `Test` and set
`opener`.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from transom.canonical import Json
from transom.errors import StoreError
from transom.store import (
    OUTDATED,
    Record,
    Store,
    StreamSummary,
    SummaryFilter,
    keep_unchanged,
)

from . import child

T = TypeVar("T")

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class StoreConformance:
    """What a store promises, on a store at `location`, opened by `opener` here and in child
    processes.
    """

    opener: ClassVar[str]
    """`module:name` of a callable that takes a path and returns an open store."""

    @pytest.fixture
    def location(self, tmp_path: Path) -> Path:
        """Where a fresh store goes: a path for `opener`."""
        return tmp_path / "state"

    def run(self, location: Path, work: Callable[[Store], Awaitable[T]]) -> T:
        async def opened() -> T:
            async with child.open_store(self.opener, str(location)) as store:
                return await work(store)

        return asyncio.run(opened())

    def records(self, location: Path, stream: str) -> list[Record]:
        async def work(store: Store) -> list[Record]:
            return store.read(stream)

        return self.run(location, work)

    def spawn(self, location: Path, job: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, child.__file__, self.opener, str(location), job, *arguments]
        # An opener may be a function of the tests.
        environment = {**os.environ, "PYTHONPATH": str(Path(child.__file__).parents[2])}
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    # streams

    def test_appends_keep_their_order_and_everything_else(self, location: Path) -> None:
        async def work(store: Store) -> list[int]:
            return [await store.append("run/1", "reply", {"n": n}) for n in range(5)]

        before = datetime.now(UTC)
        seqs = self.run(location, work)
        records = self.records(location, "run/1")
        assert seqs == sorted(set(seqs))
        assert seqs[0] >= 1
        assert [(r.seq, r.stream, r.kind, r.data) for r in records] == [
            (seq, "run/1", "reply", {"n": n}) for n, seq in enumerate(seqs)
        ]
        times = [datetime.fromisoformat(r.at) for r in records]
        assert times == sorted(times)
        assert before <= times[0] <= times[-1] <= datetime.now(UTC)
        assert all(
            len(r.at) == len("2026-11-21T09:30:00.000001Z") and r.at.endswith("Z") for r in records
        )

    def test_one_sequence_runs_through_all_streams(self, location: Path) -> None:
        async def work(store: Store) -> list[int]:
            return [await store.append(stream, "k", None) for stream in ("a", "b", "a")]

        a1, b1, a2 = self.run(location, work)
        assert a1 < b1 < a2
        assert [r.seq for r in self.records(location, "a")] == [a1, a2]

    def test_read_after_a_sequence_number(self, location: Path) -> None:
        async def work(store: Store) -> None:
            seqs = [await store.append("s", "k", n) for n in range(4)]
            assert [r.data for r in store.read("s", after=seqs[1])] == [2, 3]
            assert store.read("s", after=seqs[-1]) == []
            assert store.read("nobody wrote here") == []

        self.run(location, work)

    def test_an_awaited_write_is_read_at_once(self, location: Path) -> None:
        async def work(store: Store) -> None:
            for n in range(20):
                await store.append("s", "k", n, sync=n % 2 == 0)
                assert len(store.read("s")) == n + 1
                await store.put("t", "k", n)
                assert store.get("t", "k") == n

        self.run(location, work)

    def test_an_append_that_nobody_waits_for_is_there_before_the_next(self, location: Path) -> None:
        async def work(store: Store) -> list[str]:
            soon = store.append_soon("s", "first", 1)
            await store.append("s", "second", 2)
            kinds = [record.kind for record in store.read("s")]
            assert await soon < await store.append_soon("s", "third", 3)
            store.append_soon("s", "last", 4)
            return kinds

        assert self.run(location, work) == ["first", "second"]
        assert [record.kind for record in self.records(location, "s")] == [
            "first",
            "second",
            "third",
            "last",
        ]

    def test_a_write_that_fails_takes_no_other_with_it(self, location: Path) -> None:
        def refuse(*given: object) -> StreamSummary:
            raise KeyError(str(given))

        async def work(store: Store) -> None:
            await store.append("s", "first", 1)
            soon = store.append_soon("s", "second", 2)
            failing = store.append_soon("other", "k", 1, summarise=refuse)
            with pytest.raises((KeyError, StoreError)):
                await store.append("other", "k", 2, summarise=refuse)
            assert await store.append("s", "third", 3) > await soon
            with pytest.raises((KeyError, StoreError)):
                await failing

        self.run(location, work)
        assert [record.data for record in self.records(location, "s")] == [1, 2, 3]
        assert self.records(location, "other") == []

    def test_concurrent_appends_all_arrive_in_the_order_they_were_handed_over(
        self, location: Path
    ) -> None:
        async def work(store: Store) -> list[int]:
            return await asyncio.gather(*(store.append("s", "k", n) for n in range(200)))

        seqs = self.run(location, work)
        assert seqs == sorted(set(seqs))
        assert [r.data for r in self.records(location, "s")] == list(range(200))

    def test_streams_by_prefix(self, location: Path) -> None:
        names = ["run/1", "run/10", "run/2", "run/é", "run_1", "other", "run/%", "run/\U0010ffff"]

        async def work(store: Store) -> None:
            assert store.streams() == []
            for name in [*names, *names]:
                await store.append(name, "k", None)
            assert store.streams() == sorted(names)
            assert store.streams("run/") == sorted(n for n in names if n.startswith("run/"))
            assert store.streams("run/%") == ["run/%"]
            assert store.streams("nothing") == []

        self.run(location, work)

    # values

    @given(value=json_values)
    @settings(
        max_examples=examples(25),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    def test_any_json_value_comes_back(self, location: Path, value: Json) -> None:
        async def work(store: Store) -> None:
            seq = await store.append("values", "k", value, sync=False)
            assert store.read("values", after=seq - 1)[0].data == value
            await store.put("values", "k", value)
            assert store.get("values", "k") == value

        self.run(location, work)

    @pytest.mark.parametrize(
        "text",
        ["\0a\0", "Ω≈ç√ 漢字 🦉", "lone \udc80 surrogate", "x" * 5_000_000],
        ids=["NUL", "unicode", "surrogate", "5 MB"],
    )
    def test_odd_and_large_text_comes_back(self, location: Path, text: str) -> None:
        async def work(store: Store) -> None:
            await store.append("s", "k", {text: [text]})
            await store.put("t", "k", text)

        self.run(location, work)
        assert self.records(location, "s")[0].data == {text: [text]}

    @pytest.mark.parametrize(
        "value",
        [float("nan"), float("inf"), b"bytes", object(), {(1, 2): 3}],
        ids=["NaN", "inf", "bytes", "object", "key"],
    )
    def test_what_is_no_json_is_refused_and_leaves_nothing(
        self, location: Path, value: Any
    ) -> None:
        async def work(store: Store) -> None:
            with pytest.raises(StoreError, match=r"^s: the value cannot be stored as JSON"):
                await store.append("s", "k", value)
            with pytest.raises(StoreError, match=r"^t/k: the value cannot be stored as JSON"):
                await store.put("t", "k", value)
            assert store.read("s") == []
            assert store.get("t", "k") is None

        self.run(location, work)

    @pytest.mark.parametrize("name", ["", "a\0b", "\udc80"], ids=["empty", "NUL", "surrogate"])
    def test_unusable_names_are_refused(self, location: Path, name: str) -> None:
        async def work(store: Store) -> None:
            for write in (
                store.append(name, "k", 1),
                store.append("s", name, 1),
                store.put(name, "k", 1),
                store.put("t", name, 1),
                store.put_if_absent("t", name, 1),
                store.swap("t", name, None, 1),
            ):
                with pytest.raises(StoreError, match="cannot name a"):
                    await write

        self.run(location, work)

    def test_reading_under_a_name_that_is_no_text_is_a_clear_error(self, location: Path) -> None:
        async def work(store: Store) -> None:
            for read in (store.read, store.streams, store.items, store.get_blob):
                with pytest.raises(StoreError, match="the name cannot be kept as text"):
                    read("\udc80")

        self.run(location, work)

    # blobs

    @pytest.mark.parametrize(
        "data", [b"", b"\0\xff" * 10, b"netlist " * 700_000], ids=["empty", "binary", "5 MB"]
    )
    def test_blobs_are_kept_once_under_their_digest(self, location: Path, data: bytes) -> None:
        async def work(store: Store) -> None:
            first, second = await asyncio.gather(store.put_blob(data), store.put_blob(data))
            assert first == second == await store.put_blob(data) == hashlib.sha256(data).hexdigest()
            assert store.get_blob(first) == data

        self.run(location, work)

    @pytest.mark.parametrize("data", [b"", b"\xff" * 100_000], ids=["empty", "100 kB"])
    def test_a_record_and_its_blobs_are_written_together(self, location: Path, data: bytes) -> None:
        sha = hashlib.sha256(data).hexdigest()

        def failing(before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
            raise StoreError("refused")

        async def work(store: Store) -> None:
            with pytest.raises(StoreError, match="refused"):
                await store.append("refused", "k", sha, summarise=failing, blobs=[data])
            with pytest.raises(StoreError, match="unknown blob"):
                store.get_blob(sha)
            await asyncio.gather(
                *(store.append(f"run/{n}", "k", sha, blobs=[data, b"own", data]) for n in range(9))
            )
            assert store.get_blob(sha) == data
            assert store.get_blob(hashlib.sha256(b"own").hexdigest()) == b"own"

        self.run(location, work)

    def test_a_blob_that_another_store_forgot_is_written_again(self, location: Path) -> None:
        async def work(store: Store) -> None:
            sha = await store.put_blob(b"shared")
            await store.append("run/1", "k", sha, blobs=[b"shared"])
            async with child.open_store(self.opener, str(location)) as other:
                await other.forget("run/1", [sha])
            await store.append("run/2", "k", sha, blobs=[b"shared", b"new"])
            assert store.get_blob(sha) == b"shared"

        self.run(location, work)

    def test_a_record_has_the_time_of_its_caller(self, location: Path) -> None:
        early, later = "2026-11-21T09:00:00.000000Z", "2026-11-21T09:00:00.000001Z"

        async def work(store: Store) -> None:
            store.append_soon("run/1", "k", 1, recorded_at=early)
            await store.append("run/1", "k", 2, recorded_at=later)
            await store.append("run/1", "k", 3)
            first, second, third = store.read("run/1")
            assert (first.at, second.at) == (early, later)
            assert third.at not in (early, later)

        self.run(location, work)

    def test_an_absent_blob_is_named(self, location: Path) -> None:
        async def work(store: Store) -> None:
            with pytest.raises(StoreError, match="unknown blob " + "0" * 64):
                store.get_blob("0" * 64)

        self.run(location, work)

    # tables

    def test_documents_are_set_replaced_listed_and_deleted(self, location: Path) -> None:
        async def work(store: Store) -> None:
            assert store.get("t", "k") is None
            assert store.items("t") == {}
            await store.put("t", "b", 1)
            await store.put("t", "a", {"x": [1]})
            await store.put("t", "b", 2)
            await store.put("other", "b", 3)
            assert list(store.items("t").items()) == [("a", {"x": [1]}), ("b", 2)]
            await store.delete("t", "b")
            await store.delete("t", "b")
            assert store.items("t") == {"a": {"x": [1]}}
            assert store.items("other") == {"b": 3}

        self.run(location, work)

    def test_swap_replaces_only_what_was_read(self, location: Path) -> None:
        async def work(store: Store) -> None:
            assert await store.swap("t", "k", 1, 2) is False
            assert store.get("t", "k") is None
            assert await store.swap("t", "k", None, {"b": 1, "a": [1.5]}) is True
            assert await store.swap("t", "k", None, 0) is False
            assert await store.swap("t", "k", {"a": [1.5], "b": 1}, 3) is True
            assert store.get("t", "k") == 3

        self.run(location, work)

    def test_of_many_swaps_none_is_lost(self, location: Path) -> None:
        async def add(store: Store, times: int) -> None:
            while times:
                before = store.get("t", "n")
                times -= await store.swap(
                    "t", "n", before, (before if isinstance(before, int) else 0) + 1
                )

        async def work(store: Store) -> None:
            async with child.open_store(self.opener, str(location)) as other:
                await asyncio.gather(*(add(one, 10) for one in (store, other) for _ in range(3)))
            assert store.get("t", "n") == 60

        self.run(location, work)

    def test_put_if_absent_keeps_the_first(self, location: Path) -> None:
        async def work(store: Store) -> None:
            assert await store.put_if_absent("t", "k", {"by": 1}) == {"by": 1}
            assert await store.put_if_absent("t", "k", {"by": 2}) == {"by": 1}
            assert await store.put_if_absent("t", "none", None) is None
            assert await store.put_if_absent("t", "none", 1) is None
            await store.delete("t", "k")
            assert await store.put_if_absent("t", "k", 3) == 3

        self.run(location, work)

    # several processes, and their deaths

    def test_two_processes_lose_nothing(self, location: Path) -> None:
        writers = [self.spawn(location, "append", who, "250") for who in ("a", "b")]
        assert [w.communicate(timeout=300)[0] for w in writers] == ["done\n", "done\n"]
        records = self.records(location, "shared")
        for who in ("a", "b"):
            assert [r.data for r in records if r.kind == who] == list(range(250))
        assert len({r.seq for r in records}) == 500

    def test_two_processes_agree_on_every_claim(self, location: Path) -> None:
        rivals = [self.spawn(location, "claim", who, "100") for who in ("a", "b")]
        seen = [r.communicate(timeout=300)[0].split() for r in rivals]
        assert len(seen[0]) == 100
        assert seen[0] == seen[1]
        assert set(seen[0]) <= {"a", "b"}

    @pytest.mark.parametrize("acknowledged", [1, 7, 60])
    def test_kill_loses_nothing_that_was_acknowledged(
        self, location: Path, acknowledged: int
    ) -> None:
        writer = self.spawn(location, "endless")
        assert writer.stdout is not None
        first = [int(writer.stdout.readline()) for _ in range(acknowledged)]
        writer.kill()
        rest = [
            int(line)
            for line in writer.stdout.read().splitlines(keepends=True)
            if line.endswith("\n")
        ]
        writer.stdout.close()
        writer.wait()

        async def check(store: Store) -> None:
            kept = {r.seq: r for r in store.read("endless")}
            assert set(first + rest) <= set(kept)
            latest: dict[str, Any] = store.items("latest")
            # a record implies the blob and the document written before it
            for record in kept.values():
                data: Any = record.data
                assert store.get_blob(data["sha"]) == f"{data['task']}/{data['n']}".encode()
                assert latest[str(data["task"])] >= data["n"]
            assert await store.append("endless", "n", None) > max(kept)

        self.run(location, check)

    # the end

    def test_closing_finishes_what_was_handed_over(self, location: Path) -> None:
        async def work(store: Store) -> None:
            pending = [asyncio.ensure_future(store.append("s", "k", n)) for n in range(50)]
            await asyncio.sleep(0)
            await store.close()
            assert len(await asyncio.gather(*pending)) == 50

        self.run(location, work)
        assert len(self.records(location, "s")) == 50

    def test_what_was_appended_since_is_read_of_every_stream(self, location: Path) -> None:
        async def work(store: Store) -> None:
            assert store.last_seq() == 0
            await store.append("a", "k", 1)
            last = store.last_seq()
            assert store.read_all(last) == []
            second = await store.append("b", "k", 2)
            third = await store.append("a", "m", 3)
            assert [(one.seq, one.stream, one.kind, one.data) for one in store.read_all(last)] == [
                (second, "b", "k", 2),
                (third, "a", "m", 3),
            ]
            await store.forget("a")
            assert [record.data for record in store.read_all(0)] == [2]
            assert store.last_seq() >= third

        self.run(location, work)

    def test_what_is_forgotten_is_gone_and_its_numbers_are_not_given_again(
        self, location: Path
    ) -> None:
        async def work(store: Store) -> None:
            await store.append("kept", "k", 1)
            first, second = await store.put_blob(b"one"), await store.put_blob(b"two")
            last = await store.append("gone", "k", 2)
            await store.forget("gone", [first])
            assert store.read("gone") == []
            assert store.streams() == ["kept"]
            assert store.get_blob(second) == b"two"
            with pytest.raises(StoreError, match="unknown blob"):
                store.get_blob(first)
            after = await store.append("gone", "k", 3)
            assert after > last
            await store.forget("gone")
            await store.forget("never there")
            assert store.streams() == ["kept"]
            assert await store.append("kept", "k", 4) > after
            assert [record.data for record in store.read("kept")] == [1, 4]

        self.run(location, work)

    def test_closing_twice_does_no_harm_and_a_closed_store_says_so(self, location: Path) -> None:
        async def work(store: Store) -> None:
            await asyncio.gather(store.close(), store.close())
            await store.close()
            with pytest.raises(StoreError, match="the store is closed"):
                await store.append("s", "k", 1)
            with pytest.raises(StoreError, match="the store is closed"):
                store.read("s")

        self.run(location, work)

    def test_a_cancelled_caller_does_not_disturb_the_others(self, location: Path) -> None:
        async def work(store: Store) -> None:
            tasks = [asyncio.ensure_future(store.append("s", "k", n)) for n in range(10)]
            await asyncio.sleep(0)
            tasks[3].cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(results[3], asyncio.CancelledError)
            assert all(isinstance(result, int) for n, result in enumerate(results) if n != 3)
            await store.append("s", "k", "after")
            assert store.read("s")[-1].data == "after"

        self.run(location, work)

    def test_one_store_serves_several_event_loops_in_turn(self, location: Path) -> None:
        store = child.open_store(self.opener, str(location))
        first = asyncio.run(store.append("s", "k", 1))
        second = asyncio.run(store.append("s", "k", 2))
        assert first < second
        asyncio.run(store.close())

    def test_a_summary_is_kept_with_each_record_and_listed_without_reading_any(
        self, location: Path
    ) -> None:
        async def work(store: Store) -> None:
            await store.append("run/1", "opened", 1, summarise=count_records)
            await store.append("run/2", "opened", 1, summarise=count_records)
            store.append_soon("run/1", "more", 2, summarise=count_records)
            await store.append("run/1", "closed", 3, sync=False, summarise=count_records)
            found = [(each.stream, each.status, each.data) for each in store.summaries()]
            assert found == [("run/2", "opened", 1), ("run/1", "closed", 3)]
            changed = store.summaries(by_stream=False, limit=1)
            assert [each.stream for each in changed] == ["run/1"]
            assert changed[0].last_at == store.read("run/1")[-1].at
            closed = store.summaries(SummaryFilter(statuses=("closed", "other")))
            assert [each.stream for each in closed] == ["run/1"]
            assert [each.stream for each in store.summaries(limit=1, offset=1)] == ["run/1"]
            assert not store.summaries(SummaryFilter(kinds=("none",)))
            for only, name in (
                (SummaryFilter(first="run/2"), "run/2"),
                (SummaryFilter(before="run/2"), "run/1"),
                (SummaryFilter(lacking="3"), "run/2"),
            ):
                assert [each.stream for each in store.summaries(only)] == [name]
                assert [each.count for each in store.count_summaries(only)] == [1]
            counts = {(each.kind, each.status): each.count for each in store.count_summaries()}
            assert counts == {("test", "opened"): 1, ("test", "closed"): 1}
            await store.forget("run/1")
            assert [each.stream for each in store.summaries()] == ["run/2"]

        self.run(location, work)

    def test_a_record_without_a_summary_makes_it_outdated_until_it_is_made_again(
        self, location: Path
    ) -> None:
        async def work(store: Store) -> None:
            await store.append("run/1", "opened", 1, summarise=count_records)
            await store.append("run/1", "more", 2)
            await store.append("run/1", "more", 3, summarise=count_records)
            (outdated,) = store.summaries(SummaryFilter(kinds=(OUTDATED,)))
            assert outdated.stream == "run/1"
            await store.summarise_again("run/1", count_records)
            (summary,) = store.summaries()
            assert (summary.kind, summary.data) == ("test", 3)
            await store.summarise_again("run/none", count_records)

        self.run(location, work)

    def test_a_summary_counts_later_what_was_left_out(self, location: Path) -> None:
        """Also records of an append that failed in between, and of another store object."""

        def failing(before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
            raise StoreError("refused")

        async def work(store: Store) -> None:
            await store.append("run/1", "opened", 1, summarise=list_kinds)
            await store.append("run/2", "opened", 1, summarise=list_kinds)
            store.append_soon("run/1", "a", 2, summarise=keep_unchanged)
            await store.append("run/1", "b", 3, sync=False, summarise=keep_unchanged)
            assert [each.data["kinds"] for each in store.summaries()] == [["opened"], ["opened"]]  # type: ignore[index, call-overload]
            store.append_soon("run/1", "c", 4, summarise=keep_unchanged)
            with pytest.raises(StoreError, match="refused"):
                await store.append("run/2", "no", 5, summarise=failing)
            async with child.open_store(self.opener, str(location)) as other:
                await other.append("run/1", "d", 6, summarise=keep_unchanged)
            await store.append("run/1", "e", 7, summarise=list_kinds)
            await store.append("run/1", "f", 8, summarise=list_kinds)
            (summary,) = store.summaries(SummaryFilter(streams=("run/1",)))
            kinds: Any = summary.data
            assert kinds["kinds"] == ["opened", "a", "b", "c", "d", "e", "f"]
            assert summary.counted == store.read("run/1")[-1].seq

        self.run(location, work)

    def test_a_record_that_is_refused_leaves_the_summary_as_it_was(self, location: Path) -> None:
        def failing(before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
            raise StoreError("refused")

        async def work(store: Store) -> None:
            await store.append("run/1", "opened", 1, summarise=count_records)
            with pytest.raises(StoreError, match="refused"):
                await store.append("run/1", "more", 2, summarise=failing)
            assert len(store.read("run/1")) == 1
            assert [each.data for each in store.summaries()] == [1]

        self.run(location, work)

    def test_another_process_notices_that_something_was_written(self, location: Path) -> None:
        async def work(store: Store) -> None:
            async with child.open_store(self.opener, str(location)) as watcher:
                before = watcher.changes()
                assert watcher.changes() == before
                await store.append("run/1", "opened", 1, summarise=count_records)
                assert watcher.changes() != before

        self.run(location, work)


def list_kinds(before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
    """Sum up a stream as the kinds of its records, and say which of them are counted."""
    facts: Any = {"kinds": []} if before is None else before.data
    last = records[-1]
    kinds = [*facts["kinds"], *(record.kind for record in records)]
    data: Any = {"kinds": kinds, "counted": [last.seq, last.at]}
    return StreamSummary(last.stream, "test", "", "", last.at, data)


def count_records(before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
    """Sum up a stream as the number of its records; its status is the kind of the last one."""
    count: Any = 0 if before is None else before.data
    last = records[-1]
    return StreamSummary(last.stream, "test", last.kind, "", last.at, count + len(records))
