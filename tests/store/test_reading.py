"""Databases that are only read, also where nothing can be written."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.read_only import contents, read_only
from transom.errors import StoreError
from transom.store import SqliteStore, Tables

WAYS = ("mount", "permissions")

READ = """
import asyncio, sys
from pathlib import Path
from transom.errors import StoreError
from transom.store import SqliteStore

async def main():
    async with SqliteStore.open_for_reading(Path(sys.argv[1])) as store:
        print([record.data for record in store.read("s")])
        try:
            await store.append("s", "k", "more")
        except StoreError as error:
            print(error)

asyncio.run(main())
"""

WRITE_AND_DIE = """
import asyncio, os, signal, sys
from pathlib import Path
from transom.store import SqliteStore

async def main():
    store = SqliteStore.open(Path(sys.argv[1]))
    await store.append("s", "k", 1)
    await store.append("s", "k", 2)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def write(path: Path, *values: int) -> None:
    async with SqliteStore.open(path) as store:
        for value in values:
            await store.append("s", "k", value)


def read(path: Path, way: str) -> list[str]:
    with read_only(path.parent, way) as beginning:
        done = subprocess.run(
            [*beginning, sys.executable, "-c", READ, str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("way", WAYS)
def test_a_closed_database_is_read_and_left_as_it_is(tmp_path: Path, way: str) -> None:
    path = tmp_path / "odd name?#%41" / "state.db"
    asyncio.run(write(path, 1, 2))
    before = contents(path.parent)
    records, refusal = read(path, way)
    assert records == "[1, 2]"
    assert refusal.startswith(f"{path}: the workspace is read-only; ")
    assert contents(path.parent) == before


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lost", [(), ("-shm",)])
def test_what_a_killed_process_wrote_is_read(tmp_path: Path, way: str, lost: tuple[str]) -> None:
    path = tmp_path / "workspace" / "state.db"
    done = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size, "the records are in the log alone"
    for ending in lost:  # as in an archive that was packed without it
        Path(f"{path}{ending}").unlink()
    before = contents(path.parent)
    records, _ = read(path, way)
    assert records == "[1, 2]"
    assert contents(path.parent) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_database_is_read_while_another_process_writes_it(tmp_path: Path, way: str) -> None:
    path = tmp_path / "workspace" / "state.db"

    async def work() -> list[str]:
        async with SqliteStore.open(path) as store:
            await store.append("s", "k", 1)
            return await asyncio.to_thread(read, path, way)

    assert asyncio.run(work())[0] == "[1]"


def test_reading_changes_no_file_where_it_could(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    asyncio.run(write(path, 1))
    before = contents(tmp_path)

    async def look() -> None:
        async with SqliteStore.open_for_reading(path) as store:
            assert [record.data for record in store.read("s")] == [1]
            with pytest.raises(StoreError, match="cannot be written"):
                await store.put("t", "k", 1)

    asyncio.run(look())
    assert contents(tmp_path) == before, "no log is left beside it"


def test_the_log_stays_as_long_as_somebody_has_the_database_open(tmp_path: Path) -> None:
    path = tmp_path / "state.db"

    async def look() -> None:
        async with SqliteStore.open(path) as writer:
            async with SqliteStore.open_for_reading(path) as first:
                async with SqliteStore.open_for_reading(path) as second:
                    assert second.read("s") == []
                await writer.append("s", "k", 1)
                assert [record.data for record in first.read("s")] == [1]
            assert Path(f"{path}-wal").stat().st_size
        async with SqliteStore.open_for_reading(path) as first:
            async with SqliteStore.open_for_reading(path):
                pass
            assert [record.data for record in first.read("s")] == [1]

    asyncio.run(look())
    assert [*contents(tmp_path)] == ["state.db"]


def test_a_reader_sees_what_is_written_after_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "state.db"

    async def work() -> None:
        await write(path, 1)
        async with SqliteStore.open_for_reading(path) as store:
            await write(path, 2)
            assert [record.data for record in store.read("s")] == [1, 2]

    asyncio.run(work())


def test_without_a_database_there_is_nothing_and_nothing_is_made(tmp_path: Path) -> None:
    async def look() -> None:
        async with SqliteStore.open_for_reading(None) as store:
            assert store.read("s") == [] and store.items("t") == {}
            with pytest.raises(StoreError):
                await store.append("s", "k", 1)

    asyncio.run(look())
    (tmp_path / "state.db").touch()  # of a process that was killed before it made the tables

    async def look_again() -> None:
        async with SqliteStore.open_for_reading(tmp_path / "state.db") as store:
            assert store.streams() == []

    asyncio.run(look_again())
    assert (tmp_path / "state.db").stat().st_size == 0


@pytest.mark.parametrize("text", [b"no database at all" * 100, b""])
def test_what_is_no_database_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "state.db"
    if text:
        path.write_bytes(text)
    expected = "not a database" if text else "cannot be opened"
    with pytest.raises(StoreError, match=expected):
        SqliteStore.open_for_reading(path)


STEPS = (("CREATE TABLE things (name TEXT)",), ("ALTER TABLE things ADD COLUMN size INTEGER",))


def test_tables_of_a_room_are_empty_where_the_database_has_none(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    asyncio.run(write(path, 1))
    before = path.read_bytes()
    tables = Tables.open_for_reading(path, "room", STEPS)
    assert tables.query("SELECT * FROM things") == []
    with pytest.raises(StoreError):
        tables.write(lambda run: run.execute("INSERT INTO things VALUES ('a', 1)"))
    tables.close()
    assert path.read_bytes() == before


def test_tables_of_a_room_are_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    made = Tables.open(path, "room", STEPS)
    made.write(lambda run: run.execute("INSERT INTO things VALUES ('a', 1)"))
    made.close()
    tables = Tables.open_for_reading(path, "room", STEPS)
    assert tables.read_only and tables.query("SELECT * FROM things") == [("a", 1)]
    with pytest.raises(StoreError, match="cannot be written"):
        tables.write(lambda run: run.execute("DELETE FROM things"))
    tables.close()


def test_older_tables_are_brought_up_to_date_for_a_reader_where_that_can_be(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    old = Tables.open(path, "room", STEPS[:1])
    old.write(lambda run: run.execute("INSERT INTO things VALUES ('a')"))
    old.close()
    tables = Tables.open_for_reading(path, "room", STEPS)
    assert tables.query("SELECT * FROM things") == [("a", None)]
    tables.close()


def test_newer_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Tables.open(path, "room", STEPS).close()
    with pytest.raises(StoreError, match="the tables of room have format 2"):
        Tables.open_for_reading(path, "room", STEPS[:1])
