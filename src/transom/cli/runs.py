"""`transom runs` and `transom resume`: what was started, how it stands, how it goes on, and what
is removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.checklist.judging import APPROVAL
from transom.cli.app import group, root
from transom.cli.command import RunArgument, can_resume, command, give_again, line_of
from transom.cli.history import RunView, all_runs, all_views, found_run, history, next_step, view
from transom.cli.output import age, counted, sections, style_status, table
from transom.cli.session import Session
from transom.cli.waiting import questions_of
from transom.errors import InputError, RunBusy, RunError
from transom.llm.egress import EgressPolicy
from transom.runs import Workspace, checkpoints, trace_id, write_file
from transom.runs.checkpoints import SUCCESSES
from transom.runs.journal import VERSION
from transom.runs.run import RUNS
from transom.runs.windows import blobs_of, recording_of
from transom.store import Store
from transom.telemetry import Redactor

runs_app = group("runs")

_STOPPED = ("failed", "paused", "interrupted")
_TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
File = Annotated[
    Path, typer.Argument(metavar="FILE", help="File to write; replaces an older recording.")
]
Local = Annotated[
    bool, typer.Option("--local", help="Allow text that is marked local in the recording.")
]


@command(runs_app, "list", example="transom runs list")
async def list_runs(session: Session) -> int:
    """List the runs of the workspace, the newest first."""
    views = await all_views(session)
    rows = [_summary(one) for one in views]
    shown = [
        (*[*row.values()][:4], f"{row['last_at'][:19]}Z" if row["last_at"] else "-") for row in rows
    ]
    lines = table(shown, head=("RUN", "KIND", "NAME", "STATUS", "LAST")) or [
        f"no runs in {session.workspace_root}"
    ]
    return session.report({"schema": "transom.runs/1", "runs": rows}, *lines)


@command(runs_app, "show", example="transom runs show 20261121-0930")
async def show_run(session: Session, run: RunArgument) -> int:
    """Show a run: its stages, who answered them, its files, and its open questions."""
    async with found_run(session, run) as (_, found):
        calls, open_ = found.replies, [*questions_of(found, whole=True)]
    usage = {name: sum(one["reply"]["usage"][name] for one in calls) for name in _TOKENS}
    document = {
        "schema": "transom.run/1",
        **_summary(found),
        "waiting": list(found.state.waiting.values()),
        "handed": found.state.handed if found.status == "human_required" else None,
        "inputs": found.row.inputs,
        "folder": str(session.known_workspace.run_folder(found.row.name, found.row.id)),
        "trace_id": trace_id(found.row.id),
        "stages": _stages(found),
        "checkpoints": [one.to_json() for one in checkpoints(found.records)],
        "usage": {"calls": len(calls), **usage},
    }
    shown = {
        key: one for key, one in document.items() if key not in ("waiting", "handed", "inputs")
    }
    lines = [*sections(shown | {"status": style_status(found.status)})]
    for one in open_:
        lines += [
            f"waits for: {one.asks}",
            *(one.numbered if one.long else []),
            f"answer with: {one.command}",
        ]
    return session.report(
        document, *lines, *([next_step(found)] if found.status in _STOPPED and not open_ else [])
    )


@command(runs_app, "record", example="transom runs record 20261121-0930 calls.json")
async def record_run(session: Session, run: RunArgument, file: File, local: Local = False) -> int:
    """Write a run's requests and replies to a file. Replay it with --model replay:FILE."""
    policy = EgressPolicy.of(session.settings.egress)
    async with found_run(session, run) as (store, found):
        made = recording_of(
            store, found.records, policy=policy, redact=session.redact or Redactor(), local=local
        )
    made.write(session.cwd / file)
    told = {
        "schema": "transom.recorded/1",
        "run_id": found.row.id,
        "file": str(file),
        "calls": len(made.calls),
    }
    calls = counted(len(made.calls), "call")
    return session.report(told, f"{calls} of run {found.row.id} in {file}: --model replay:{file}")


@command(root, "resume", example="transom resume 20261121-0930", asks=True)
async def resume(session: Session, run: RunArgument) -> int:
    """Continue a run. Completed model calls are not repeated."""
    async with found_run(session, run) as (_, found):
        row, entry, version = found.row, found.state.entry, found.state.version
    if not can_resume(entry):
        raise RunError(_why_not_resumed(found), where=row.id, hint=next_step(found))
    if version not in (None, VERSION):
        # The run would be found again by its inputs, so it begins anew in another workspace.
        line = line_of(entry, "--workspace", f"{session.workspace_root}-2")
        raise RunError(
            "another version of transom made the run, and this one cannot go on with its journal",
            where=row.id,
            hint=f"begin it anew with: {line}",
        )
    session.progress(f"resuming run {row.id} ({row.kind} {row.name})")
    return await give_again(session, entry, row.id)


def _why_not_resumed(found: RunView) -> str:
    """Return why no command of this version can go on with a run."""
    entry = found.state.entry
    if "command" in entry:
        return f"this version has no command `transom {entry['command']}`, which began the run"
    if entry:
        return f"a run of kind {found.row.kind} cannot be resumed here"
    return "no command of transom started this run"


def _summary(found: RunView) -> dict[str, Any]:
    return {
        "run_id": found.row.id,
        "kind": found.row.kind,
        "name": found.row.name,
        "status": found.status,
        "reason": found.state.paused,
        "started_at": found.records[0].at if found.records else None,
        "last_at": found.records[-1].at if found.records else None,
    }


def _stages(found: RunView) -> list[dict[str, Any]]:
    stopped = found.data_of("failed", "paused")
    errors = {
        data["stage"]: data.get("error") or data.get("reason")
        for data in stopped
        if data.get("stage")
    }
    rows = []
    for name, stage in found.state.stages.items():
        by = [reply["reply"]["by"] for reply in found.replies if reply["stage"] == name]
        row = {
            "stage": name,
            "status": stage.last,
            "attempts": len(stage.attempts),
            "calls": len(by),
        }
        error = errors.get(name) if stage.last in ("failed", "paused") else None
        rows.append({**row, "answered_by": sorted(set(by)), "error": error})
    return rows


# -- clean-up


@dataclass(frozen=True)
class Cleaning:
    """What goes and what stays."""

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
    """Remove old runs with their journals, windows and traces, but no run with an approved
    checker.
    """
    # said even where there is nothing to clean
    oldest = datetime.now(UTC) - age(options.older_than or "7d")
    async with history(session, writing=not options.dry_run) as store:
        rows = [
            await _clean(session, store, view(session, store, row), options, oldest)
            for row in all_runs(store)
        ]
    gone = [row for row in rows if row["kept"] is None]
    shown = [
        ("stays" if row["kept"] else "goes", row["run_id"], row["name"], row["kept"] or "")
        for row in rows
    ]
    freed, removed = sum(row["bytes"] for row in gone), "would be" if options.dry_run else "were"
    document = {"schema": "transom.cleaned/1", "dry_run": options.dry_run, "runs": rows}
    return session.report(
        document, *table(shown), f"{counted(len(gone), 'run')}, {freed} bytes {removed} removed"
    )


async def _clean(
    session: Session, store: Store, one: RunView, options: Cleaning, oldest: datetime
) -> dict[str, Any]:
    """Remove a run: its files, trace, journal, and the windows that no other run has; or say why
    it stays.
    """
    workspace = session.known_workspace
    folder = workspace.run_folder(one.row.name, one.row.id)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    row: dict[str, Any] = {
        "run_id": one.row.id,
        "name": one.row.name,
        "status": one.status,
        "bytes": size,
    }
    row |= {"kept": _why_it_stays(one, folder, options, oldest), "archive": None}
    if row["kept"] is None and not options.dry_run:
        try:
            lock = workspace.hold_run(store, one.row.id, one.row.name)
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
    begun = datetime.strptime(one.row.id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    if (datetime.fromisoformat(one.records[-1].at) if one.records else begun) > oldest:
        return "it is younger"
    if options.keep_successful and one.status in SUCCESSES:
        return "it came to its end"
    if options.older_than is None and one.status == "paused":
        return "it waits for a person; name an age with --older-than"
    return "somebody approved its checker" if next(folder.rglob(APPROVAL), None) else None


async def _remove(
    workspace: Workspace, store: Store, one: RunView, folder: Path, *, archive: bool
) -> str | None:
    """The run's document goes last: cut off anywhere, the next clean-up finds it again. Returns
    the archive's path.
    """
    trace = workspace.traces / f"{trace_id(one.row.id)}.jsonl"
    target = workspace.root / "archive" / one.row.id
    if archive:
        _pack(store, one, folder, trace)
        shutil.make_archive(str(target), "gztar", folder.parent, folder.name)
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
        trace.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be removed: {error.strerror}", where=str(error.filename or folder)
        ) from error
    ids: dict[str, str] = {
        key: document["id"] for key, document in dict[str, Any](store.items(RUNS)).items()
    }
    others = [run for run in ids.values() if run != one.row.id]
    shared = {blob for run in others for blob in _blobs(store.read(f"run/{run}"))}
    await store.forget(f"run/{one.row.id}", sorted(set(_blobs(one.records)) - shared))
    for key in [key for key, run in ids.items() if run == one.row.id]:
        await store.delete(RUNS, key)
    return f"{target}.tar.gz" if archive else None


def _blobs(records: list[Any]) -> Iterator[str]:
    for record in records:
        yield from blobs_of(record.kind, record.data)


def _pack(store: Store, one: RunView, folder: Path, trace: Path) -> None:
    """Put into the run's folder what lies elsewhere: its trace, its journal, and the windows
    that its calls saw.
    """
    lines = [{"seq": r.seq, "kind": r.kind, "at": r.at, "data": r.data} for r in one.records]
    write_file(
        folder / "journal.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    )
    for blob in sorted(set(_blobs(one.records))):
        write_file(folder / "blobs" / blob, store.get_blob(blob))
    if trace.exists():
        shutil.copy(trace, folder / "trace.jsonl")
