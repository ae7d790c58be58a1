"""Damage in a database: what the check finds, and what a reader says."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.refusing import refusing
from transom.errors import StoreError
from transom.store import Record, SqliteStore, StreamSummary, Tables, find_damage

TABLES_OF_FORMAT_1 = """
CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    stream TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, at TEXT NOT NULL
);
CREATE INDEX records_by_stream ON records (stream, seq);
CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, zlib BLOB NOT NULL);
CREATE TABLE documents (
    name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
PRAGMA user_version = 1;
INSERT INTO records VALUES (1, 's', 'k', '"one"', '2026-01-01T00:00:00.000001Z');
INSERT INTO documents VALUES ('t', 'key', '"document"');
"""
ROOM = (("CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL)",),)

Alter = Callable[[Path], None]


def fill(path: Path) -> str:
    """Write a record, a document, a blob and a room's row; return the blob's digest."""

    async def work() -> str:
        async with SqliteStore.open(path) as store:
            for number in range(40):
                await store.append("run/1", "reply", {"text": f"measured {number:04} ps"})
            await store.put("limits", "openai:m", {"spent": "1250 tokens"})
            await store.forget("run/0")
            return await store.put_blob(b"the window of a call" * 20)

    blob = asyncio.run(work())
    tables = Tables.open(path, "notes", ROOM)
    tables.write(lambda run: run.execute("INSERT INTO notes VALUES (1, 'a note of a room')"))
    tables.close()
    return blob


def replace(old: bytes, new: bytes) -> Alter:
    """Return a change of bytes in the file, as a failing disk makes it."""

    def alter(path: Path) -> None:
        data = path.read_bytes()
        assert len(old) == len(new) and data.count(old) == 1
        path.write_bytes(data.replace(old, new))

    return alter


def execute(statement: str) -> Alter:
    def alter(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    return alter


@pytest.mark.parametrize(
    ("alter", "damage"),
    [
        (replace(b"measured 0007 ps", b"measured 0001 ps"), "record 8 of run/1"),
        (replace(b"measured 0007 ps", b"measured 00\xff7 ps"), "record 8 of run/1"),
        (execute("UPDATE records SET kind = 'request' WHERE seq = 3"), "record 3 of run/1"),
        (execute("UPDATE records SET crc = 'x' WHERE seq = 3"), "record 3 of run/1"),
        (replace(b"1250 tokens", b"0250 tokens"), "a document of limits"),
        (execute("UPDATE blobs SET zlib = x'78'"), "a blob of BLOB"),
        (replace(b"a note of a room", b"a note \xff\xfe a room"), "a row of the table notes"),
        (execute("UPDATE notes SET text = x'00'"), "a row of the table notes"),
    ],
)
def test_the_check_names_each_row_that_was_altered(
    tmp_path: Path, alter: Alter, damage: str
) -> None:
    path = tmp_path / "state.db"
    blob = fill(path)
    assert find_damage(path) == []
    alter(path)
    assert find_damage(path) == [damage.replace("BLOB", blob)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM records WHERE seq = 12",
        "DELETE FROM records WHERE seq = 2",
        "UPDATE records SET seq = 900 WHERE seq = 20",
        "UPDATE records SET seq = seq - 1000 WHERE seq = 40",
        "UPDATE records SET chain = NULL WHERE seq = 30",
        "UPDATE records SET chain = NULL WHERE seq = 40",
    ],
)
def test_the_deep_check_finds_records_that_are_missing_or_elsewhere(
    tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "state.db"
    fill(path)
    assert find_damage(path, deep=True) == []
    execute(statement)(path)
    (damage,) = find_damage(path, deep=True)
    assert damage.startswith("the records of run/1: something was changed up to record ")


def test_the_deep_check_finds_a_stream_that_was_cut_off_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "state.db"

    def summarise(before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
        del before
        last = records[-1]
        return StreamSummary(last.stream, "run", "", "", last.at, {})

    async def work() -> None:
        async with SqliteStore.open(path) as store:
            for number in range(4):
                await store.append("run/1", "reply", number, summarise=summarise)

    asyncio.run(work())
    assert find_damage(path, deep=True) == []
    execute("DELETE FROM records WHERE seq = 4")(path)
    assert find_damage(path, deep=True) == ["the last records of run/1 are missing"]


def test_records_of_a_format_without_chains_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES_OF_FORMAT_1)
    assert find_damage(path, deep=True) == []

    async def go_on() -> None:
        async with SqliteStore.open(path) as store:
            await store.append("s", "k", "two")
            await store.append("s", "k", "three")

    asyncio.run(go_on())
    assert find_damage(path, deep=True) == []
    execute("DELETE FROM records WHERE seq = 2")(path)
    assert find_damage(path, deep=True)


def test_the_check_finds_pages_that_were_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    damage = find_damage(path, limit=5)
    assert 0 < len(damage) <= 5
    assert not any("measured" in words for words in damage)


@pytest.mark.parametrize("new", [b"measured 0001 ps", b"measured 00\xff7 ps", b'measured"0007 ps'])
def test_a_record_that_was_altered_is_never_returned(tmp_path: Path, new: bytes) -> None:
    path = tmp_path / "state.db"
    fill(path)
    replace(b"measured 0007 ps", new)(path)

    async def read() -> None:
        async with SqliteStore.open(path) as store:
            with pytest.raises(StoreError, match="the database is damaged") as caught:
                store.read("run/1")
            assert "measured" not in str(caught.value)
            assert "transom doctor" in str(caught.value)

    asyncio.run(read())


@pytest.mark.parametrize("new", [b"0250 tokens", b"\xff250 tokens", b'1250"tokens'])
def test_a_document_that_was_altered_is_neither_returned_nor_replaced(
    tmp_path: Path, new: bytes
) -> None:
    path = tmp_path / "state.db"
    fill(path)
    replace(b"1250 tokens", new)(path)

    async def read() -> None:
        async with SqliteStore.open(path) as store:
            with pytest.raises(StoreError, match="the database is damaged"):
                store.get("limits", "openai:m")
            with pytest.raises(StoreError, match="the database is damaged"):
                store.items("limits")
            with pytest.raises(StoreError, match="the database is damaged"):
                await store.put_if_absent("limits", "openai:m", 1)
            with pytest.raises(StoreError, match="the database is damaged"):
                await store.swap("limits", "openai:m", {"spent": "0250 tokens"}, 1)

    asyncio.run(read())


def make_old(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(TABLES_OF_FORMAT_1)


def test_a_database_of_format_1_is_read_without_being_changed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_old(path)
    before = path.read_bytes()

    async def look() -> None:
        async with SqliteStore.open_for_reading(path) as store:
            assert [record.data for record in store.read("s")] == ["one"]
            assert store.items("t") == {"key": "document"}
            assert store.get("t", "key") == "document"
            with pytest.raises(StoreError, match="cannot be written"):
                await store.append("s", "k", 2)

    asyncio.run(look())
    assert find_damage(path) == []
    assert path.read_bytes() == before


def test_a_database_of_format_1_is_brought_up_to_date_by_the_first_that_writes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    make_old(path)

    async def go_on() -> None:
        async with SqliteStore.open(path) as store:
            await store.append("s", "k", "two")
            assert [record.data for record in store.read("s")] == ["one", "two"]
            assert await store.swap("t", "key", "document", "changed")
            assert store.get("t", "key") == "changed"

    asyncio.run(go_on())
    assert find_damage(path) == []
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT crc IS NULL FROM records ORDER BY seq").fetchall()
    assert rows == [(1,), (0,)]


def test_an_unreadable_row_of_format_1_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_old(path)
    replace(b'"one"', b'"one ')(path)

    async def read() -> None:
        async with SqliteStore.open_for_reading(path) as store:
            with pytest.raises(StoreError, match="the database is damaged: record 1; "):
                store.read("s")

    asyncio.run(read())
    assert find_damage(path) == ["record 1 of s"]


async def test_records_that_share_a_transaction_have_a_chain(tmp_path: Path) -> None:
    """Other writers, refused records and removed streams come in between."""
    path = tmp_path / "state.db"
    async with SqliteStore.open(path) as store, SqliteStore.open(path) as other_store:
        for number in range(30):
            stream = f"run/{number % 2}"
            store.append_soon(stream, "result", number)
            store.append_soon("run/0", "result", "the same stream, or the other one")
            if number % 5 == 3:
                store.append_soon("run/2", "result", "is removed")
                await store.forget("run/2")
                store.append_soon("run/2", "result", "begins anew")
            if number % 7 == 4:
                with refusing(path, "NEW.kind = 'refused'"), pytest.raises(StoreError):
                    await store.append(stream, "refused", number)
            await store.append(stream, "reply", number)
            await other_store.append(stream, "reply", f"of another process, {number}")
        await store.append("run/0", "closed", None)
        assert [record.data for record in store.read("run/1")][:3] == [
            1,
            1,
            "of another process, 1",
        ]
        assert len(store.read("run/0")) + len(store.read("run/1")) == 4 * 30 + 1
    assert find_damage(path, deep=True) == []


async def test_a_stream_that_is_removed_and_begins_anew_in_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with SqliteStore.open(path) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other_process:
            other_process.execute("BEGIN IMMEDIATE")
            before = store.commits
            # The first one waits for the lock, and the others for the first one.
            writes = [
                asyncio.create_task(write)
                for write in (
                    store.append("run/1", "reply", "first"),
                    store.append("run/2", "reply", "is removed"),
                    store.forget("run/2"),
                    store.append("run/2", "reply", "begins anew"),
                )
            ]
            await asyncio.sleep(0.1)
            other_process.execute("ROLLBACK")
        await asyncio.gather(*writes)
        assert store.commits - before <= 2
        assert [record.data for record in store.read("run/2")] == ["begins anew"]
    assert find_damage(path, deep=True) == []


async def test_what_was_rolled_back_or_removed_is_in_no_chain(tmp_path: Path) -> None:
    """The writer knows the chain of its last record, which may not be there any more."""

    def sum_up(_before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
        last = records[-1]
        if last.data == "is rolled back":
            raise StoreError("refused")
        return StreamSummary(last.stream, "run", "running", "", last.at, {})

    path = tmp_path / "state.db"
    async with SqliteStore.open(path) as store, SqliteStore.open(path) as other_store:
        await store.append("run/1", "reply", "first", summarise=sum_up)
        await store.append("run/1", "reply", "second", summarise=sum_up)
        with pytest.raises(StoreError, match="refused"):
            await store.append("run/1", "reply", "is rolled back", summarise=sum_up)
        await store.append("run/1", "reply", "third", summarise=sum_up)
        await other_store.put("table", "key", "no record")
        await store.append("run/1", "reply", "fourth", summarise=sum_up)
        assert len(store.read("run/1")) == 4
        assert find_damage(path, deep=True) == []
        await other_store.forget("run/1")
        await store.append("run/1", "reply", "begins anew")
        assert [record.data for record in store.read("run/1")] == ["begins anew"]
    assert find_damage(path, deep=True) == []
