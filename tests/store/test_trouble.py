"""What comes in the middle of a write: a signal, a cancelled task, a bad neighbour, the end of an event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.store.refusing import refusing
from transom.errors import StoreError
from transom.store import SqliteStore
from transom.store.committer import Committer, Job


class Late(Exception):
    """What the handler of a signal raises, such as a limit on a job's time."""


class Interrupted(sqlite3.Connection):
    """A connection during one statement of which a signal comes."""

    at = ""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        result = super().execute(sql, *values)
        if sql == self.at:
            self.at = ""
            os.kill(os.getpid(), signal.SIGUSR1)
        return result


@pytest.fixture
def late() -> Iterator[None]:
    def handler(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise Late

    before = signal.signal(signal.SIGUSR1, handler)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize(("at", "kept"), [("BEGIN IMMEDIATE", False), ("COMMIT", True)])
async def test_a_signal_leaves_a_commit_whole_or_undone(tmp_path: Path, at: str, kept: bool) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None, factory=Interrupted)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (n INTEGER)")
        committer = Committer(connection, tmp_path / "x.db", 1.0)
        loop = asyncio.get_running_loop()

        def job(number: int) -> Job:
            insert = "INSERT INTO t (n) VALUES (?)"
            return Job(lambda there: there.execute(insert, (number,)).lastrowid, loop.create_future(), True, "s")

        connection.at = at
        outcomes, raised = committer.commit_at_once([job(1)])
        assert isinstance(raised, Late)
        assert (outcomes is not None) == kept
        assert not connection.in_transaction
        following, raised = committer.commit_at_once([job(2)])
        assert following and raised is None
        assert connection.execute("SELECT n FROM t").fetchall() == ([(1,), (2,)] if kept else [(2,)])


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


async def test_what_follows_a_write_that_nobody_waits_for_is_not_kept_without_it(tmp_path: Path) -> None:
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


def test_a_database_is_as_private_as_files_of_this_process_are(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        asyncio.run(SqliteStore.open(tmp_path / "x.db").close())
    finally:
        os.umask(before)
    assert (tmp_path / "x.db").stat().st_mode & 0o777 == 0o600
