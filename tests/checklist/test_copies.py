"""Copies of a run's files: what a person changed there goes back into the run, and nothing of
theirs is overwritten.
"""

from __future__ import annotations

from pathlib import Path

from transom.checklist.copies import adopt, export, retract
from transom.store import SqliteStore


async def test_copies_edits_and_twins(tmp_path: Path) -> None:
    target, artifact = tmp_path / "out" / "a.md", tmp_path / "a.md"
    said: list[str] = []
    async with SqliteStore.open(tmp_path / "s.db") as store:
        artifact.write_text("ours")
        await export(store, target, b"ours", artifact=artifact)
        assert not adopt(store, target, artifact)
        target.write_text("mine")
        retract(store, target)
        assert target.exists(), "a person's version is not ours to remove"
        assert adopt(store, target, artifact)
        assert artifact.read_text() == "mine"

        await export(store, target, b"mine", artifact=artifact)
        target.write_text("copy edited")
        artifact.write_text("run edited")
        assert adopt(store, target, artifact)
        assert (tmp_path / "a.md.kept-1").read_text() == "run edited"

        target.write_text("edited once more")
        await export(store, target, b"new", artifact=artifact, progress=said.append)
        assert said == ["a.md was changed by hand; that version is kept as a.md.kept-1"]
        foreign = tmp_path / "out" / "b.md"
        foreign.write_text("hers")
        await export(store, foreign, b"ours", progress=said.append)
        assert "not ours" in said[1]
        assert foreign.with_name("b.md.kept-1").read_text() == "hers"
        retract(store, foreign)
        assert not foreign.exists()
