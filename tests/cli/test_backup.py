"""`transom backup` and `transom restore`: the archive has all of a workspace, and says if it was
altered.
"""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.checks import Desk

SPEC = ("check", "spec", "VER-01.yaml", "-q")


@pytest.fixture
def archive(desk: Desk) -> Path:
    """The backup of a workspace with one run."""
    assert desk(*SPEC).code == 0
    desk("playbook", "add", "Look at the corner first", "--tag", "timing")
    answer = desk("backup", "all.tar.gz", "--format", "json")
    assert answer.code == 0, answer.err
    assert answer.document["files"] > 5
    return desk.here / "all.tar.gz"


def test_a_restored_workspace_is_the_one_that_was_packed(desk: Desk, archive: Path) -> None:
    answer = desk("restore", archive.name, "--workspace", "again")
    assert answer.code == 0, answer.err
    assert "all digests are equal" in answer.out
    old = desk.here / ".transom"
    for path in sorted((old / "runs").rglob("*")) + sorted((old / "traces").rglob("*")):
        copy = desk.here / "again" / path.relative_to(old)
        assert path.is_dir() or copy.read_bytes() == path.read_bytes()
    for command in (("runs", "list"), ("playbook", "list")):
        here = desk(*command, "--format", "json").document
        there = desk(*command, "--format", "json", "--workspace", "again").document
        assert here == there
    assert desk("doctor", "--deep", "--workspace", "again", "-q").code == 0
    before = len(desk.records("model_reply"))
    assert desk(*SPEC, "--workspace", "again").code == 0
    with sqlite3.connect(desk.here / "again" / "state.db") as connection:
        query = "SELECT count(*) FROM records WHERE kind = 'model_reply'"
        assert connection.execute(query).fetchone() == (before,), "nothing is asked again"


def test_an_existing_workspace_or_archive_is_never_overwritten(desk: Desk, archive: Path) -> None:
    assert "there is a workspace already" in desk("restore", archive.name).line()
    data = archive.read_bytes()
    assert "the file exists" in desk("backup", archive.name).line()
    assert archive.read_bytes() == data
    assert [path.name for path in desk.here.glob(".all*")] == [], "no half archive is left"


def repacked(change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> Callable[[Path], None]:
    """Return a function that packs an archive anew, with other files."""

    def alter(archive: Path) -> None:
        with tarfile.open(archive) as packed:
            files = [(m.name, packed.extractfile(m).read()) for m in packed]  # type: ignore[union-attr]  # files only
        with tarfile.open(archive, "w:gz") as packed:
            for name, data in [new for file in files for new in change(*file)]:
                member = tarfile.TarInfo(name)
                member.size = len(data)
                packed.addfile(member, io.BytesIO(data))

    return alter


def cut_off(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-2_000])


def flipped(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 0x10
    archive.write_bytes(data)


def is_spec(name: str) -> bool:
    return name.endswith("ItemSpec.md")


@pytest.mark.parametrize(
    "alter",
    [
        cut_off,
        flipped,
        repacked(lambda name, data: [(name, data + b"x" if is_spec(name) else data)]),
        repacked(lambda name, data: [] if is_spec(name) else [(name, data)]),
        repacked(lambda name, data: [] if name == "backup.json" else [(name, data)]),
        repacked(lambda name, data: [(name, data), *([("new.txt", b"")] if is_spec(name) else [])]),
        repacked(lambda name, data: [(f"../{name}" if is_spec(name) else name, data)]),
        repacked(lambda name, data: [("/tmp/x" if is_spec(name) else name, data)]),
    ],
)
def test_an_altered_archive_is_refused(
    desk: Desk, archive: Path, alter: Callable[[Path], None]
) -> None:
    alter(archive)
    answer = desk("restore", archive.name, "--workspace", "again")
    assert answer.code == 2, answer.out
    assert "restore from another backup" in answer.err
    assert not (desk.here / "again").exists()
    assert [path.name for path in desk.here.glob(".transom-*")] == []


def test_a_database_that_was_altered_before_it_was_packed_is_refused(desk: Desk) -> None:
    assert desk(*SPEC).code == 0
    with sqlite3.connect(desk.here / ".transom" / "state.db") as connection:
        connection.execute("DELETE FROM records WHERE seq = 3")
    assert desk("doctor", "-q").code == 0
    assert desk("doctor", "--deep", "-q").code == 1
    assert desk("backup", "all.tar.gz").code == 0
    answer = desk("restore", "all.tar.gz", "--workspace", "again")
    assert "its database is damaged" in answer.line()


def test_a_backup_of_a_folder_without_a_workspace_is_an_error(desk: Desk) -> None:
    assert "no database to copy" in desk("backup", "all.tar.gz").line()
    assert "there is no such file" in desk("restore", "all.tar.gz", "--workspace", "new").line()


def test_the_document_says_what_the_archive_has(desk: Desk, archive: Path) -> None:
    with tarfile.open(archive) as packed:
        *_, last = packed
        manifest = json.load(packed.extractfile(last))  # type: ignore[arg-type]  # it is a file
    assert (last.name, manifest["schema"]) == ("backup.json", "transom.backup/1")
    assert "state.db" in manifest["files"]
    assert not [name for name in manifest["files"] if name.startswith("locks")]
