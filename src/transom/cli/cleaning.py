"""The work behind `transom runs clean`: which runs go, what is archived, what is removed."""

from __future__ import annotations

import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from transom.checklist.run import APPROVAL
from transom.cli.history import RunView, all_runs, view
from transom.cli.runs import Wish
from transom.cli.session import Session
from transom.errors import InputError, RunBusy
from transom.runs import trace_id, write_file
from transom.runs.checkpoints import SUCCESSES
from transom.runs.run import RUNS
from transom.runs.workspace import RunLock
from transom.store import SqliteStore

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


async def clean(session: Session, store: SqliteStore, wish: Wish, oldest: datetime) -> list[dict[str, Any]]:
    """Remove runs: their files, traces, journals, and the windows that no other run has.

    What was heard of after `oldest` stays. Returns one row a run: what went, its size, its archive; or why it stays.
    """
    rows = []
    for one in [view(session, store, row) for row in all_runs(store)]:
        folder = session.workspace.run_folder(one.row.name, one.row.id)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        row: dict[str, Any] = {"run_id": one.row.id, "name": one.row.name, "status": one.status, "bytes": size}
        row |= {"kept": _why_it_stays(one, folder, wish, oldest), "archive": None}
        rows.append(row)
        if row["kept"] is not None or wish.dry_run:
            continue
        try:
            lock = RunLock(session.workspace.state_dir / "locks", one.row.id)
        except RunBusy as error:
            row["kept"] = error.what
            continue
        try:
            row["archive"] = await _remove(session, store, one, folder, archive=wish.archive)
        finally:
            lock.release()
    return rows


def age(text: str, option: str = "--older-than") -> timedelta:
    """`30m`, `12h`, `7d`, `2w`; `option` is where it was given."""
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if not match:
        raise InputError(f"{text!r} is no age", where=option, hint="write 30m, 12h, 7d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _why_it_stays(one: RunView, folder: Path, wish: Wish, oldest: datetime) -> str | None:
    if one.status == "running":
        return "it is running"
    if _last(one) > oldest:
        return "it is younger"
    if wish.keep_successful and one.status in SUCCESSES:
        return "it came to its end"
    if one.status == "paused" and wish.older_than is None:
        return "it waits for a person; name an age with --older-than"
    if next(folder.rglob(APPROVAL), None):
        return "somebody approved its checker"
    return None


def _last(one: RunView) -> datetime:
    """When it was last heard of; a run that was killed before its first record has its beginning in its id."""
    if one.records:
        return datetime.fromisoformat(one.records[-1].at)
    return datetime.strptime(one.row.id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)


async def _remove(session: Session, store: SqliteStore, one: RunView, folder: Path, *, archive: bool) -> str | None:
    """The run's document goes last: cut off anywhere, the next clean-up finds it again. Returns the archive's path."""
    trace = session.workspace.traces / f"{trace_id(one.row.id)}.jsonl"
    target = session.workspace.root / "archive" / f"{one.row.id}.tar.gz"
    if archive:
        write_file(target, _packed(store, one, folder, trace))
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
        trace.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be removed: {error.strerror}", where=str(error.filename or folder)) from error
    documents: dict[str, Any] = dict(store.items(RUNS))
    others = (f"run/{other['id']}" for other in documents.values() if other["id"] != one.row.id)
    shared = {blob for stream in others for blob in _blobs(store.read(stream))}
    await store.forget(f"run/{one.row.id}", sorted(set(_blobs(one.records)) - shared))
    for key in [key for key, other in documents.items() if other["id"] == one.row.id]:
        await store.delete(RUNS, key)
    return str(target) if archive else None


def _blobs(records: list[Any]) -> Iterator[str]:
    from transom.runs.windows import blobs_of

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
