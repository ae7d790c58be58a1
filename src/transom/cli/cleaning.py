"""`transom runs clean`: removes runs, with their files, traces and journals."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.checklist.judging import APPROVAL
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import age, counted, say, table
from transom.cli.run_lookup import history
from transom.cli.runs import runs_app
from transom.errors import InputError, RunBusy, StoreError
from transom.runs import Workspace, trace_id, write_file
from transom.runs.checkpoints import SUCCESSES
from transom.runs.history import RunView, all_runs, view
from transom.runs.run import RUNS
from transom.runs.windows import blobs_of
from transom.store import DatabaseSize, Record, Store, compact


@dataclass(frozen=True)
class Cleaning:
    """The options that decide which runs are removed."""

    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="Remove runs that are inactive for longer than this [7d]."
        ),
    ] = None
    keep_successful: Annotated[
        bool, typer.Option("--keep-successful", help="Keep completed runs.")
    ] = False
    archive: Annotated[
        bool, typer.Option("--archive", help="Pack each run into archive/RUN.tar.gz first.")
    ] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would be removed, and remove nothing.")
    ] = False


@command(runs_app, "clean", example="transom runs clean --older-than 30d --archive")
async def clean_runs(session: Session, options: Cleaning) -> int:
    """Remove old runs with their journals, windows and traces, and old folders of solves.

    Runs with an approved checker stay, and so do trials of studies and the folders of their best
    designs.
    """
    # A wrong age is an error even if there is nothing to clean.
    oldest = datetime.now(UTC) - age(options.older_than or "7d")
    async with history(session, writing=not options.dry_run) as store:
        # A dry run takes the same way, and so lists exactly what a real one removes.
        remover = None if options.dry_run else RunRemover(session.known_workspace, store)
        rows = []
        for run in all_runs(store):
            run_view = view(session.known_workspace, store, run)
            row = _judge(session, run_view, options, oldest)
            if remover and row["kept"] is None:
                row |= await remover.remove(run_view, archive=options.archive)
            rows.append(row)
    removed = [row for row in rows if row["kept"] is None]
    size = _compact(session) if removed and not options.dry_run else None
    solves = [] if options.keep_successful else _clean_solves(session, oldest, options.dry_run)
    collected = _clean_collected(session, oldest, options.dry_run)
    freed = sum(row["bytes"] for row in [*removed, *solves, *collected])
    cells = []
    for row in rows:
        state = "stays" if row["kept"] else "goes"
        cells.append((state, row["run_id"], row["name"], row["kept"] or ""))
    for row in solves:
        cells.append(("goes", row["study"], counted(row["folders"], "solve"), ""))
    for row in collected:
        cells.append(("goes", row["folder"], "collected evidence", ""))
    would = "would be" if options.dry_run else "were"
    line = f"{counted(len(removed), 'run')}, {freed} bytes {would} removed"
    # Another process that reads the database keeps its old pages in the log until it ends.
    if size and size.after < size.before:
        line += f"; the database shrank from {size.before} to {size.after} bytes"
    document: dict[str, Any] = {
        "schema": "transom.cleaned/1",
        "dry_run": options.dry_run,
        "runs": rows,
        "solves": solves,
        "collected": collected,
        "database": None,
    }
    if size:
        document["database"] = {"bytes_before": size.before, "bytes_after": size.after}
    return session.show(document, *table(cells), line)


def _clean_solves(session: Session, oldest: datetime, dry_run: bool) -> list[dict[str, Any]]:
    """Remove the old folders of studies' solves; returns a row for each study."""
    root = session.workspace_root / "studies"
    # Without Optuna, nobody knows which designs are the best.
    if not root.is_dir() or not find_spec("optuna"):
        return []
    from transom.studies.folders import old_solves

    rows = []
    for solves in old_solves(root, oldest):
        if not dry_run:
            solves.remove()
        rows.append({"study": solves.study, "folders": len(solves.folders), "bytes": solves.size})
    return rows


def _clean_collected(session: Session, oldest: datetime, dry_run: bool) -> list[dict[str, Any]]:
    """Remove old folders of evidence that investigations collected; returns a row for each.

    What a run read of them is in its journal. A later question collects them again.
    """
    from transom.cli.evidence_sources import COLLECTED

    root = session.workspace_root / COLLECTED
    rows = []
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        # A folder that another investigation is filling has a newer file.
        files = [path.stat() for path in [folder, *folder.rglob("*")]]
        if max(file.st_mtime for file in files) >= oldest.timestamp():
            continue
        if not dry_run:
            shutil.rmtree(folder)
        rows.append({"folder": folder.name, "bytes": sum(file.st_size for file in files)})
    return rows


def _judge(session: Session, run: RunView, options: Cleaning, oldest: datetime) -> dict[str, Any]:
    """Return the row of a run: its size, and why it stays, if it does."""
    folder = session.known_workspace.run_folder(run.row.name, run.row.id)
    return {
        "run_id": run.row.id,
        "name": run.row.name,
        "status": run.status,
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        "kept": _why_it_stays(run, folder, options, oldest),
        "archive": None,
    }


def _why_it_stays(run: RunView, folder: Path, options: Cleaning, oldest: datetime) -> str | None:
    if run.status == "running":
        return "it is running"
    if _last_active(run) > oldest:
        return "it is younger"
    if options.keep_successful and run.status in SUCCESSES:
        return "it came to its end"
    # A person may still answer it; only an age that is named removes it.
    if options.older_than is None and run.status == "paused":
        return "it waits for a person; name an age with --older-than"
    return "somebody approved its checker" if next(folder.rglob(APPROVAL), None) else None


def _last_active(run: RunView) -> datetime:
    """Return the time of the last record, or of the start if the journal is empty."""
    if run.records:
        return datetime.fromisoformat(run.records[-1].at)
    return datetime.strptime(run.row.id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)


def _compact(session: Session) -> DatabaseSize | None:
    """Give the freed space of the database back to the disk; the runs are gone in any case."""
    if session.known_workspace.server:
        return None  # PostgreSQL gives the space to other rows by itself
    try:
        return compact(session.known_workspace.database)
    except StoreError as error:
        say(f"transom: the runs are removed, but the database keeps its size: {error}")
        return None


class BlobReferences:
    """Which runs refer to which blobs, also while other processes go on writing.

    Each journal is read once, and after that only what was appended since, so that removing many
    runs takes no longer than reading them.
    """

    def __init__(self, store: Store, run_ids: Iterable[str]) -> None:
        self._store = store
        self._streams_of: dict[str, set[str]] = defaultdict(set)
        self._last = store.last_seq()
        for run_id in run_ids:
            self._add(store.read(f"run/{run_id}"))

    def only_of(self, run_id: str) -> set[str]:
        """Return the blobs that no other run refers to."""
        appended = self._store.read_all(self._last)
        if appended:
            self._last = appended[-1].seq
            self._add(record for record in appended if record.stream.startswith("run/"))
        stream = f"run/{run_id}"
        # Equal windows of several runs are stored once.
        blobs = set(blobs_in(self._store.read(stream)))
        return {blob for blob in blobs if self._streams_of[blob] <= {stream}}

    def forget(self, run_id: str, blobs: Iterable[str]) -> None:
        """Drop the references of a run that was removed."""
        for blob in blobs:
            self._streams_of[blob].discard(f"run/{run_id}")

    def _add(self, records: Iterable[Record]) -> None:
        for record in records:
            for blob in blobs_of(record.kind, record.data):
                self._streams_of[blob].add(record.stream)


class RunRemover:
    """Removes runs from a workspace: files, trace, journal, and the windows of no other run."""

    def __init__(self, workspace: Workspace, store: Store) -> None:
        self._workspace = workspace
        self._store = store
        self._keys_of: dict[str, list[str]] = defaultdict(list)
        documents: Mapping[str, Any] = store.items(RUNS)
        for key, document in documents.items():
            self._keys_of[document["id"]].append(key)
        self._references = BlobReferences(store, self._keys_of)

    async def remove(self, run: RunView, *, archive: bool) -> dict[str, Any]:
        """Remove a run unless another process holds it; return what changes in its row."""
        locks = self._workspace.state_dir / "locks"
        try:
            lock = self._workspace.hold_run(self._store, run.row.id, run.row.name)
        except RunBusy as error:
            return {"kept": error.problem}
        try:
            packed = await self._remove(run, archive=archive)
            # A process that still has this file open cannot get the lock before it is released.
            (locks / f"{run.row.id}.lock").unlink(missing_ok=True)
        finally:
            lock.release()
        return {"archive": packed}

    async def _remove(self, run: RunView, *, archive: bool) -> str | None:
        """Remove all that a run left; return the path of the archive."""
        run_id = run.row.id
        folder = self._workspace.run_folder(run.row.name, run_id)
        trace = self._workspace.traces / f"{trace_id(run_id)}.jsonl"
        target = self._workspace.root / "archive" / run_id
        # Packed first, so that a full disk costs no run.
        if archive:
            _pack(self._store, run, folder, trace)
            shutil.make_archive(str(target), "gztar", folder.parent, folder.name)
        try:
            if folder.is_dir():
                shutil.rmtree(folder)
            trace.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot be removed: {error.strerror}", place=str(error.filename or folder)
            ) from error
        blobs = self._references.only_of(run_id)
        await self._store.forget(f"run/{run_id}", sorted(blobs))
        self._references.forget(run_id, set(blobs_in(run.records)))
        # The documents go last: if the clean-up is cut off, the next one finds the run again.
        for key in self._keys_of[run_id]:
            document: Any = self._store.get(RUNS, key)
            if document and document["id"] == run_id:  # it may have been begun anew meanwhile
                await self._store.delete(RUNS, key)
        return f"{target}.tar.gz" if archive else None


def blobs_in(records: Iterable[Record]) -> Iterator[str]:
    """Yield the blobs that records refer to."""
    for record in records:
        yield from blobs_of(record.kind, record.data)


def _pack(store: Store, run: RunView, folder: Path, trace: Path) -> None:
    """Put into the run's folder what lies elsewhere: its trace, its journal, and the windows
    that its calls saw.
    """
    lines = []
    for record in run.records:
        entry = {"seq": record.seq, "kind": record.kind, "at": record.at, "data": record.data}
        lines.append(f"{json.dumps(entry)}\n")
    write_file(folder / "journal.jsonl", "".join(lines).encode())
    for blob in sorted(set(blobs_in(run.records))):
        write_file(folder / "blobs" / blob, store.get_blob(blob))
    if trace.exists():
        shutil.copy(trace, folder / "trace.jsonl")
