"""`transom runs clean`: which runs go, what is archived, what is removed."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.checklist.run import APPROVAL
from transom.cli.command import command
from transom.cli.history import RunView, all_views, history
from transom.cli.output import age, counted, table
from transom.cli.runs import runs_app
from transom.cli.session import Session
from transom.errors import InputError, RunBusy
from transom.runs import Workspace, trace_id, write_file
from transom.runs.checkpoints import SUCCESSES
from transom.runs.run import RUNS
from transom.runs.windows import blobs_of
from transom.runs.workspace import RunLock
from transom.store import SqliteStore


@dataclass(frozen=True)
class Cleaning:
    """What goes and what stays."""

    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Runs last heard of longer ago: 30m, 12h, 7d, 2w. Default 7d, and runs that wait for a person stay.",
        ),
    ] = None
    keep_successful: Annotated[
        bool, typer.Option("--keep-successful", help="Keep runs that came to their end (READY, done, PASS, FAIL).")
    ] = False
    archive: Annotated[
        bool, typer.Option("--archive", help="Pack each into archive/RUN.tar.gz of the workspace first.")
    ] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False


@command(runs_app, "clean", example="transom runs clean --older-than 30d --archive")
async def clean_runs(session: Session, options: Cleaning) -> int:
    """Remove old runs with their journals, windows and traces. Runs with an approved checker stay."""
    oldest = datetime.now(UTC) - age(options.older_than or "7d")  # said even where there is nothing to clean
    async with history(session) as store:
        views = await all_views(session)
        rows = [await _clean(session, store, one, options, oldest) for one in views if store]
    gone = [row for row in rows if row["kept"] is None]
    shown = [("stays" if row["kept"] else "goes", row["run_id"], row["name"], row["kept"] or "") for row in rows]
    freed, removed = sum(row["bytes"] for row in gone), "would be" if options.dry_run else "were"
    document = {"schema": "transom.cleaned/1", "dry_run": options.dry_run, "runs": rows}
    return session.report(document, *table(shown), f"{counted(len(gone), 'run')}, {freed} bytes {removed} removed")


async def _clean(
    session: Session, store: SqliteStore, one: RunView, options: Cleaning, oldest: datetime
) -> dict[str, Any]:
    """Remove a run: its files, trace, journal, and the windows that no other run has.

    Returns what went, its size, its archive; or why it stays.
    """
    workspace = session.workspace
    folder = workspace.run_folder(one.row.name, one.row.id)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    row: dict[str, Any] = {"run_id": one.row.id, "name": one.row.name, "status": one.status, "bytes": size}
    row |= {"kept": _why_it_stays(one, folder, options, oldest), "archive": None}
    if row["kept"] is None and not options.dry_run:
        try:
            lock = RunLock(workspace.state_dir / "locks", one.row.id, one.row.name)
        except RunBusy as error:
            return row | {"kept": error.what}
        try:
            row["archive"] = await _remove(workspace, store, one, folder, archive=options.archive)
        finally:
            lock.release()
    return row


def _why_it_stays(one: RunView, folder: Path, options: Cleaning, oldest: datetime) -> str | None:
    if one.status == "running":
        return "it is running"
    if _last(one) > oldest:
        return "it is younger"
    if options.keep_successful and one.status in SUCCESSES:
        return "it came to its end"
    if options.older_than is None and one.status == "paused":
        return "it waits for a person; name an age with --older-than"
    return "somebody approved its checker" if next(folder.rglob(APPROVAL), None) else None


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
