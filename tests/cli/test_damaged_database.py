"""A damaged database: one line says what is damaged and what to do, and `doctor` lists it all."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.test_read_only import filled
from transom.cli import main

Capture = pytest.CaptureFixture[str]

SECRET_ROW = "the source text"
LOOKING = ("runs list", "runs show RUN", "waiting", "window show RUN", "playbook list")
EVERY_KIND = (*LOOKING, "memory search gateway", "playbook add str another", "memory add text")


@pytest.fixture
def run(here: Path) -> str:
    """A workspace with a run, an insight and a memory, none of it in the log; the run's id."""
    run = asyncio.run(filled(here))
    with closing(sqlite3.connect(here / ".transom" / "state.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return run


def database(here: Path) -> Path:
    return here / ".transom" / "state.db"


def replace(old: bytes, new: bytes) -> Callable[[Path], None]:
    def alter(path: Path) -> None:
        data = path.read_bytes()
        assert len(old) == len(new) and old in data
        path.write_bytes(data.replace(old, new))

    return alter


def execute(statement: str) -> Callable[[Path], None]:
    def alter(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(statement)

    return alter


def overwrite_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(data)


def overwrite_header(path: Path) -> None:
    path.write_bytes(b"\xa5" * 100 + path.read_bytes()[100:])


DAMAGE = {
    "a text is another": (replace(b"the source text", b"the forged text"), "runs show RUN"),
    "a text is not UTF-8": (replace(b"the source text", b"the \xff\xfeurce text"), "runs show RUN"),
    "a text is not JSON": (replace(b'"attempt":1', b'"attempt";1'), "runs show RUN"),
    "a run's row": (execute("UPDATE documents SET value = '{}' WHERE name = 'runs'"), "waiting"),
    "a run's summary": (execute("UPDATE summaries SET status = 'PASS'"), "runs list"),
    "a value of another type": (execute("UPDATE records SET at = x'00ff'"), "runs show RUN"),
    "a table is gone": (execute("DELETE FROM sqlite_master WHERE name = 'records'"), "runs list"),
    "an insight's tags": (execute("UPDATE insights SET tags = '['"), "playbook list"),
    "an insight's kind": (execute("UPDATE insights SET category = 'x'"), "playbook list"),
    "an insight's score": (execute("UPDATE insights SET helpful = 'ten'"), "playbook list"),
    "an insight's text": (
        replace(b"Refine meshes at", b"Refine\xff\xfeeshes at"),
        "playbook list",
    ),
    "a memory's metadata": (execute("UPDATE memories SET metadata = '{'"), "memory search gateway"),
    "all pages": (overwrite_pages, "runs list"),
    "the header": (overwrite_header, "playbook list"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_command_that_meets_damage_says_it_in_one_line(
    name: str, run: str, here: Path, capsys: Capture
) -> None:
    alter, line = DAMAGE[name]
    alter(database(here))
    assert main(line.replace("RUN", run).split()) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert f"{database(here)}: " in error or "memory" in error
    assert "damaged" in error or "not a database" in error
    assert "source text" not in error and "\ufffd" not in error and "eshes" not in error
    assert "defect" not in error and not [*here.glob(".transom/logs/*")]

    assert main(["doctor", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)["database"]
    assert report["damage"] and "copy the file" in report["advice"]


def test_doctor_finds_no_damage_in_a_sound_database(run: str, here: Path, capsys: Capture) -> None:
    assert main(["doctor", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)["database"]
    assert report == {"bytes": database(here).stat().st_size, "damage": []}


def test_a_defect_in_a_sound_workspace_is_still_called_a_defect(
    run: str, here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.cli.runs._row_of", lambda view: 1 // 0)
    assert main(["runs", "list"]) == 2
    assert "this is a defect of transom" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_overwritten_no_command_fails_with_a_traceback(
    seed: int, run: str, here: Path, capsys: Capture
) -> None:
    chance = random.Random(seed)
    data = bytearray(database(here).read_bytes())
    for _ in range(4):
        start, size = chance.randrange(100, len(data) - 100), chance.randrange(1, 100)
        data[start : start + size] = chance.randbytes(size)
    database(here).write_bytes(data)
    for line in EVERY_KIND:
        code = main(line.replace("RUN", run).split())
        error = capsys.readouterr().err
        assert code in (0, 2), (line, error)
        assert "defect" not in error and "Traceback" not in error, (line, error)
        assert error.count("\n") == (code == 2), (line, error)
