"""Checkpoints: positions in the journal after which a stage was done, and what people are left to
read of them.

    checkpoint_latest.json                       the newest
    hourly/YYYYMMDDHH/checkpoint_HHMMSS_n.json   each with what its attempt left, for as long as the
                                                 settings say
    stage_outputs/STAGE.json                     the newest of each stage
    error_logs/iteration_n.json                  what was wrong with attempt n, so that it was
                                                 written again

No run reads these files: the journal alone decides. So none of them is synced.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from transom.canonical import Json, pretty_json
from transom.config.runtime_sections import Cache
from transom.runs.artifact import HOW_TO_WRITE
from transom.runs.journal import RunState
from transom.store import Record

_HOURLY = "hourly"
SUCCESSES = frozenset({"done", "READY", "PASS", "FAIL"})
"""How a run is closed that came to its end; a check whose answer is no did."""
LEAVES_FILES = frozenset({"done", "closed"})


@dataclass(frozen=True)
class Checkpoint:
    """A position in the journal.

    Attributes:
        id: `YYYYMMDDHH_HHMMSS_n`, UTC; `n` counts from 1 in a run, and ids never go back with a
            clock that does.
        position: `seq` of the stage's `done` record.
        at: ISO 8601, as the record has it.
    """

    id: str
    position: int
    stage: str
    attempt: int
    at: str

    @property
    def hour(self) -> str:
        """Its hour, `YYYYMMDDHH`."""
        return self.id.partition("_")[0]

    @property
    def file(self) -> str:
        """Its file below the run's folder."""
        _, _, time = self.id.partition("_")
        return f"{_HOURLY}/{self.hour}/checkpoint_{time}.json"

    def to_json(self) -> dict[str, Json]:
        fields: dict[str, Json] = {
            "checkpoint_id": self.id,
            "position": self.position,
            "stage": self.stage,
        }
        return {**fields, "attempt": self.attempt, "at": self.at}


def checkpoints(records: Iterable[Record], before: Sequence[Checkpoint] = ()) -> list[Checkpoint]:
    """Return the checkpoints of a run's stream, oldest first; `before` holds those of earlier
    records.
    """
    points = [*before]
    for record in records:
        if record.kind == "done":
            data: Any = record.data
            stamp = f"{datetime.fromisoformat(record.at).astimezone(UTC):%Y%m%d%H_%H%M%S}"
            # A clock that goes back must not make an id that sorts before an earlier one.
            if points:
                stamp = max(stamp, points[-1].id.rpartition("_")[0])
            place = f"{stamp}_{len(points) + 1}"
            points.append(Checkpoint(place, record.seq, data["stage"], data["attempt"], record.at))
    return points


class CheckpointFiles:
    """The files of a run for people alone, as far as `settings` keep them; one that cannot be
    written stops nothing.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self.folder = folder
        self.tell = tell
        self.settings = Cache()
        self._points: list[Checkpoint] = []
        self._counts: Counter[str] = Counter()  # of each hour's checkpoints

    def read(self, records: Sequence[Record]) -> None:
        """Know of what a journal holds."""
        self._points = checkpoints(records)
        self._counts = Counter(point.hour for point in self._points)

    def take(self, record: Record, state: RunState) -> None:
        """Leave what follows from a record."""
        data: Any = record.data
        if record.kind == "closed":
            if self.settings.cleanup_on_success and data["status"] in SUCCESSES:
                shutil.rmtree(self.folder / _HOURLY, ignore_errors=True)
            return
        self._points = checkpoints(
            [record], [point for point in self._points if point.position < record.seq]
        )
        point = self._points[-1]
        if file := state.stage(point.stage).file:
            self.put(
                point, self.folder / file, ",".join(provider for provider, _ in data["answered"])
            )

    def put(self, checkpoint: Checkpoint, path: Path, providers: str) -> None:
        """Leave a checkpoint's files."""
        fields = checkpoint.to_json() | {
            "by": providers,
            "file": path.relative_to(self.folder).as_posix(),
        }
        fields_with_output = fields | {"output": _readable(path)}
        if self.settings.retention_policy != "latest":
            self._write(checkpoint.file, fields_with_output)
        self._write(_output_file(checkpoint.stage), fields_with_output)
        self._write("checkpoint_latest.json", fields)
        # Only these make files too many, or too old. Looking costs as much as writing.
        self._counts[checkpoint.hour] += 1
        count = self._counts[checkpoint.hour]
        if count == 1 or count > self.settings.max_checkpoints_per_hour:
            self._tidy(datetime.fromisoformat(checkpoint.at))

    def put_iteration(self, number: int, findings: Json) -> None:
        """Leave what was wrong with attempt `number` (from 1) of a loop."""
        self._write(f"error_logs/iteration_{number}.json", findings)

    def keep(self, settings: Cache) -> None:
        """Other settings from now on, and for what is there."""
        self.settings = settings
        self._tidy(datetime.now(UTC))

    def _tidy(self, now: datetime) -> None:
        policy, limit = self.settings.retention_policy, self.settings.max_checkpoints_per_hour
        # Hours are the names of folders, so comparing texts compares times.
        oldest = f"{now.astimezone(UTC) - timedelta(days=1):%Y%m%d%H}"
        for hour in [] if policy == "all" else [*(self.folder / _HOURLY).glob("[0-9]*")]:
            if policy == "latest" or hour.name < oldest:
                shutil.rmtree(hour, ignore_errors=True)
                continue
            files = sorted(
                hour.glob("checkpoint_*.json"), key=lambda path: int(path.stem.rpartition("_")[2])
            )
            for file in files[: max(0, len(files) - limit)]:
                file.unlink(missing_ok=True)

    def _write(self, name: str, content: Json) -> None:
        path = self.folder / name
        # Written beside and renamed, so that a reader never sees half a file.
        half = path.with_name(f".{path.name}.half")
        try:
            data = pretty_json(content).encode("utf-8", "backslashreplace")
            try:
                half.write_bytes(data)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                half.write_bytes(data)
            os.replace(half, path)  # noqa: PTH105  a reader sees the old one or the new one
        except OSError as error:
            with suppress(OSError):
                half.unlink()
            self.tell(f"{path}: cannot write: {error.strerror}; {HOW_TO_WRITE}")


def stage_output(folder: Path, stage: str) -> Json:
    """Return what a stage of a run wrote last; None if the file for people is not there."""
    with suppress(OSError, ValueError, KeyError, RecursionError):
        output: Json = json.loads((folder / _output_file(stage)).read_bytes())["output"]
        return output
    return None


def _output_file(stage: str) -> str:
    return f"stage_outputs/{stage.replace('/', '_')}.json"


def _readable(path: Path) -> Json:
    """Return the content of a stage's file: JSON if it is JSON, else text."""
    text = path.read_bytes().decode("utf-8", "backslashreplace")
    if path.suffix == ".json":
        with suppress(ValueError, RecursionError):
            parsed: Json = json.loads(text)
            return parsed
    return text
