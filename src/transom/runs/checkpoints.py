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
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from transom.canonical import Json, pretty_json
from transom.errors import InputError
from transom.store import Record

KEPT_HOURS = 24
HOURLY = "hourly"
FOR_PEOPLE = ("checkpoint_latest.json", HOURLY, "stage_outputs", "error_logs")
"""What lies in a run's folder beside its artifacts; unlike these it knows the time, so it differs from run to run."""


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
    def hour(self) -> str:
        return self.id.split("_")[0]

    @property
    def file(self) -> str:
        """Its file below the run's folder."""
        hour, rest = self.id.split("_", 1)
        return f"{HOURLY}/{hour}/checkpoint_{rest}.json"

    def to_json(self) -> dict[str, Json]:
        return {
            "checkpoint_id": self.id,
            "position": self.position,
            "stage": self.stage,
            "attempt": self.attempt,
            "at": self.at,
        }


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


def checkpoints(records: Iterable[Record]) -> list[Checkpoint]:
    """The checkpoints of a run's stream, oldest first."""
    found: list[Checkpoint] = []
    for record in records:
        if record.kind == "done":
            found.append(following(found, record))
    return found


def following(before: list[Checkpoint], record: Record) -> Checkpoint:
    """The checkpoint of a `done` record after those before it."""
    data: Any = record.data
    stamp = f"{datetime.fromisoformat(record.at).astimezone(UTC):%Y%m%d%H_%H%M%S}"
    if before:
        stamp = max(stamp, before[-1].id.rpartition("_")[0])
    return Checkpoint(f"{stamp}_{len(before) + 1}", record.seq, data["stage"], data["attempt"], record.at)


class CheckpointFiles:
    """The files of a run that are there for people alone."""

    def __init__(self, folder: Path, retention: Retention | None = None) -> None:
        self.folder = folder
        self.retention = retention or Retention()

    def put(self, checkpoint: Checkpoint, path: Path, by: str) -> None:
        """Leave a checkpoint's files.

        Args:
            path: what its stage left.
            by: who answered in the stage.

        Raises:
            InputError: they cannot be written.
        """
        told = checkpoint.to_json() | {"by": by, "file": path.relative_to(self.folder).as_posix()}
        text = pretty_json(told | {"output": _readable(path)})
        if self.retention.policy != "latest":
            self._write(self.folder / checkpoint.file, text)
        self._write(self.folder / "stage_outputs" / f"{checkpoint.stage.replace('/', '_')}.json", text)
        self._write(self.folder / "checkpoint_latest.json", pretty_json(told))
        self.tidy(datetime.fromisoformat(checkpoint.at))

    def put_stop(self, number: int, data: dict[str, Any]) -> None:
        """Leave what stopped a stage.

        Raises:
            InputError: it cannot be written.
        """
        told: dict[str, Json] = {key: data[key] for key in ("stage", "attempt", "error", "reason") if key in data}
        self._write(self.folder / "error_logs" / f"stop_{number}.json", pretty_json(told))

    def put_iteration(self, number: int, told: Json) -> None:
        """Leave what was wrong with an attempt.

        Raises:
            InputError: it cannot be written.
        """
        self._write(self.folder / "error_logs" / f"iteration_{number}.json", pretty_json(told))

    def tidy(self, now: datetime) -> None:
        """Remove what retention does not keep."""
        if self.retention.policy == "all":
            return
        if self.retention.policy == "latest":
            self.clear()
        oldest = f"{now.astimezone(UTC) - timedelta(hours=KEPT_HOURS):%Y%m%d%H}"
        for hour in self._hours():
            if hour.name < oldest:
                shutil.rmtree(hour, ignore_errors=True)
                continue
            files = sorted(hour.glob("checkpoint_*.json"), key=_number)
            for file in files[: max(0, len(files) - self.retention.per_hour)]:
                file.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove every older attempt's file."""
        shutil.rmtree(self.folder / HOURLY, ignore_errors=True)

    def _hours(self) -> list[Path]:
        folder = self.folder / HOURLY
        return [path for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []

    @staticmethod
    def _write(path: Path, text: str) -> None:
        half = path.with_name(f".{path.name}.half")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            half.write_bytes(text.encode("utf-8", "backslashreplace"))
            os.replace(half, path)  # noqa: PTH105  a reader sees the old one or the new one
        except OSError as error:
            with suppress(OSError):
                half.unlink()
            hint = "make room or choose another folder, then resume"
            raise InputError(f"cannot write: {error.strerror}", where=str(path), hint=hint) from error


def _number(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


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
