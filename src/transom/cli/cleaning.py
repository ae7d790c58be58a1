"""The work behind `transom runs clean`: which runs go, what is archived, what is removed."""

from __future__ import annotations

import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from transom.checklist.run import APPROVAL
from transom.cli.history import RunView
from transom.cli.session import Session
from transom.errors import InputError, RunBusy
from transom.runs import Workspace, trace_id, write_file
from transom.runs.checkpoints import SUCCESSES
from transom.runs.run import RUNS
from transom.runs.windows import blobs_of
from transom.runs.workspace import RunLock
from transom.store import SqliteStore

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Cleaning:
    """What goes and what stays.

    Attributes:
        oldest: what was heard of later stays.
        keep_successful: so does what came to its end,
        keep_waiting: and what waits for a person.
        archive: what goes is packed first.
        dry_run: nothing goes.
    """

    session: Session
    oldest: datetime
    keep_successful: bool
    keep_waiting: bool
    archive: bool
    dry_run: bool

    async def clean(self, store: SqliteStore, one: RunView) -> dict[str, Any]:
        """Remove a run: its files, trace, journal, and the windows that no other run has.

        Returns what went, its size, its archive; or why it stays.
        """
        workspace = self.session.workspace
        folder = workspace.run_folder(one.row.name, one.row.id)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        row: dict[str, Any] = {"run_id": one.row.id, "name": one.row.name, "status": one.status, "bytes": size}
        row |= {"kept": self._why_it_stays(one, folder), "archive": None}
        if row["kept"] is None and not self.dry_run:
            try:
                lock = RunLock(workspace.state_dir / "locks", one.row.id)
            except RunBusy as error:
                return row | {"kept": error.what}
            try:
                row["archive"] = await _remove(workspace, store, one, folder, archive=self.archive)
            finally:
                lock.release()
        return row

    def _why_it_stays(self, one: RunView, folder: Path) -> str | None:
        if one.status == "running":
            return "it is running"
        if _last(one) > self.oldest:
            return "it is younger"
        if self.keep_successful and one.status in SUCCESSES:
            return "it came to its end"
        if self.keep_waiting and one.status == "paused":
            return "it waits for a person; name an age with --older-than"
        if next(folder.rglob(APPROVAL), None):
            return "somebody approved its checker"
        return None


def age(text: str, option: str = "--older-than") -> timedelta:
    """`30m`, `12h`, `7d`, `2w`; `option` is where it was given."""
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if not match:
        raise InputError(f"{text!r} is no age", where=option, hint="write 30m, 12h, 7d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _last(one: RunView) -> datetime:
    """When it was last heard of; a run that was killed before its first record has its beginning in its id."""
    if one.records:
        return datetime.fromisoformat(one.records[-1].at)
    return datetime.strptime(one.row.id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)


async def _remove(workspace: Workspace, store: SqliteStore, one: RunView, folder: Path, *, archive: bool) -> str | None:
    """The run's document goes last: cut off anywhere, the next clean-up finds it again. Returns the archive's path."""
    trace = workspace.traces / f"{trace_id(one.row.id)}.jsonl"
    target = workspace.root / "archive" / f"{one.row.id}.tar.gz"
    if archive:
        write_file(target, _packed(store, one, folder, trace))
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
        trace.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be removed: {error.strerror}", where=str(error.filename or folder)) from error
    ids: dict[str, str] = {key: document["id"] for key, document in dict[str, Any](store.items(RUNS)).items()}
    others = [run for run in ids.values() if run != one.row.id]
    shared = {blob for run in others for blob in _blobs(store.read(f"run/{run}"))}
    await store.forget(f"run/{one.row.id}", sorted(set(_blobs(one.records)) - shared))
    for key in [key for key, run in ids.items() if run == one.row.id]:
        await store.delete(RUNS, key)
    return str(target) if archive else None


def _blobs(records: list[Any]) -> Iterator[str]:
    for record in records:
        yield from blobs_of(record.kind, record.data)


def _packed(store: SqliteStore, one: RunView, folder: Path, trace: Path) -> bytes:
    """The run's folder, its trace, its journal as JSON lines, and the windows that its calls saw."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, name in ((folder, "files"), (trace, "trace.jsonl")):
            if path.exists():
                archive.add(path, f"{one.row.id}/{name}")
        lines = [{"seq": r.seq, "kind": r.kind, "at": r.at, "data": r.data} for r in one.records]
        _add(archive, f"{one.row.id}/journal.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines).encode())
        for blob in sorted(set(_blobs(one.records))):
            _add(archive, f"{one.row.id}/blobs/{blob}", store.get_blob(blob))
    return packed.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))
