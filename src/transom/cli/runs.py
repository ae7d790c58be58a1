"""`transom runs` and `transom resume`: the runs of a workspace, and how to continue them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.app import group, root
from transom.cli.command import RunArgument, can_resume, command, line_of, resume_command
from transom.cli.command_session import Session
from transom.cli.output import counted, sections, style_status, table
from transom.cli.run_lookup import found_run, next_step, run_history
from transom.errors import RunError
from transom.llm.egress import EgressPolicy
from transom.runs import checkpoints, trace_id
from transom.runs.artifact import fetch_artifact
from transom.runs.history import RunView
from transom.runs.journal import VERSION
from transom.runs.open_questions import questions_of
from transom.runs.stage_rows import stages_of
from transom.runs.summarising import RunSummary
from transom.runs.windows import recording_of
from transom.telemetry import Redactor

runs_app = group("runs")

_STOPPED = ("failed", "paused", "interrupted")
_NOT_IN_TEXT = ("waiting", "handed", "inputs")
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
    async with run_history(session) as runs:
        page = runs.all_summaries()
    rows: list[dict[str, Any]] = []
    cells: list[tuple[str, ...]] = []
    for run in page:
        rows.append(_row_of(run))
        status = run.status + judged_by(run.judgement)
        last_at = f"{run.last_at[:19]}Z" if run.last_at else "-"
        cells.append((run.id, run.kind, run.name, status, last_at))
    lines = table(cells, head=("RUN", "KIND", "NAME", "STATUS", "LAST"))
    if not lines:
        lines = [f"no runs in {session.workspace_root}"]
    return session.show({"schema": "transom.runs/1", "runs": rows}, *lines)


@command(runs_app, "show", example="transom runs show 20261121-0930")
async def show_run(session: Session, run: RunArgument) -> int:
    """Show a run: its stages, who answered them, its files, and its open questions."""
    async with found_run(session, run) as (_, run_view):
        questions = [*questions_of(run_view, complete=True)]
    row = run_view.row
    usage: dict[str, int] = {"calls": len(run_view.replies)}
    # Rules spend no tokens, and have entries all the same.
    for name in _TOKENS:
        usage[name] = sum(call["reply"]["usage"][name] for call in run_view.replies)
    state = run_view.state
    folder = session.known_workspace.run_folder(row.name, row.id)
    document = {
        "schema": "transom.run/1",
        **_summary(run_view),
        "waiting": list(state.waiting.values()),
        # A build that gave up hands its problem to a person.
        "handed": state.handed if run_view.status == "human_required" else None,
        "inputs": row.inputs,
        "folder": str(folder),
        "trace_id": trace_id(row.id),
        "stages": [stage.to_json() for stage in stages_of(run_view)],
        "checkpoints": [checkpoint.to_json() for checkpoint in checkpoints(run_view.records)],
        "usage": usage,
    }
    # Open questions follow below, with the commands that answer them.
    figures = {key: value for key, value in document.items() if key not in _NOT_IN_TEXT}
    figures["status"] = style_status(run_view.status)
    lines = [*sections(figures)]
    for question in questions:
        lines.append(f"waits for: {question.asks}")
        if question.has_long_options:
            lines += question.numbered
        lines.append(f"answer with: {question.command}")
    if run_view.status in _STOPPED and not questions:
        lines.append(next_step(run_view))
    return session.show(document, *lines)


@command(runs_app, "fetch", example="transom runs fetch 20261121-0930")
async def fetch_run(session: Session, run: RunArgument) -> int:
    """Write the files of a run that another machine made, from the database.

    Files that you edited are left alone. It needs `paths.artifacts: database`.
    """
    async with found_run(session, run) as (store, run_view):
        folder = session.workspace.run_folder(run_view.row.name, run_view.row.id)
        written: list[str] = []
        for history in run_view.state.stages.values():
            path = folder / history.file
            if history.file and fetch_artifact(store, history, path):
                written.append(str(path))
    document = {"schema": "transom.fetched/1", "run_id": run_view.row.id, "files": written}
    return session.show(document, *written, f"{counted(len(written), 'file')} fetched")


@command(runs_app, "record", example="transom runs record 20261121-0930 calls.json")
async def record_run(session: Session, run: RunArgument, file: File, local: Local = False) -> int:
    """Write a run's requests and replies to a file. Replay it with --model replay:FILE."""
    policy = EgressPolicy.of(session.settings.egress)
    redact = session.redact or Redactor()
    async with found_run(session, run) as (store, run_view):
        recording = recording_of(store, run_view.records, policy=policy, redact=redact, local=local)
    recording.write(session.cwd / file)
    document = {
        "schema": "transom.recorded/1",
        "run_id": run_view.row.id,
        "file": str(file),
        "calls": len(recording.calls),
    }
    calls = counted(len(recording.calls), "call")
    line = f"{calls} of run {run_view.row.id} in {file}: --model replay:{file}"
    return session.show(document, line)


@command(root, "resume", example="transom resume 20261121-0930", asks=True)
async def resume(session: Session, run: RunArgument) -> int:
    """Resume a run. Completed model calls are not repeated."""
    async with found_run(session, run) as (_, run_view):
        row, state = run_view.row, run_view.state
        entry, version = state.entry, state.version
    # A program, or a command that was removed since, has to be started by hand.
    if not can_resume(entry):
        if state.is_closed and run_view.status not in _STOPPED:
            raise RunError(
                f"the run has ended ({run_view.status}), so there is nothing to resume",
                place=row.id,
                hint=f"see: transom runs show {row.id}",
            )
        raise RunError(_why_not_resumed(run_view), place=row.id, hint=next_step(run_view))
    if version not in (None, VERSION):
        # The run would be found again by its inputs, so it begins anew in another workspace.
        line = line_of(entry, "--workspace", f"{session.workspace_root}-2")
        raise RunError(
            "another version of transom made the run, and this one cannot resume it",
            place=row.id,
            hint=f"begin it anew with: {line}",
        )
    session.progress(f"resuming run {row.id} ({row.kind} {row.name})")
    return await resume_command(session, entry, row.id)


def _why_not_resumed(run: RunView) -> str:
    """Return why no command of this version can go on with a run."""
    entry = run.state.entry
    # A command of an earlier version, which was renamed or removed since.
    if "command" in entry:
        return f"this version has no command `transom {entry['command']}`, which began the run"
    if entry:
        return f"a run of kind {run.row.kind} cannot be resumed here"
    return "no command of transom started this run"


def judged_by(judgement: Mapping[str, str]) -> str:
    """Return who judged a run, and how the rules did; "" if nobody judged it."""
    if not judgement:
        return ""
    return f"  judged by {judgement['by']} (rules: {judgement['rules']})"


def _row_of(run: RunSummary) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run_id": run.id,
        "kind": run.kind,
        "name": run.name,
        "status": run.status,
        "reason": run.reason,
        "started_at": run.started_at or None,
        "last_at": run.last_at or None,
    }
    if run.judgement:
        row["judgement"] = run.judgement
    return row


def _summary(run: RunView) -> dict[str, Any]:
    """Return the first entries of a run's document."""
    summary: dict[str, Any] = {
        "run_id": run.row.id,
        "kind": run.row.kind,
        "name": run.row.name,
        "status": run.status,
    }
    if run.state.judgement:
        summary["judgement"] = run.state.judgement
    summary["reason"] = run.state.paused
    summary["started_at"] = run.records[0].at if run.records else None
    summary["last_at"] = run.records[-1].at if run.records else None
    return summary
