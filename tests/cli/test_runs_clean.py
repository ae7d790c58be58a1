"""`transom runs clean`: by age and state, with an archive, and what must never go."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.checks import Desk
from tests.cli.helpers import walked
from tests.cli.many_runs import age_runs, multiply_runs
from tests.cli.test_runs import both_changed, opened, shown
from transom.cli import main
from transom.cli.cleaning import BlobReferences, blobs_in
from transom.runs import trace_id
from transom.runs.workspace import RunLock
from transom.store import SqliteStore


def cleaned(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, str | None]:
    """Run -> why it stayed, None where it went."""
    capsys.readouterr()
    rows: list[dict[str, Any]] = shown(capsys, "runs", "clean", *args)["runs"]
    return {row["run_id"]: row["kept"] for row in rows}


def test_old_collected_evidence_goes_and_young_stays(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walked(here)
    old, young = (here / ".transom" / "collected" / name for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "unit.xml").write_text("<testsuite/>", "utf-8")
    for path in (old, old / "unit.xml"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    rows = shown(capsys, "runs", "clean", "--dry-run")["collected"]
    assert [row["folder"] for row in rows] == ["old"]
    assert old.is_dir()
    assert [row["folder"] for row in shown(capsys, "runs", "clean")["collected"]] == ["old"]
    assert not old.exists()
    assert young.is_dir()


def test_old_runs_go_with_all_that_they_left(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, old = walked(here)
    young = asyncio.run(opened(here, {"other": 1}))
    lock = RunLock(here / ".transom" / "locks", young, "x")
    age_runs(here, 8, old)
    folder = here / ".transom" / "runs" / "x" / old
    trace = here / ".transom" / "traces" / f"{trace_id(old)}.jsonl"
    assert cleaned(capsys, "--dry-run") == {old: None, young: "it is running"}
    assert folder.is_dir()
    assert trace.is_file()
    assert cleaned(capsys, "--older-than", "9d") == {
        old: "it is younger",
        young: "it is running",
    }
    assert cleaned(capsys) == {old: None, young: "it is running"}
    assert not folder.exists()
    assert not trace.exists()
    assert [one["run_id"] for one in shown(capsys, "runs", "list")["runs"]] == [young]
    with sqlite3.connect(here / ".transom" / "state.db") as connection:
        assert connection.execute("SELECT count(*) FROM blobs").fetchone() == (0,)
    assert main(["runs", "clean", "--older-than", "1m"]) == 0
    assert (
        capsys.readouterr().out
        == f"stays  {young}  x  it is running\n0 runs, 0 bytes were removed\n"
    )
    lock.release()


def test_an_archive_holds_files_journal_and_windows(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk, run = walked(here)
    age_runs(here, 30)
    before = desk.file("one.md").read_bytes()
    (row,) = shown(capsys, "runs", "clean", "--archive")["runs"]
    with tarfile.open(row["archive"]) as archive:
        names = archive.getnames()
        file = archive.extractfile(f"{run}/one/one.md")
        journal = archive.extractfile(f"{run}/journal.jsonl")
        assert file is not None
        assert journal is not None
        assert file.read() == before
        kinds = [json.loads(line)["kind"] for line in journal.read().splitlines()]
    assert kinds[0] == "opened"
    assert kinds.count("model_reply") == 2
    assert sum("/blobs/" in name for name in names) == 6
    assert f"{run}/trace.jsonl" in names


def test_by_state(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = both_changed(here)
    age_runs(here, 30)
    why = "it waits for a person; name an age with --older-than"
    assert cleaned(capsys) == {run: why}
    assert cleaned(capsys, "--older-than", "60d") == {run: "it is younger"}
    assert cleaned(capsys, "--older-than", "2w", "--dry-run") == {run: None}


def test_windows_that_another_run_has_stay(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    other = asyncio.run(opened(here, {"other": 1}))

    async def copy() -> None:
        async with SqliteStore.open(here / ".transom" / "state.db") as store:
            for record in store.read(f"run/{run}"):
                if record.kind in ("user_message", "model_reply"):
                    await store.append(f"run/{other}", record.kind, record.data)

    asyncio.run(copy())
    age_runs(here, 30, run)
    assert cleaned(capsys)[run] is None
    assert len(shown(capsys, "window", "show", other)["calls"]) == 2


def test_a_run_that_is_open_elsewhere_stays(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    age_runs(here, 30)
    lock = RunLock(here / ".transom" / "locks", run, "x")
    try:
        assert "open" in str(cleaned(capsys)[run])
    finally:
        lock.release()
    assert cleaned(capsys) == {run: None}


def test_a_window_that_another_process_just_used_stays(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, old = walked(here)
    asyncio.run(multiply_runs(here, 2))

    async def remove_all() -> tuple[set[str], set[str], set[str]]:
        async with SqliteStore.open(here / ".transom" / "state.db") as store:
            runs = sorted(stream.removeprefix("run/") for stream in store.streams("run/"))
            references = BlobReferences(store, runs)
            shared = references.only_of(runs[0])
            blobs = set(blobs_in(store.read(f"run/{runs[0]}")))
            await store.forget(f"run/{runs[0]}", shared)
            references.forget(runs[0], blobs)
            alone = references.only_of(runs[1])
            (call, *_) = [
                one for one in store.read(f"run/{old}-00001") if one.kind == "model_reply"
            ]
            await store.append("run/new", call.kind, call.data)
            return shared, alone, references.only_of(runs[1])

    shared, alone, later = asyncio.run(remove_all())
    assert shared == set()
    assert alone
    assert later < alone, "the new run uses some of them"


def test_the_database_shrinks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walked(here)
    asyncio.run(multiply_runs(here, 30))
    age_runs(here, 30)
    database = here / ".transom" / "state.db"
    before = database.stat().st_size
    document = shown(capsys, "runs", "clean")
    assert document["database"]["bytes_before"] >= before
    assert document["database"]["bytes_after"] == database.stat().st_size < before / 4
    assert not list((here / ".transom" / "locks").iterdir())


@pytest.mark.slow
def test_runs_are_removed_also_if_the_database_cannot_shrink(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walked(here)
    asyncio.run(multiply_runs(here, 10))
    age_runs(here, 30)
    with sqlite3.connect(here / ".transom" / "state.db") as reader:
        # An open cursor keeps the old pages in use.
        cursor = reader.execute("SELECT seq FROM records")
        cursor.fetchone()
        assert main(["runs", "clean"]) == 0
        output = capsys.readouterr().out
        assert "10 runs, " in output
        assert "shrank" not in output
        cursor.close()
    assert shown(capsys, "runs", "list")["runs"] == []


@pytest.mark.slow
def test_ten_thousand_runs_are_removed_in_a_minute(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walked(here)
    asyncio.run(multiply_runs(here, 10_000))
    age_runs(here, 30)
    database = here / ".transom" / "state.db"
    size = database.stat().st_size
    before = resource.getrusage(resource.RUSAGE_SELF)
    assert main(["runs", "clean"]) == 0
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert "10000 runs, " in capsys.readouterr().out
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seconds <= 60
    assert database.stat().st_size < size / 100


@pytest.mark.slow
def test_an_approved_checker_and_a_running_run_stay(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk.at(here, capfd)
    desk.check("all", "VER-01.yaml", "-q")
    run = desk.run_of("VER-01")
    assert desk("check", "approve", str(run / "build" / "checker"), "--by", "ann", "-q").code == 0
    age_runs(here, 30)
    rows = desk("runs", "clean", "--format", "json").document["runs"]
    assert [row["kept"] for row in rows] == ["somebody approved its checker"]
    (run / "build" / "checker" / "approval.json").unlink()
    kept = desk("runs", "clean", "--keep-successful", "--format", "json").document["runs"]
    assert [row["kept"] for row in kept] == ["it came to its end"]
    assert desk("runs", "clean").code == 0
    assert (
        "is gone; build one with: transom check all"
        in desk.check("run", "VER-01.yaml", "-q").line()
    )
    assert desk.check("all", "VER-01.yaml", "-q").code == 0, "made again from the start"


def test_what_is_no_age(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("7", "d7", "-1d", "7y", "1.5d"):
        assert main(["runs", "clean", f"--older-than={text}"]) == 2
        assert (
            f"--older-than: '{text}' is no age; write 30m, 12h, 7d or 2w" in capsys.readouterr().err
        )
    assert main(["runs", "clean"]) == 0
    assert list(here.iterdir()) == []
