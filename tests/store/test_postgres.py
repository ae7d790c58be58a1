from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pytest

from tests.memory.conformance import MemoryConformance
from tests.memory.embedders import HashedWords
from transom.errors import InputError, RunBusy, RunError, StoreError
from transom.learning import Insight, InsightCategory, Playbook
from transom.learning.ledger import CONTENT as LEARNING
from transom.llm import Chain, ScriptedProvider
from transom.memory import Memory, SqliteMemory
from transom.memory.sqlite import CONTENT as MEMORY
from transom.memory.words import stems_of
from transom.runs import Run, Stage, Workspace, text_file
from transom.store import (
    LeasingStore,
    PostgresAddress,
    StoreLocation,
    SummaryFilter,
    copy_database,
    open_store,
    open_tables,
)
from transom.store.postgres import connections, leases
from transom.store.postgres.committer import lock_of
from transom.store.postgres.dialect import translate
from transom.store.postgres.errors import lost_connection
from transom.store.postgres.store import PostgresStore

from .conformance import StoreConformance
from .cutting_proxy import CuttingProxy
from .postgres_server import Server

pytestmark = [pytest.mark.fence, pytest.mark.slow]


@pytest.fixture
def address(postgres: Server) -> PostgresAddress:
    return postgres.fresh_address()


class TestPostgresStore(StoreConformance):
    opener: ClassVar[str] = "tests.store.postgres_server:open_at"

    @pytest.fixture
    def location(self, tmp_path: Path, address: PostgresAddress) -> Path:
        path = tmp_path / "address"
        path.write_text(address.url, encoding="utf-8")
        return path


class PostgresMemory(MemoryConformance):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: Server) -> None:
        self.server = postgres
        self.addresses: dict[Path, PostgresAddress] = {}

    def address_of(self, location: Path) -> PostgresAddress:
        """Return the address of a schema that stands for a folder of the suite."""
        if location not in self.addresses:
            self.addresses[location] = self.server.fresh_address()
        return self.addresses[location]


class TestMemoryByWords(PostgresMemory):
    def open(self, location: Path) -> Memory:
        return SqliteMemory.open(self.address_of(location))


class TestMemoryByMeaning(PostgresMemory):
    def open(self, location: Path) -> Memory:
        return SqliteMemory.open(self.address_of(location), HashedWords())


# The rooms' tables

TEXTS = (
    "Set the clock period before you read the constraints; the clock of a late file is ignored.",
    "A report without its summary line was cut off, so ask for the file again.",
    "Retry the download once, then ask for the file in the 2.1-beta format.",
    "The constraint file names each clock once.",
)


def test_both_databases_give_a_text_the_same_score(address: PostgresAddress) -> None:
    async def found(memory: SqliteMemory, query: str) -> list[tuple[str, Any]]:
        hits = await memory.retrieve(query, 10)
        return [(hit.entry.content, pytest.approx(hit.score, rel=1e-6)) for hit in hits]

    async def compare() -> None:
        async with SqliteMemory.open(None) as file, SqliteMemory.open(address) as server:
            for memory in (file, server):
                for text in TEXTS:
                    await memory.store(text, {"words": len(text.split())})
            for query in ("clock", "the file of the clock", "2.1-beta", "it's \\ a 'quoted' file"):
                expected = await found(file, query)
                assert expected
                assert await found(server, query) == expected

    asyncio.run(compare())


@pytest.mark.parametrize(
    "bound", [{"from": 3}, {"to": 3}, {"from": "b"}, {"to": "b"}, {"from": 2, "to": 3.5}]
)
def test_both_databases_compare_metadata_alike(
    address: PostgresAddress, bound: dict[str, int | str]
) -> None:
    values: list[Any] = [1, 3, 3.5, 10**20, "a", "b", "é", True, None, {"x": 1}, [2]]

    async def compare() -> None:
        answers = []
        async with SqliteMemory.open(None) as file, SqliteMemory.open(address) as server:
            for memory in (file, server):
                for number, value in enumerate(values):
                    await memory.store(f"entry {number}", {"it's": value})
                hits = await memory.retrieve("", 20, {"it's": dict(bound)})
                answers.append([hit.entry.content for hit in hits])
        assert answers[0]
        assert answers[1] == answers[0]

    asyncio.run(compare())


def test_a_playbook_learns_the_same_in_both_databases(address: PostgresAddress) -> None:
    def learn(playbook: Playbook) -> list[Insight]:
        keys = [
            playbook.add_insight(InsightCategory.STRATEGY, text, tags=["timing"]).id
            for text in TEXTS
        ]
        assert playbook.add_insight(InsightCategory.STRATEGY, TEXTS[0].upper()).id == keys[0]
        for helpful in (True, True, False):
            playbook.record_outcome(keys[1], helpful, key=f"outcome {helpful}")
        playbook.search_by_content("clock")
        playbook.ledger.rebuild()
        return [
            replace(insight, created_at="", last_used="") for insight in playbook.items.values()
        ]

    clock = lambda: "2026-01-02T03:04:05.000006Z"  # noqa: E731
    with Playbook(None, clock=clock) as file, Playbook(address, clock=clock) as server:
        assert learn(server) == learn(file)
        kinds = [(event.kind, event.insight) for event in file.events()]
        assert [(event.kind, event.insight) for event in server.events()] == kinds
        for playbook in (file, server):
            for text in (
                "Never sign off on a stale netlist",
                "Never sign off with a stale netlist",
            ):
                playbook.add_insight(InsightCategory.MISTAKE, text)
        assert file.ledger.open_pairs()
        assert server.ledger.open_pairs() == file.ledger.open_pairs()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT ? WHERE a = ?3 OR b = ?", "SELECT $1 WHERE a = $3 OR b = $4"),
        ("SELECT 'what?' || 'it''s ?2', ?", "SELECT 'what?' || 'it''s ?2', $1"),
        ("DELETE FROM t WHERE a IN ()", "DELETE FROM t WHERE a = ANY ('{}')"),
        ("SELECT a FROM t WHERE a NOT IN ()", "SELECT a FROM t WHERE a <> ALL ('{}')"),
    ],
)
def test_statements_are_translated_outside_of_texts(statement: str, expected: str) -> None:
    assert translate(statement) == expected


def test_a_failed_transaction_of_a_room_changes_nothing(address: PostgresAddress) -> None:
    tables = open_tables(address, "room", [["CREATE TABLE notes (text TEXT NOT NULL UNIQUE)"]])
    try:
        tables.write(lambda run: run.execute("INSERT INTO notes VALUES (?)", ("first",)))
        with pytest.raises(ZeroDivisionError):
            tables.write(lambda run: (run.execute("INSERT INTO notes VALUES ('x')"), 1 / 0))
        with pytest.raises(StoreError, match="the database failed"):
            tables.write(lambda run: run.execute("INSERT INTO notes VALUES ('first')"))
        assert tables.query("SELECT text FROM notes") == [("first",)]
    finally:
        tables.close()
    with pytest.raises(StoreError, match="the tables are closed"):
        tables.query("SELECT text FROM notes")


def test_a_process_that_stops_within_a_transaction_holds_nobody_up(
    address: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_IDLE_SECONDS", 1)
    stopped, other = (connections.open_pool(address, 10) for _ in range(2))
    with stopped.connection() as connection, other.connection() as waiting:
        connection.execute("CREATE TABLE held (number BIGINT)")
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE held")
        waiting.execute("INSERT INTO held VALUES (1)")
        with pytest.raises(psycopg.Error) as ended:
            connection.execute("COMMIT")
    assert lost_connection(ended.value), ended.value
    stopped.close()
    other.close()


async def take(store: PostgresStore) -> object:
    return store.hold("run/1")


async def append(store: PostgresStore) -> object:
    return await store.append("run/1", "k", "text")


async def look(store: PostgresStore) -> object:
    return store.last_seq() == 0


@pytest.mark.parametrize("call", [take, append, look])
def test_a_process_that_stops_within_a_pipeline_holds_nobody_up(
    address: PostgresAddress,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    call: Callable[[PostgresStore], Awaitable[object]],
) -> None:
    """The server waits for more statements of a pipeline, however long none comes."""
    monkeypatch.setattr(connections, "MOST_IDLE_SECONDS", 1)

    async def work() -> None:
        async with PostgresStore.open(address) as store:
            stopped = connections.open_pool(address, 10)
            with (
                pytest.raises(psycopg.OperationalError) as ended,
                stopped.connection() as connection,
                connection.pipeline(),
                connection.transaction(),
            ):
                lock = lock_of("stream", "run/1")
                connection.execute("SELECT pg_advisory_xact_lock($1)", (lock,))
                connection.execute("INSERT INTO blobs VALUES ('a', '')")
                connection.execute("LOCK TABLE records IN ROW EXCLUSIVE MODE")
                connection.execute("SELECT 1").fetchall()
                assert await call(store)
            assert lost_connection(ended.value), ended.value
            stopped.close()

    asyncio.run(work())
    assert "stopped in the middle of a write" in caplog.text


def test_tables_of_a_newer_version_are_refused(address: PostgresAddress) -> None:
    step = ["CREATE TABLE notes (text TEXT)"]
    open_tables(address, "room", [step, ["ALTER TABLE notes ADD number INTEGER"]]).close()
    with pytest.raises(StoreError, match="the tables of room have format 2"):
        open_tables(address, "room", [step])


# Leases


def test_a_lease_belongs_to_one_store_until_it_is_released(address: PostgresAddress) -> None:
    async def work() -> None:
        async with PostgresStore.open(address) as first, PostgresStore.open(address) as second:
            assert isinstance(first, LeasingStore)
            lease = first.hold("run/1")
            assert lease is not None
            assert first.hold("run/1") is None
            assert second.hold("run/1") is None
            assert second.holder_of("run/1").endswith(f":{os.getpid()}")
            soon = first.append_soon("run/1", "k", "before the release")
            lease.release()
            lease.release()
            again = first.hold("run/1")
            assert again is not None, "the store that released it may take it at once"
            await soon
            again.release()
            await first.append("other", "k", "a write after the release")
            assert second.hold("run/1") is not None
        async with PostgresStore.open(address) as third:
            assert third.hold("run/1") is not None, "closing a store releases its leases"
            assert len(third.read("run/1")) == 1

    asyncio.run(work())


def test_a_run_that_another_process_holds_says_who_has_it(
    address: PostgresAddress, tmp_path: Path
) -> None:
    workspace = Workspace.at(tmp_path / "w", store=address.url)

    async def work() -> None:
        async with workspace.open_store() as here, workspace.open_store() as there:
            lease = workspace.hold_run(here, "r1", "VER-01")
            with pytest.raises(RunBusy, match=rf":{os.getpid()} has run r1 of VER-01 open"):
                workspace.hold_run(there, "r1", "VER-01")
            lease.release()

    asyncio.run(work())


HOLDER = """
import asyncio, sys
from transom.store import PostgresAddress
from transom.store.postgres import leases
from transom.store.postgres.store import PostgresStore

leases.LEASE_SECONDS, leases.HEARTBEAT_SECONDS = 1.0, 0.1

async def main():
    async with PostgresStore.open(PostgresAddress(sys.argv[1])) as store:
        assert store.hold("run/1")
        while True:
            print(await store.append("run/1", "k", "first"), flush=True)
            await asyncio.sleep(0.01)

asyncio.run(main())
"""


@pytest.fixture
def holder(address: PostgresAddress) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, address.url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_holder_is_asked_to_stop_from_elsewhere(
    address: PostgresAddress, holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert holder.stdout is not None
    holder.stdout.readline()
    workspace = Workspace.at(tmp_path / "w", store=address.url)

    async def work() -> None:
        async with workspace.open_store() as store:
            assert store.holder_of("run/1")  # type: ignore[attr-defined]  # it leases
            workspace.interrupt(store, "1")
            _, error = await asyncio.to_thread(holder.communicate, timeout=60)
            assert error.rstrip().endswith("KeyboardInterrupt")
            # Nobody holds it now; what this process holds itself is not stopped by it.
            with pytest.raises(RunError, match="no process works on this run"):
                workspace.interrupt(store, "1")
            lease = workspace.hold_run(store, "1", "VER-01")
            with pytest.raises(RunError, match="no process works on this run"):
                workspace.interrupt(store, "1")
            lease.release()

    asyncio.run(work())


def test_a_paused_process_that_wakes_up_late_writes_nothing(
    address: PostgresAddress, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.0)
    assert holder.stdout is not None
    holder.stdout.readline()

    async def work() -> None:
        async with PostgresStore.open(address) as store:
            assert store.hold("run/1") is None, "it is alive, and renews its lease"
            holder.send_signal(signal.SIGSTOP)
            wait_until(lambda: store.hold("run/1"))
            before = len(store.read("run/1"))
            await store.append("run/1", "k", "second")
            holder.send_signal(signal.SIGCONT)
            _, error = await asyncio.to_thread(holder.communicate, timeout=60)
            assert "has taken run/1 over" in error
            data = [record.data for record in store.read("run/1")]
            assert data == ["first"] * before + ["second"]

    asyncio.run(work())


# A server that goes away


def test_no_acknowledged_append_is_lost_or_doubled_over_crashes_of_the_server(
    postgres: Server, address: PostgresAddress
) -> None:
    """Killing a process of the server makes it end all connections and recover."""

    async def write(
        store: PostgresStore, task: int, acknowledged: dict[int, tuple[int, int]]
    ) -> None:
        for number in range(40):
            seq = await store.append("s", "k", [task, number])
            acknowledged[seq] = (task, number)
            await asyncio.sleep(0.01)

    def process_of_store() -> int:
        try:
            with psycopg.connect(postgres.url(), autocommit=True) as connection:
                rows = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'transom%'"
                ).fetchall()
        except psycopg.OperationalError:
            return 0  # it recovers from the crash before
        return int(rows[0][0]) if rows else 0

    def crash() -> None:
        wait_until(process_of_store)
        process = process_of_store()
        if process:
            os.kill(process, signal.SIGKILL)

    async def work() -> None:
        acknowledged: dict[int, tuple[int, int]] = {}
        async with PostgresStore.open(address) as store:
            tasks = [asyncio.create_task(write(store, task, acknowledged)) for task in range(3)]
            for _ in range(3):
                await asyncio.sleep(0.15)
                await asyncio.to_thread(crash)
            await asyncio.gather(*tasks)
            records = {record.seq: record.data for record in store.read("s")}
        assert records == {seq: [*pair] for seq, pair in acknowledged.items()}
        assert len({*acknowledged.values()}) == len(records) == 120

    asyncio.run(work())


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_a_commit_whose_answer_is_lost_is_done_once(
    postgres: Server, address: PostgresAddress, answered: bool
) -> None:
    """The connection is cut at a commit, before the server sees it or after it is done."""

    async def work() -> None:
        with CuttingProxy(postgres.folder, forward_first=answered) as proxy:
            url = address.url.replace(str(postgres.folder), str(proxy.folder))
            async with PostgresStore.open(PostgresAddress(url)) as store:
                await store.append("s", "k", "first")
                proxy.cut_next_commit()
                seq = await store.append("s", "k", "second")
                assert proxy.cuts == 1
                records = [(record.seq, record.data) for record in store.read("s")]
                assert [data for _, data in records] == ["first", "second"]
                assert records[-1][0] == seq

    asyncio.run(work())


def test_a_process_that_is_killed_leaves_its_run_to_another(
    address: PostgresAddress, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.0)
    assert holder.stdout is not None
    holder.stdout.readline()
    holder.kill()

    async def work() -> None:
        async with PostgresStore.open(address) as store:
            wait_until(lambda: store.hold("run/1"))
            await store.append("run/1", "k", "second")

    asyncio.run(work())


# What goes wrong


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://nobody@localhost:1/x", "the database cannot be reached"),
        ("", "the database cannot be reached .*no_such_database"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_error(
    postgres: Server, url: str, message: str
) -> None:
    url = url or postgres.url("no_such_database")
    with pytest.raises(StoreError, match=message) as caught:
        PostgresStore.open(PostgresAddress(url))
    assert caught.value.hint


def test_tables_of_another_program_are_left_alone(
    postgres: Server, address: PostgresAddress
) -> None:
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE records (track TEXT)")
    with pytest.raises(StoreError, match="belong to another program"):
        PostgresStore.open(address)
    with psycopg.connect(address.url) as connection:
        assert connection.execute("SELECT to_regclass('blobs')").fetchall() == [(None,)]


def test_a_database_that_stays_away_is_an_error_and_then_the_store_goes_on(
    postgres: Server, address: PostgresAddress
) -> None:
    async def work() -> None:
        with CuttingProxy(postgres.folder) as proxy:
            url = address.url.replace(str(postgres.folder), str(proxy.folder))
            async with PostgresStore.open(PostgresAddress(url), patience=1.0) as store:
                await store.append("s", "k", 1)
                proxy.refuse()
                with pytest.raises(StoreError, match="the database cannot be reached"):
                    await store.append("s", "k", 2)
                with pytest.raises(StoreError, match="the database cannot be reached"):
                    store.read("s")
                proxy.accept()
                deadline = time.monotonic() + 60
                while True:  # a new connection is tried in growing intervals
                    try:
                        await store.append("s", "k", 3)
                        break
                    except StoreError:
                        assert time.monotonic() < deadline
                assert [record.data for record in store.read("s")] == [1, 3]

    asyncio.run(work())


@pytest.mark.parametrize(
    "url",
    ["postgresql://u:secret@h/d", "postgresql://h/d?user=u&password=secret"],
    ids=["user", "query"],
)
def test_an_address_with_a_password_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InputError, match="contains a password") as caught:
        PostgresAddress(url)
    assert "secret" not in str(caught.value)


# Moving to another database


def filled(location: StoreLocation) -> None:
    """Write something of each kind, the odd things too."""

    async def write() -> None:
        async with open_store(location) as store:
            for number in range(1200):  # more rows than are read at once
                store.append_soon("run/1", "k", {"n": number, "text": "é\0\x01 🦉"})
            await store.append("run/2", "k", [1, 2.5, None])
            await store.append("run/3", "k", "removed")
            await store.forget("run/3")
            await store.put_blob(bytes(range(256)) * 1000)
            await store.put_blob(b"")
            for key in ("b", "a", "é", "Z", "\x01"):
                await store.put("t", key, {key: [key]})
        async with SqliteMemory.open(location, HashedWords()) as memory:
            first = await memory.store("a clock of 2.1-beta\0 \x01 \x010", {"n": 1}, egress="local")
            second = await memory.store("a defect cellphone")
            await memory.forget(await memory.store("forgotten"))
            await memory.relate(first, second, "follows")

    asyncio.run(write())
    with Playbook(location, embedder=HashedWords()) as playbook:
        insight = playbook.add_insight(InsightCategory.MISTAKE, TEXTS[0], tags=["odd\0tag", "slow"])
        playbook.record_outcome(insight.id, helpful=True, key="once")


def seen_in(location: StoreLocation) -> list[Any]:
    """Return what a program sees of the store, the memory and the playbook."""

    async def read() -> list[Any]:
        async with open_store(location) as store:
            streams = {name: store.read(name) for name in store.streams()}
            shown: list[Any] = [streams, store.items("t"), store.last_seq()]
        async with SqliteMemory.open(location, HashedWords()) as memory:
            for query in ("clock", "telephone", "", "2.1-beta"):
                hits = await memory.retrieve(query, 5)
                shown.append([(hit.entry, pytest.approx(hit.score, rel=1e-6)) for hit in hits])
        return shown

    shown = asyncio.run(read())
    with Playbook(location, embedder=HashedWords()) as playbook:
        found = playbook.search_by_content("clock slow")
        shown += [playbook.items, found, playbook.events()]
    return shown


def test_a_database_is_moved_to_postgres_and_back_whole(
    address: PostgresAddress, tmp_path: Path
) -> None:
    filled(tmp_path / "state.db")
    there = copy_database(tmp_path / "state.db", address, (LEARNING, MEMORY), stems_of)
    back = copy_database(address, tmp_path / "back.db", (LEARNING, MEMORY), stems_of)
    assert back == there
    rows = {table.name: table.rows for table in there}
    assert rows["records"] == 1201
    assert min(rows.values()) >= 1
    expected = seen_in(tmp_path / "state.db")
    assert seen_in(address) == expected
    assert seen_in(tmp_path / "back.db") == expected

    async def next_numbers(location: StoreLocation) -> int:
        async with open_store(location) as store:
            return await store.append("run/4", "k", 1)

    numbers = [
        asyncio.run(next_numbers(location))
        for location in (tmp_path / "state.db", address, tmp_path / "back.db")
    ]
    assert numbers == [1203, 1203, 1203], "the number of a removed record is not given again"
    with Playbook(address) as playbook:
        assert playbook.add_insight(InsightCategory.STRATEGY, TEXTS[1]).id


def test_a_database_with_rows_is_not_overwritten(address: PostgresAddress, tmp_path: Path) -> None:
    filled(tmp_path / "state.db")
    filled(address)
    before = seen_in(address)
    with pytest.raises(StoreError, match="the database is not empty: it has rows in records"):
        copy_database(tmp_path / "state.db", address, (LEARNING, MEMORY), stems_of)
    assert seen_in(address) == before


def test_a_room_that_this_version_does_not_know_is_an_error(
    address: PostgresAddress, tmp_path: Path
) -> None:
    open_tables(tmp_path / "state.db", "novel", [["CREATE TABLE chapters (text TEXT)"]]).close()
    with pytest.raises(StoreError, match="has tables of novel"):
        copy_database(tmp_path / "state.db", address, (LEARNING, MEMORY), stems_of)


def test_the_command_moves_a_workspace_and_the_setting_uses_it(
    address: PostgresAddress, tmp_path: Path
) -> None:
    filled(tmp_path / ".transom" / "state.db")
    program = [sys.executable, "-m", "transom"]

    def run(*words: str) -> str:
        done = subprocess.run(
            [*program, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = run("memory", "search", "clock")
    assert "all are equal" in run("migrate", address.url)
    (tmp_path / "transom.yaml").write_text(f"store: {address.url}\n", encoding="utf-8")
    (tmp_path / ".transom" / "state.db").unlink()
    assert run("memory", "search", "clock") == before
    run("memory", "add", "added on the server")
    assert not (tmp_path / ".transom" / "state.db").exists()
    back = json.loads(run("migrate", "back.db", "--format", "json"))
    assert {table["name"] for table in back["tables"]} >= {"records", "memories", "insights"}


async def test_nothing_has_a_name_with_nul(postgres: Server) -> None:
    async with PostgresStore.open(postgres.fresh_address()) as store:
        assert store.read("run/\0") == []
        assert store.get("runs", "a\0b") is None
        assert store.summaries(SummaryFilter(streams=("run/\0",))) == []
        assert store.streams("\0") == []


async def test_a_read_sees_what_was_appended_without_waiting(address: PostgresAddress) -> None:
    async with PostgresStore.open(address) as store, PostgresStore.open(address) as other:
        for number in range(3):
            store.append_soon("run/1", "k", number)
        assert [record.data for record in store.read("run/1")] == [0, 1, 2]
        assert len(other.read("run/1")) == 3
        # What was begun before needs no further write to be committed.
        store.append_soon("run/1", "k", 3)
        await asyncio.sleep(1.0)
        assert len(other.read("run/1")) == 4


async def test_the_end_of_a_stage_is_in_the_journal_with_what_follows(
    address: PostgresAddress, tmp_path: Path
) -> None:
    workspace = Workspace.at(tmp_path / ".transom", store=address.url)
    asked: list[str] = []

    async def work(stage: Stage) -> str:
        asked.append(stage.name)
        return stage.name

    async with workspace.open_store() as store:
        for expected in (["one", "two"], ["one", "two"]):
            arguments: dict[str, Any] = {
                "workspace": workspace,
                "store": store,
                "chain": Chain((ScriptedProvider({}),)),
            }
            async with await Run.open("test", {}, name="x", **arguments) as run:
                for name in ("one", "two"):
                    artifact = await run.stage(name, work, out=text_file("out.txt"))
                    assert artifact.value == name
                    kinds = [record.kind for record in run.records()]
                    assert run.state.stage(name).last == "done"
                assert asked == expected, "the second walk does nothing again"
                await run.finish("done")
        assert kinds[:7] == ["opened", "started", "writing", "done", "started", "writing", "done"]
        checkpoint = json.loads((run.folder / "checkpoint_latest.json").read_text())
        done = [record for record in run.records() if record.kind == "done"]
        assert (checkpoint["position"], checkpoint["at"]) == (done[-1].seq, done[-1].at)
