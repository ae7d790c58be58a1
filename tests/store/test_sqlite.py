from __future__ import annotations

import asyncio
import errno
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

from transom.errors import StoreError
from transom.store import SqliteStore, committer
from transom.store.connecting import connect_for_writing
from transom.store.migrations import FORMAT
from transom.store.sqlite_errors import store_error

from . import child
from .conformance import StoreConformance
from .refusing import refusing


class TestSqliteStore(StoreConformance):
    opener: ClassVar[str] = "transom.store:SqliteStore.open"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "er" / "state.db"


def raw(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, isolation_level=None))


# group commit


def test_appends_that_wait_share_a_commit(db: Path) -> None:
    async def work() -> int:
        async with SqliteStore.open(db) as store:
            await asyncio.gather(*(store.append("s", "k", n) for n in range(200)))
            return store.commits

    assert 1 <= asyncio.run(work()) <= 40


def test_one_append_is_one_commit(db: Path) -> None:
    async def work() -> int:
        async with SqliteStore.open(db) as store:
            for n in range(5):
                await store.append("s", "k", n)
            return store.commits

    assert asyncio.run(work()) == 5


@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed: syncs cannot be counted"
)
def test_only_synced_appends_reach_the_disk(db: Path) -> None:
    def syncs(sync: bool) -> int:
        script = (
            "import asyncio, sys\nfrom pathlib import Path\nfrom transom.store import SqliteStore\n"
            "async def main():\n"
            f"    async with SqliteStore.open(Path({str(db)!r})) as store:\n"
            "        await store.append('s', 'k', 0, sync=False)\n"
            "        print('begin', file=sys.stderr, flush=True)\n"
            f"        for n in range(20): await store.append('s', 'k', n, sync={sync})\n"
            "        print('end', file=sys.stderr, flush=True)\n"
            "asyncio.run(main())\n"
        )
        command = [
            "strace",
            "-f",
            "-e",
            "trace=fsync,fdatasync,write",
            sys.executable,
            "-c",
            script,
        ]
        trace = subprocess.run(command, capture_output=True, text=True)
        if trace.returncode:
            pytest.skip("strace may not trace here: " + trace.stderr.splitlines()[-1])
        begin, end = trace.stderr.index('"begin'), trace.stderr.index('"end')
        return trace.stderr[begin:end].count("sync(")

    assert syncs(sync=False) == 0
    assert syncs(sync=True) >= 20


def test_one_bad_write_does_not_take_its_neighbours_along(db: Path) -> None:
    async def work() -> None:
        async with SqliteStore.open(db) as store:
            kinds = ["poison" if n % 5 == 3 else "fine" for n in range(30)]
            with refusing(db, "NEW.kind = 'poison'"):
                appends = [store.append("s", kind, kind) for kind in kinds]
                results = await asyncio.gather(*appends, return_exceptions=True)
            for kind, result in zip(kinds, results, strict=True):
                assert isinstance(result, StoreError if kind == "poison" else int)
            assert [r.data for r in store.read("s")] == ["fine"] * 24

    asyncio.run(work())


# who commits


async def who_commits(db: Path, write: Callable[[SqliteStore], Awaitable[object]]) -> list[bool]:
    """Of each append whether the event loop's own thread committed it."""
    mine, seen = threading.get_ident(), list[bool]()
    async with SqliteStore.open(
        db, after_append=lambda _: seen.append(threading.get_ident() == mine)
    ) as store:
        await write(store)
    return seen


async def one_by_one(store: SqliteStore) -> None:
    for n in range(10):
        await store.append("s", "k", n)


async def who_commits_beside_another_task(
    db: Path, write: Callable[[SqliteStore], Awaitable[object]]
) -> list[bool]:
    """The same in a loop where another task could be held up."""
    other = asyncio.create_task(asyncio.sleep(60))
    try:
        return await who_commits(db, write)
    finally:
        other.cancel()


def test_a_task_that_is_alone_commits_by_itself_on_a_slow_disk_too(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for each commit in any case, and handing it to the thread would only cost more."""
    monkeypatch.setattr(committer, "_QUICK", 0.0)

    others = writers()

    async def write(store: SqliteStore) -> None:
        await one_by_one(store)
        assert writers() == others
        other = asyncio.create_task(asyncio.sleep(60))
        await one_by_one(store)
        other.cancel()

    assert asyncio.run(who_commits(db, write)) == [True] * 10 + [False] * 10


def test_no_task_commits_before_what_the_thread_has_not_committed_yet(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has records in the order in which they were handed over, whoever commits them."""
    monkeypatch.setattr(committer, "_QUICK", math.inf)
    go = threading.Event()

    def linger(number: int) -> None:
        if number == 1:
            assert go.wait(60)

    async def until_handed_over(store: SqliteStore, jobs: int) -> None:
        while store._writer._waiting or store._writer._queued != jobs:
            await asyncio.sleep(0.001)

    async def work() -> list[object]:
        async with SqliteStore.open(db, after_append=linger) as store:
            soon = [store.append_soon("s", "k", 1)]
            await until_handed_over(store, 0)  # committed by the thread, which lingers
            soon.append(store.append_soon("s", "k", 2))
            await until_handed_over(store, 1)
            asyncio.get_running_loop().call_later(0.01, go.set)
            await store.append("s", "k", 3)
            await asyncio.gather(*soon)
            return [record.data for record in store.read("s")]

    assert asyncio.run(work()) == [1, 2, 3]


def writers() -> int:
    """How many threads there are that write."""
    return sum(thread.name == "transom-store" for thread in threading.enumerate())


def test_a_task_that_writes_alone_commits_by_itself_and_needs_no_thread(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "_QUICK", math.inf)

    async def write(store: SqliteStore) -> None:
        await one_by_one(store)
        assert writers() == before

    before = writers()
    assert all(asyncio.run(who_commits(db, write)))
    with raw(db) as other:
        assert other.execute("SELECT count(*) FROM records").fetchone()[0] == 10
    assert not db.with_name("state.db-wal").exists(), "it is closed for good"


def test_a_slow_disk_holds_up_the_loop_once(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committer, "_QUICK", 0.0)
    assert asyncio.run(who_commits_beside_another_task(db, one_by_one)) == [True] + [False] * 9


def test_a_disk_that_was_slow_is_trusted_again_once_it_has_shown_itself_quick(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(store: SqliteStore) -> None:
        monkeypatch.setattr(committer, "_QUICK", 0.0)
        await store.append("s", "k", 0)
        monkeypatch.setattr(committer, "_QUICK", math.inf)
        await one_by_one(store)

    assert (
        asyncio.run(who_commits_beside_another_task(db, write)) == [True] + [False] * 3 + [True] * 7
    )


def test_a_disk_that_turns_slow_holds_up_the_loop_once(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(store: SqliteStore) -> None:
        monkeypatch.setattr(committer, "_QUICK", math.inf)
        await one_by_one(store)
        monkeypatch.setattr(committer, "_QUICK", 0.0)
        await one_by_one(store)

    assert asyncio.run(who_commits_beside_another_task(db, write))[10:] == [True] + [False] * 9


def test_tasks_that_write_in_turn_share_the_commits_of_the_thread(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "_QUICK", math.inf)

    async def write(store: SqliteStore) -> None:
        await one_by_one(store)
        before = store.commits
        await asyncio.gather(*(one_by_one(store) for _ in range(30)))
        assert store.commits - before <= 150, "300 appends share commits"

    asyncio.run(who_commits(db, write))


def test_the_loop_goes_on_while_another_process_holds_the_lock(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "_QUICK", math.inf)

    async def write(store: SqliteStore) -> None:
        await one_by_one(store)
        with raw(db) as other:
            other.execute("BEGIN IMMEDIATE")
            store.append_soon("s", "k", "held")
            waiting = asyncio.create_task(one_by_one(store))
            for _ in range(50):
                # would last as long as the lock, which nobody frees meanwhile
                await asyncio.sleep(0.001)
            assert not waiting.done()
            other.execute("ROLLBACK")
            await waiting
        assert [record.data for record in store.read("s")] == [*range(10), "held", *range(10)]

    asyncio.run(who_commits(db, write))


def test_the_log_has_its_length_from_the_first_sync_on_and_is_gone_in_the_end(db: Path) -> None:
    log = db.with_name("state.db-wal")

    async def work() -> None:
        async with SqliteStore.open(db) as store:
            await store.append("s", "k", 0)
            length = log.stat().st_size
            for n in range(1, 40):
                await store.append("s", "k", n)
            assert log.stat().st_size == length > 1_000_000
            copy = db.with_name("copy.db")
            shutil.copy(db, copy)
            shutil.copy(log, db.with_name("copy.db-wal"))
            # as after a kill: what was synced is read out of the log
            async with SqliteStore.open(copy) as other:
                assert [record.data for record in other.read("s")] == [*range(40)]

    asyncio.run(work())
    assert not log.exists()


# failpoints


def test_after_append_comes_before_the_caller_goes_on_and_counts_appends_only(db: Path) -> None:
    events: list[str] = []

    def note(n: int) -> None:
        with raw(db) as other:
            committed = other.execute("SELECT count(*) FROM records").fetchone()[0]
        assert committed >= n, "called before the commit"
        events.append(f"after {n}")

    async def work() -> None:
        async with SqliteStore.open(db, after_append=note) as store:
            for n in (1, 2, 3):
                await store.put("t", "k", n)
                await store.append("s", "k", n)
                events.append(f"on {n}")

    asyncio.run(work())
    assert events == ["after 1", "on 1", "after 2", "on 2", "after 3", "on 3"]


def test_what_after_append_raises_reaches_the_caller_and_the_record_stands(db: Path) -> None:
    def stop(n: int) -> None:
        if n == 2:
            raise KeyError("failpoint")

    async def work() -> None:
        async with SqliteStore.open(db, after_append=stop) as store:
            await store.append("s", "k", 1)
            with pytest.raises(KeyError, match="failpoint"):
                await store.append("s", "k", 2)
            await store.append("s", "k", 3)
            assert [r.data for r in store.read("s")] == [1, 2, 3]

    asyncio.run(work())


def test_a_process_killed_in_after_append_has_kept_that_append(db: Path) -> None:
    script = (
        "import asyncio, os, signal\nfrom pathlib import Path\nfrom transom.store import"
        " SqliteStore\ndef die(n):\n    if n == 3: os.kill(os.getpid(), signal.SIGKILL)\nasync def"
        f" main():\n    async with SqliteStore.open(Path({str(db)!r}), after_append=die) as"
        " store:\n        for n in range(1, 9):\n            await store.append('s', 'k', n)\n    "
        "        print(n, flush=True)\nasyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-9, "1\n2\n")

    async def work() -> list[object]:
        async with SqliteStore.open(db) as store:
            return [r.data for r in store.read("s")]

    assert asyncio.run(work()) == [1, 2, 3]


# what goes wrong


def refused(path: Path) -> str:
    with pytest.raises(StoreError) as caught:
        SqliteStore.open(path)
    assert caught.value.place == str(path)
    assert caught.value.hint
    return caught.value.problem


def test_a_folder_under_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "the folder of the database cannot be made" in refused(tmp_path / "file" / "state.db")


def test_a_folder_for_a_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be opened" in refused(tmp_path)


def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"a checklist, not a database\n" * 100)
    assert "is not a database" in refused(path)
    assert path.read_bytes() == b"a checklist, not a database\n" * 100


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with raw(path) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    assert "belongs to another program" in refused(path)
    with raw(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]


def test_damage_is_reported_where_it_is_met(db: Path) -> None:
    async def write() -> None:
        async with SqliteStore.open(db) as store:
            for _ in range(50):
                await store.append("s", "k", "x" * 3000, sync=False)
            await store.put_blob(b"blob")

    async def read() -> None:
        async with SqliteStore.open(db) as store:
            with pytest.raises(StoreError, match=r"state\.db: the database is damaged"):
                store.read("s")

    asyncio.run(write())
    content = bytearray(db.read_bytes())
    content[4096 * 3 :] = b"\xa5" * (len(content) - 4096 * 3)
    db.write_bytes(content)
    asyncio.run(read())


@pytest.mark.parametrize(
    "damaged", [b"no zlib", zlib.compress(b"other bytes")], ids=["torn", "swapped"]
)
def test_a_damaged_blob_is_named(db: Path, damaged: bytes) -> None:
    async def work() -> None:
        async with SqliteStore.open(db) as store:
            sha = await store.put_blob(b"blob")
            with raw(db) as other:
                other.execute("UPDATE blobs SET zlib = ?", (damaged,))
            with pytest.raises(StoreError, match=f"the database is damaged: blob {sha}; "):
                store.get_blob(sha)

    asyncio.run(work())


def test_a_lock_that_stays_is_an_error_for_all_who_wait_and_then_the_store_goes_on(
    db: Path,
) -> None:
    async def work() -> None:
        async with SqliteStore.open(db, busy_seconds=0.1) as store:
            with raw(db) as other:
                other.execute("BEGIN IMMEDIATE")
                results = await asyncio.gather(
                    *(store.append("s", "k", n) for n in range(20)), return_exceptions=True
                )
                assert {type(result) for result in results} == {StoreError}
                assert "another process kept the database locked" in str(results[0])
                other.execute("ROLLBACK")
            await store.append("s", "k", "after")
            assert [r.data for r in store.read("s")] == ["after"]

    asyncio.run(work())


def test_opening_waits_for_a_lock_only_so_long(db: Path) -> None:
    db.parent.mkdir(parents=True)
    with raw(db) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another process kept the database locked"):
            SqliteStore.open(db, busy_seconds=0.1)


def test_the_errors_of_a_full_database_are_told_as_such(tmp_path: Path) -> None:
    with raw(tmp_path / "small.db") as full:
        full.execute("CREATE TABLE t (x)")
        full.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.Error) as caught:
            full.execute("INSERT INTO t VALUES (zeroblob(100000))")
    error = store_error(caught.value, tmp_path)
    assert "no space left" in error.problem
    assert error.__cause__ is caught.value


def in_mount_namespace(script: str, *arguments: str) -> str:
    """Run a shell script in which `mount` works without touching this machine; skips where that
    is not allowed.
    """
    unshare = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed: no mount namespace to try this in")
    probe = subprocess.run(
        [*unshare, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True
    )
    if probe.returncode:
        pytest.skip(f"this machine allows no mount in a namespace: {probe.stderr.strip()}")
    done = subprocess.run(
        [*unshare, "sh", "-ec", script, "sh", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


CHILD = (sys.executable, child.__file__, "transom.store:SqliteStore.open")


def test_a_full_disk_fails_the_write_and_the_store_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    script = (
        'mount -t tmpfs -o size=1m none "$1"; head -c 400000 /dev/zero >"$1/ballast"; shift; exec'
        ' "$@"'
    )
    output = in_mount_namespace(
        script, str(tmp_path), *CHILD, str(tmp_path / "state.db"), "fill", str(tmp_path / "ballast")
    )
    error, went_on = output.splitlines()
    assert error.startswith(f"{tmp_path}/state.db: no space left for the database")
    assert went_on == "went on"


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    script = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"'
    output = in_mount_namespace(
        script, str(tmp_path), *CHILD, str(tmp_path / "state.db"), "append", "a", "25"
    )
    assert output.startswith(f"{tmp_path}/state.db: the database cannot be opened or made")


def test_a_read_only_folder_with_a_database_is_refused(tmp_path: Path) -> None:
    asyncio.run(SqliteStore.open(tmp_path / "state.db").close())
    script = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"'
    output = in_mount_namespace(
        script, str(tmp_path), *CHILD, str(tmp_path / "state.db"), "append", "a", "25"
    )
    assert output.startswith(f"{tmp_path}/state.db: the workspace is read-only; ")


# formats


def version(path: Path) -> int:
    with raw(path) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_new_database_has_the_newest_format_and_is_in_wal_mode(db: Path) -> None:
    asyncio.run(SqliteStore.open(db).close())
    assert version(db) == FORMAT
    with raw(db) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    asyncio.run(SqliteStore.open(path).close())
    assert version(path) == FORMAT


def test_a_newer_database_is_refused_with_what_to_do(db: Path) -> None:
    asyncio.run(SqliteStore.open(db).close())
    with raw(db) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert (
        refused(db) == f"the database has format 99, this version of transom reads up to {FORMAT}"
    )
    assert version(db) == 99


@pytest.mark.slow
def test_many_processes_may_open_a_new_database_at_once(db: Path) -> None:
    command = [*CHILD, str(db), "append"]
    children = [
        subprocess.Popen([*command, str(n), "25"], stdout=subprocess.PIPE, text=True)
        for n in range(6)
    ]
    assert [c.communicate(timeout=300)[0] for c in children] == ["done\n"] * 6


def test_a_new_database_is_whole_when_it_appears(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(connect_for_writing(path, 1.0)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert [file.name for file in tmp_path.iterdir()] == ["state.db"]
    # As SQLite makes it, step by step, in a file that is there and empty.
    other = tmp_path / "other.db"
    other.touch()
    connect_for_writing(other, 1.0).close()
    assert _tables_of(path) == _tables_of(other)
    assert path.stat().st_mode == other.stat().st_mode


def _tables_of(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as connection:
        pragmas = ("journal_mode", "user_version", "page_size", "encoding", "auto_vacuum")
        values = [connection.execute(f"PRAGMA {name}").fetchone() for name in pragmas]
        return [*values, *connection.execute("SELECT type, name, sql FROM sqlite_master")]


def test_the_log_of_a_database_that_was_deleted_is_not_applied_to_a_new_one(tmp_path: Path) -> None:
    path, copy = tmp_path / "state.db", tmp_path / "log"

    async def write(number: int) -> None:
        async with SqliteStore.open(path) as store:
            await store.append("s", "k", number)
            copy.write_bytes(Path(f"{path}-wal").read_bytes())

    asyncio.run(write(1))
    path.unlink()
    copy.rename(f"{path}-wal")
    with SqliteStore.open(path)._reader as reader:
        assert reader.execute("SELECT count(*) FROM records").fetchone() == (0,)


def test_where_no_link_can_be_made_sqlite_makes_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "state.db"
    connect_for_writing(path, 1.0).close()
    assert [file.name for file in tmp_path.iterdir()] == ["state.db"]
    monkeypatch.undo()
    connect_for_writing(tmp_path / "other.db", 1.0).close()
    assert _tables_of(path) == _tables_of(tmp_path / "other.db")
