"""Checkpoints are positions in the journal; which older attempts' files stay, and that nobody
reads them.
"""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.runs.helpers import Desk, desk
from transom.config.runtime_sections import Cache
from transom.errors import ProviderError
from transom.llm import ScriptedProvider
from transom.runs import Run, Workspace, checkpoints
from transom.runs.checkpoints import CheckpointFiles
from transom.store import Record, SqliteStore

HOUR = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)


def done(seq: int, at: datetime, stage: str = "one", attempt: int = 1) -> Record:
    return Record(
        seq,
        "run/x",
        "done",
        {"stage": stage, "attempt": attempt},
        at.isoformat().replace("+00:00", "Z"),
    )


def shelved(folder: Path, times: list[datetime], settings: Cache) -> list[str]:
    """Leave one checkpoint after the other; returns the files that stay."""
    files = CheckpointFiles(folder, print)
    files.settings = settings
    (folder / "one").mkdir(parents=True)
    for checkpoint in checkpoints([done(n, at) for n, at in enumerate(times, 1)]):
        (folder / "one" / "one.md").write_text(f"attempt {checkpoint.id}")
        files.put(checkpoint, folder / "one" / "one.md", "rules")
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("hourly/*/*"))


def test_ids_count_and_never_go_back() -> None:
    times = [HOUR, HOUR, HOUR - timedelta(hours=2), HOUR + timedelta(seconds=1, hours=3)]
    records = [done(n, at) for n, at in enumerate(times, 5)]
    other = Record(9, "run/x", "started", {"stage": "one", "attempt": 1}, "2026-11-21T09:00:00Z")
    found = checkpoints([other, *records])
    assert [one.id for one in found] == [
        "2026112109_090000_1",
        "2026112109_090000_2",
        "2026112109_090000_3",
        "2026112112_120001_4",
    ]
    assert [one.position for one in found] == [5, 6, 7, 8]


def test_the_eleventh_of_an_hour_displaces_the_first(tmp_path: Path) -> None:
    times = [HOUR + timedelta(minutes=n) for n in range(11)] + [HOUR + timedelta(hours=1)]
    stay = shelved(tmp_path, times, Cache())
    first_hour = [name for name in stay if "/2026112109/" in name]
    assert len(first_hour) == 10
    assert "hourly/2026112109/checkpoint_090000_1.json" not in stay
    assert "hourly/2026112109/checkpoint_091000_11.json" in stay
    assert "hourly/2026112110/checkpoint_100000_12.json" in stay
    latest = json.loads((tmp_path / "checkpoint_latest.json").read_text())
    assert (latest["checkpoint_id"], latest["file"]) == ("2026112110_100000_12", "one/one.md")


def test_an_attempt_of_25_hours_ago_goes_one_of_23_stays(tmp_path: Path) -> None:
    times = [HOUR - timedelta(hours=25), HOUR - timedelta(hours=23), HOUR]
    assert shelved(tmp_path, times, Cache()) == [
        "hourly/2026112010/checkpoint_100000_2.json",
        "hourly/2026112109/checkpoint_090000_3.json",
    ]
    assert (
        len(
            shelved(
                tmp_path / "all", times, Cache(retention_policy="all", max_checkpoints_per_hour=1)
            )
        )
        == 3
    )
    assert shelved(tmp_path / "latest", times, Cache(retention_policy="latest")) == []
    assert shelved(tmp_path / "none", times, Cache(max_checkpoints_per_hour=0)) == []
    kept = json.loads((tmp_path / "hourly/2026112010/checkpoint_100000_2.json").read_text())
    assert kept["output"] == "attempt 2026112010_100000_2", "the older attempt's own file"


async def _records(at: Desk) -> list[Record]:
    workspace = Workspace.at(at.root / ".transom")
    async with SqliteStore.open(workspace.database) as store:
        (stream,) = store.streams("run/")
        return store.read(stream)


def files(folder: Path) -> dict[str, Any]:
    """The files that are there for people alone."""
    patterns = ("checkpoint_latest.json", "hourly/*/*", "stage_outputs/*", "error_logs/*")
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    return {path.relative_to(folder).as_posix(): json.loads(path.read_text()) for path in found}


async def test_a_walk_leaves_them_and_none_is_read(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    at.provider = ScriptedProvider({"test.first": [ProviderError("down")]})
    with pytest.raises(ProviderError):
        await at.walk()
    at.provider = provider
    await at.walk()
    folder = at.file("one.md").parents[1]
    left = files(folder)
    points = checkpoints(await _records(at))
    assert [one.stage for one in points] == ["one", "two", "both"]
    assert set(left) == {
        "checkpoint_latest.json",
        *(f"stage_outputs/{name}.json" for name in ("one", "two", "both")),
        *(one.file for one in points),
    }
    assert left["checkpoint_latest.json"]["checkpoint_id"] == points[-1].id
    assert left["stage_outputs/two.json"]["output"] == "<<s>>"
    assert re.fullmatch(r"\d{10}_\d{6}_2", left["stage_outputs/two.json"]["checkpoint_id"])
    for name in left:
        (folder / name).write_text("edited")
    assert (await at.walk())[2].value == "<s>+<<s>>"
    for name in ("hourly", "stage_outputs"):
        shutil.rmtree(folder / name)
    (folder / "stage_outputs").write_text("in the way")
    at.file("two.md").unlink()
    assert (await at.walk())[2].value == "<s>+<<s>>", "one that cannot be written stops nothing"
    assert any("stage_outputs" in line and "cannot write" in line for line in at.lines)


class Tidy(Desk):
    """A desk that keeps less."""

    settings = Cache(cleanup_on_success=True)
    ends = "done"

    async def stages(self, run: Run, source: str) -> Any:
        run.files.keep(self.settings)
        one, two, both = await super().stages(run, source)
        await run.finish(self.ends)
        return one, two, both


async def test_success_cleans_up_and_the_journal_stays(tmp_path: Path) -> None:
    at = Tidy(tmp_path, desk(tmp_path)[1])
    await at.walk()
    folder = at.file("one.md").parents[1]
    assert [name for name in files(folder) if name.startswith("hourly")] == []
    assert "stage_outputs/both.json" in files(folder)
    assert len(checkpoints(await _records(at))) == 3


@pytest.mark.parametrize(
    "status", ["NEEDS_REVIEW", "needs_review", "NEEDS_MODEL", "ERROR", "human_required"]
)
async def test_what_is_not_over_keeps_its_attempts(status: str, tmp_path: Path) -> None:
    class Unfinished(Tidy):
        async def stages(self, run: Run, source: str) -> Any:
            run.files.keep(self.settings)
            return await Desk.stages(self, _Ending(run, status), source)  # type: ignore[arg-type]  # stands in for the Run

    at = Unfinished(tmp_path, desk(tmp_path)[1])
    await at.walk()
    assert [name for name in files(at.file("one.md").parents[1]) if name.startswith("hourly")]


class _Ending:
    """A run that is closed with another status."""

    def __init__(self, run: Run, status: str) -> None:
        self.stage = run.stage
        self._run, self._status = run, status

    async def finish(self, _: str) -> None:
        await self._run.finish(self._status)
