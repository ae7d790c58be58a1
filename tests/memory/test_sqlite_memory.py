from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from transom.errors import MemoryUnavailable
from transom.memory import Memory, SqliteMemory
from transom.store import SqliteStore

from .conformance import MemoryConformance
from .embedders import HashedWords


class TestByWords(MemoryConformance):
    def open(self, location: Path) -> Memory:
        return SqliteMemory.open(location / "state.db")


class TestByMeaning(MemoryConformance):
    def open(self, location: Path) -> Memory:
        return SqliteMemory.open(location / "state.db", HashedWords())


async def test_meaning_finds_what_words_do_not(tmp_path: Path) -> None:
    async with SqliteMemory.open(tmp_path / "state.db", HashedWords()) as memory:
        gold = await memory.store("a defect cellphone")
        await memory.store("rain is expected over the hills")
        found = await memory.retrieve("broken telephones")
        assert [one.entry.id for one in found] == [gold]
        assert found[0].entry.model == "hashed-words"
        assert len(found[0].entry.embedding or ()) == 64


async def test_vectors_of_another_model_are_passed_over_until_they_are_made_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    async with SqliteMemory.open(path) as memory:
        await memory.store("a defect cellphone", key="a")
    async with SqliteMemory.open(path, HashedWords("older", 16)) as memory:
        await memory.store("a faulty automobile", key="b")
    async with SqliteMemory.open(path, HashedWords()) as memory:
        assert await memory.retrieve("broken telephone") == []
        assert await memory.embed_missing() == 2
        assert await memory.embed_missing() == 0
        assert [one.entry.id for one in await memory.retrieve("broken telephone", 1)] == ["a"]
        assert [one.entry.id for one in await memory.retrieve("broken car", 1)] == ["b"]


async def test_another_process_sees_what_is_stored_changed_and_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with (
        SqliteMemory.open(path, HashedWords()) as here,
        SqliteMemory.open(path, HashedWords()) as there,
    ):
        await here.store("a defect cellphone", key="a")
        assert [one.entry.id for one in await there.retrieve("telephone")] == ["a"]
        await here.store("a car", key="a")
        assert await there.retrieve("telephone") == []
        await here.forget("a")
        await here.store("a phone", key="b")
        assert [one.entry.id for one in await there.retrieve("telephone")] == ["b"]


async def test_a_narrow_filter_over_many_entries_finds_its_own(tmp_path: Path) -> None:
    async with SqliteMemory.open(None, HashedWords()) as memory:
        for n in range(400):
            await memory.store(f"telephone {n}", {"kind": "common"})
        await memory.store("a broken automobile", {"kind": "rare"}, key="rare")
        found = await memory.retrieve("telephone automobile", 3, {"kind": "rare"})
        assert [one.entry.id for one in found] == ["rare"]


async def test_it_lives_beside_the_journal_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with SqliteStore.open(path) as store, SqliteMemory.open(path) as memory:
        await asyncio.gather(
            *(store.append("run", "reply", n) for n in range(40)),
            *(memory.store(f"entry {n}") for n in range(40)),
        )
        assert [record.data for record in store.read("run")] == list(range(40))
        assert len(await memory.retrieve("entry", 100)) == 40


async def test_what_is_no_database_or_is_newer_is_the_one_error(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database " * 100)
    with pytest.raises(MemoryUnavailable, match="not a database"):
        SqliteMemory.open(tmp_path / "text.db")
    path = tmp_path / "state.db"
    await SqliteMemory.open(path).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE rooms SET version = 99")
    with pytest.raises(MemoryUnavailable, match="format 99"):
        SqliteMemory.open(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE rooms SET version = 1")
    async with SqliteMemory.open(path) as memory:
        await memory.store("x", key="x")
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("DROP TABLE memories")
        with pytest.raises(MemoryUnavailable, match="memory cannot be used"):
            await memory.get("x")
