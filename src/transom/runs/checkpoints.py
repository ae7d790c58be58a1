"""Checkpoints: positions in the journal after which a stage was done, and what people are left to read of them.

    checkpoint_latest.json                       the newest
    hourly/YYYYMMDDHH/checkpoint_HHMMSS_n.json   each with what its attempt left, for as long as retention says
    stage_outputs/STAGE.json                     the newest of each stage
    error_logs/iteration_n.json                  what was wrong with attempt n, so that it was written again
    error_logs/stop_n.json                       each failure and pause

These files are written and never read: the journal alone decides. So none of them is synced.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from transom.canonical import Json, pretty_json
from transom.runs.artifact import HOW_TO_WRITE
from transom.runs.journal import RunState
from transom.store import Record

KEPT_HOURS = 24
HOURLY = "hourly"
FOR_PEOPLE = ("checkpoint_latest.json", HOURLY, "stage_outputs", "error_logs")
"""What lies in a run's folder beside its artifacts; unlike these it knows the time, so it differs from run to run."""
SUCCESSES = frozenset({"done", "READY", "PASS", "FAIL"})
"""How a run is closed that came to its end; a check whose answer is no did."""
_STOPS = ("failed", "paused")
LEAVES_FILES = frozenset({*_STOPS, "done", "closed"})


@dataclass(frozen=True)
class Checkpoint:
    """A position in the journal.

    Attributes:
        id: `YYYYMMDDHH_HHMMSS_n`, UTC; `n` counts from 1 in a run, and ids never go back with a clock that does.
        position: `seq` of the stage's `done` record.
        stage, attempt: what was done.
        at: ISO 8601, as the record has it.
    """

    id: str
    position: int
    stage: str
    attempt: int
    at: str

    @property
    def file(self) -> str:
        """Its file below the run's folder."""
        hour, rest = self.id.split("_", 1)
        return f"{HOURLY}/{hour}/checkpoint_{rest}.json"

    def to_json(self) -> dict[str, Json]:
        named: dict[str, Json] = {"checkpoint_id": self.id, "position": self.position, "stage": self.stage}
        return {**named, "attempt": self.attempt, "at": self.at}


@dataclass(frozen=True)
class Retention:
    """Which older attempts' files stay; the journal stays whatever it says.

    Attributes:
        policy: `hourly`: of each hour the newest, and none older than a day; `all`; `latest`: no older one.
        per_hour: the most that stay of one hour.
        on_success: a run that came to its end keeps no older ones.
    """

    policy: Literal["hourly", "all", "latest"] = "hourly"
    per_hour: int = 10
    on_success: bool = False


def checkpoints(records: Iterable[Record], before: Sequence[Checkpoint] = ()) -> list[Checkpoint]:
    """The checkpoints of a run's stream, oldest first; those before it are known."""
    found = [*before]
    for record in records:
        if record.kind == "done":
            data: Any = record.data
            stamp = f"{datetime.fromisoformat(record.at).astimezone(UTC):%Y%m%d%H_%H%M%S}"
            if found:
                stamp = max(stamp, found[-1].id.rpartition("_")[0])
            place = f"{stamp}_{len(found) + 1}"
            found.append(Checkpoint(place, record.seq, data["stage"], data["attempt"], record.at))
    return found


class CheckpointFiles:
    """The files of a run that are there for people alone; one that cannot be written stops nothing.

    Args:
        folder: of the run.
        retention: which of them stay.
        tell: is told of one that could not be written.
    """

    def __init__(
        self, folder: Path, retention: Retention | None = None, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.folder, self._tell = folder, tell
        self.retention = retention or Retention()
        self._points: list[Checkpoint] = []
        self._stops: list[int] = []

    def read(self, records: Sequence[Record]) -> None:
        """Know of what a journal holds."""
        self._points = checkpoints(records)
        self._stops = [record.seq for record in records if record.kind in _STOPS]

    def take(self, record: Record, state: RunState) -> None:
        """Leave what follows from a record."""
        data: Any = record.data
        if record.kind in _STOPS:
            self._stops += [] if record.seq in self._stops else [record.seq]
            told = {key: data[key] for key in ("stage", "attempt", "error", "reason") if key in data}
            self._write(f"error_logs/stop_{self._stops.index(record.seq) + 1}.json", told)
        elif record.kind == "done":
            if all(one.position != record.seq for one in self._points):
                self._points = checkpoints([record], self._points)
            point = next(one for one in self._points if one.position == record.seq)
            if file := state.stage(point.stage).file:
                self.put(point, self.folder / file, ",".join(by for by, _ in data["answered"]))
        elif self.retention.on_success and data["status"] in SUCCESSES:
            self._clear()

    def put(self, checkpoint: Checkpoint, path: Path, by: str) -> None:
        """Leave a checkpoint's files."""
        told = checkpoint.to_json() | {"by": by, "file": path.relative_to(self.folder).as_posix()}
        whole = told | {"output": _readable(path)}
        if self.retention.policy != "latest":
            self._write(checkpoint.file, whole)
        self._write(f"stage_outputs/{checkpoint.stage.replace('/', '_')}.json", whole)
        self._write("checkpoint_latest.json", told)
        self._tidy(datetime.fromisoformat(checkpoint.at))

    def put_iteration(self, number: int, told: Json) -> None:
        """Leave what was wrong with attempt `number` (from 1) of a loop."""
        self._write(f"error_logs/iteration_{number}.json", told)

    def keep(self, retention: Retention) -> None:
        """Another retention from now on, and of what is there."""
        self.retention = retention
        self._tidy(datetime.now(UTC))

    def _tidy(self, now: datetime) -> None:
        folder = self.folder / HOURLY
        if self.retention.policy == "all" or not folder.is_dir():
            return
        if self.retention.policy == "latest":
            self._clear()
            return
        oldest = f"{now.astimezone(UTC) - timedelta(hours=KEPT_HOURS):%Y%m%d%H}"
        for hour in [path for path in folder.iterdir() if path.name.isdigit()]:
            if hour.name < oldest:
                shutil.rmtree(hour, ignore_errors=True)
                continue
            files = sorted(hour.glob("checkpoint_*.json"), key=lambda path: int(path.stem.rpartition("_")[2]))
            for file in files[: max(0, len(files) - self.retention.per_hour)]:
                file.unlink(missing_ok=True)

    def _clear(self) -> None:
        shutil.rmtree(self.folder / HOURLY, ignore_errors=True)

    def _write(self, name: str, told: Json) -> None:
        path = self.folder / name
        half = path.with_name(f".{path.name}.half")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            half.write_bytes(pretty_json(told).encode("utf-8", "backslashreplace"))
            os.replace(half, path)  # noqa: PTH105  a reader sees the old one or the new one
        except OSError as error:
            with suppress(OSError):
                half.unlink()
            self._tell(f"{path}: cannot write: {error.strerror}; {HOW_TO_WRITE}")


def _readable(path: Path) -> Json:
    """A stage's file as JSON where it is, else as text."""
    text = path.read_bytes().decode("utf-8", "backslashreplace")
    if path.suffix != ".json":
        return text
    try:
        parsed: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return parsed
