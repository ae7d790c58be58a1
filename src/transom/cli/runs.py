"""`transom runs` and `transom resume`: what was started, how it stands, and how it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.app import group, root
from transom.cli.command import RunArgument, can_resume, command, give_again, line_of
from transom.cli.history import found_run, next_step, run_history
from transom.cli.output import counted, sections, style_status, table
from transom.cli.session import Session
from transom.errors import RunError
from transom.llm.egress import EgressPolicy
from transom.runs import checkpoints, trace_id
from transom.runs.history import RunView
from transom.runs.journal import VERSION
from transom.runs.open_questions import questions_of
from transom.runs.stage_rows import stages_of
from transom.runs.summarising import RunSummary
from transom.runs.windows import recording_of
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
    async with run_history(session) as runs:
        page = runs.all_summaries()
    rows = [_row_of(run) for run in page]
    shown: list[tuple[str, ...]] = []
    for run in page:
        status = run.status + judged_by(run.judgement)
        last_at = f"{run.last_at[:19]}Z" if run.last_at else "-"
        shown.append((run.id, run.kind, run.name, status, last_at))
    lines = table(shown, head=("RUN", "KIND", "NAME", "STATUS", "LAST")) or [
        f"no runs in {session.workspace_root}"
    ]
    return session.report({"schema": "transom.runs/1", "runs": rows}, *lines)


@command(runs_app, "show", example="transom runs show 20261121-0930")
async def show_run(session: Session, run: RunArgument) -> int:
    """Show a run: its stages, who answered them, its files, and its open questions."""
    async with found_run(session, run) as (_, found):
        calls, open_ = found.replies, [*questions_of(found, complete=True)]
    usage = {name: sum(one["reply"]["usage"][name] for one in calls) for name in _TOKENS}
    document = {
        "schema": "transom.run/1",
        **_summary(found),
        "waiting": list(found.state.waiting.values()),
        "handed": found.state.handed if found.status == "human_required" else None,
        "inputs": found.row.inputs,
        "folder": str(session.known_workspace.run_folder(found.row.name, found.row.id)),
        "trace_id": trace_id(found.row.id),
        "stages": [stage.to_json() for stage in stages_of(found)],
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
            *(one.numbered if one.has_long_options else []),
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


def judged_by(judgement: Mapping[str, str]) -> str:
    """Return who judged a run, and how the rules did; "" if nobody judged it."""
    if not judgement:
        return ""
    return f"  judged by {judgement['by']} (rules: {judgement['rules']})"


def _row_of(run: RunSummary) -> dict[str, Any]:
    row = {
        "run_id": run.id,
        "kind": run.kind,
        "name": run.name,
        "status": run.status,
        "reason": run.reason,
        "started_at": run.started_at or None,
        "last_at": run.last_at or None,
    }
    return row | {"judgement": run.judgement} if run.judgement else row


def _summary(found: RunView) -> dict[str, Any]:
    return {
        "run_id": found.row.id,
        "kind": found.row.kind,
        "name": found.row.name,
        "status": found.status,
        **({"judgement": found.state.judgement} if found.state.judgement else {}),
        "reason": found.state.paused,
        "started_at": found.records[0].at if found.records else None,
        "last_at": found.records[-1].at if found.records else None,
    }
