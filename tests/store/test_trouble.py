"""What comes in the middle of a write: a signal, a cancelled task, a bad neighbour, the end of
an event loop.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.store.refusing import refusing
from transom.errors import StoreError
from transom.store import SqliteStore
from transom.store.committer import CommitOutcome, Job


async def test_who_is_cancelled_hears_of_it_when_the_write_is_over(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "x.db") as store:
        writing = asyncio.create_task(store.append("s", "k", 1))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert [record.data for record in store.read("s")] == [1]


def test_what_nobody_waits_for_is_written_where_its_loop_has_ended(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "x.db")

    async def hand_over(number: int) -> None:
        store.append_soon("s", "k", number)

    async def wait() -> None:
        await asyncio.wait_for(asyncio.shield(store.append_soon("s", "k", 2)), 60)
        await store.close()

    asyncio.run(hand_over(1))
    asyncio.run(wait())


async def test_what_follows_a_write_that_nobody_waits_for_is_not_kept_without_it(
    tmp_path: Path,
) -> None:
    async with SqliteStore.open(tmp_path / "x.db") as store:
        with refusing(tmp_path / "x.db", "NEW.kind = 'poison'"):
            bad = store.append_soon("s", "poison", 1)
            apart = store.append_soon("other", "fine", 2)
            with pytest.raises(StoreError):
                await store.append("s", "fine", 3)
            with pytest.raises(StoreError):
                await bad
            await apart
        assert store.read("s") == []


async def test_nor_is_it_where_the_failure_is_on_its_way_to_who_appends(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "x.db") as store:
        writer, end = store._writer, time.monotonic() + 60
        with refusing(tmp_path / "x.db", "NEW.kind = 'poison'"):
            bad = store.append_soon("s", "poison", 1)
            writer._time_is_up()
            while writer._queued and time.monotonic() < end:  # this very loop hears of it later
                time.sleep(0.001)
        assert not writer._queued and not bad.done()
        with pytest.raises(StoreError):
            await store.append("s", "fine", 2)
        assert store.read("s") == [] and isinstance(bad.exception(), StoreError)
        await store.append("s", "fine", 3)
        assert [record.data for record in store.read("s")] == [3]


async def test_a_cancelled_append_that_waits_for_an_earlier_one_is_written(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "x.db") as store:
        committer = store._writer._committer
        commit, committer.quick = committer.commit, 0

        def slow(batch: Sequence[Job]) -> list[CommitOutcome]:
            time.sleep(0.2)
            return commit(batch)

        with patch.object(committer, "commit", slow):
            store.append_soon("s", "tool_result", 1)
            store._writer._time_is_up()
            paid = asyncio.create_task(store.append("s", "model_reply", 2, sync=True))
            await asyncio.sleep(0.05)
            paid.cancel()
            with pytest.raises(asyncio.CancelledError):
                await paid
        assert [record.data for record in store.read("s")] == [1, 2]


def test_a_database_is_as_private_as_files_of_this_process_are(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        asyncio.run(SqliteStore.open(tmp_path / "x.db").close())
    finally:
        os.umask(before)
    assert (tmp_path / "x.db").stat().st_mode & 0o777 == 0o600
