"""`transom runs` and `transom resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.command import RunArgument, can_resume, command, give_again
from transom.cli.history import RunView, all_views, found_run, next_step
from transom.cli.output import counted, style, style_status, table
from transom.cli.session import Session
from transom.cli.tree import group, root
from transom.cli.waiting import questions_of
from transom.errors import RunError
from transom.llm.egress import EgressPolicy
from transom.runs import checkpoints, trace_id
from transom.runs.windows import recording_of
from transom.telemetry import Redactor

runs_app = group("runs")

_STOPPED = ("failed", "paused", "interrupted")


@command(runs_app, "list", example="transom runs list")
async def list_runs(session: Session) -> int:
    """List the runs of the workspace, the newest first."""
    views = await all_views(session)
    rows = [(one.row.id, one.row.kind, one.row.name, one.status, _last(one)) for one in views]
    lines = table(rows, head=("RUN", "KIND", "NAME", "STATUS", "LAST")) or [f"no runs in {session.workspace_root}"]
    return session.report({"schema": "transom.runs/1", "runs": [_summary(one) for one in views]}, *lines)


@command(runs_app, "show", example="transom runs show 20261121-0930")
async def show_run(session: Session, run: RunArgument) -> int:
    """Show a run: stages, who answered, its files, what it waits for."""
    async with found_run(session, run) as (_, found):
        document = _document(session, found)
    return session.report(document, *_lines(document, found))


@command(runs_app, "record", example="transom runs record 20261121-0930 calls.json")
async def record_run(
    session: Session,
    run: RunArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; an older recording there is replaced.")],
    local: Annotated[bool, typer.Option("--local", help="Also text that is marked local may stand in it.")] = False,
) -> int:
    """Write a run's questions and replies to a file for replay. Use it with --model replay:FILE."""
    policy = EgressPolicy.of(session.settings.egress)
    async with found_run(session, run) as (store, found):
        made = recording_of(store, found.records, policy=policy, redact=session.redact or Redactor(), local=local)
    made.write(session.cwd / file)
    told = {"schema": "transom.recorded/1", "run_id": found.row.id, "file": str(file), "calls": len(made.calls)}
    calls = counted(len(made.calls), "call")
    return session.report(told, f"{calls} of run {found.row.id} in {file}: --model replay:{file}")


@command(root, "resume", example="transom resume 20261121-0930", asks=True)
async def resume(session: Session, run: RunArgument) -> int:
    """Go on with a run. Nothing that was paid for is asked again."""
    async with found_run(session, run) as (_, found):
        row, entry = found.row, found.state.entry
    if not can_resume(entry):
        why = f"a run of kind {row.kind} cannot be resumed here" if entry else "no command of transom started this run"
        raise RunError(why, where=row.id, hint=next_step(found))
    session.progress(f"resuming run {row.id} ({row.kind} {row.name})")
    return await give_again(session, entry)


def _last(one: RunView) -> str:
    """When it was last heard of; a run that was killed before its first record was never."""
    return one.records[-1].at[:19].replace("T", " ") + "Z" if one.records else "-"


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


def _document(session: Session, found: RunView) -> dict[str, Any]:
    return {
        "schema": "transom.run/1",
        **_summary(found),
        "waiting": list(found.state.waiting.values()),
        "handed": found.state.handed if found.status == "human_required" else None,
        "inputs": found.row.inputs,
        "folder": str(session.workspace.run_folder(found.row.name, found.row.id)),
        "trace_id": trace_id(found.row.id),
        "stages": _stages(found),
        "checkpoints": [one.to_json() for one in checkpoints(found.records)],
        "usage": {"calls": len(found.replies)} | {name: _tokens(found, name) for name in _TOKENS},
    }


_TOKENS = ("input_tokens", "output_tokens", "cached_tokens")


def _tokens(found: RunView, name: str) -> int:
    return sum(one["reply"]["usage"][name] for one in found.replies)


def _stages(found: RunView) -> list[dict[str, Any]]:
    answered: dict[str, list[str]] = {}
    for reply in found.replies:
        answered.setdefault(reply["stage"], []).append(reply["reply"]["by"])
    stopped = found.data_of("failed", "paused")
    errors = {data["stage"]: data.get("error") or data.get("reason") for data in stopped if data.get("stage")}
    return [
        {
            "stage": name,
            "status": stage.last,
            "attempts": len(stage.attempts),
            "calls": len(answered.get(name, [])),
            "answered_by": sorted(set(answered.get(name, []))),
            "error": errors.get(name) if stage.last in ("failed", "paused") else None,
        }
        for name, stage in found.state.stages.items()
    ]


def _lines(document: dict[str, Any], found: RunView) -> list[str]:
    reason = f": {document['reason']}" if document["reason"] else ""
    usage = document["usage"]
    lines = [
        style(f"{document['run_id']}  {document['kind']}  {document['name']}", "bold"),
        f"status   {style_status(document['status'])}{reason}",
        f"folder   {document['folder']}",
        f"trace    {document['trace_id']}",
        f"calls    {usage['calls']}, {usage['input_tokens']} tokens in, {usage['output_tokens']} out",
    ]
    rows = [
        (one["stage"], one["status"], f"attempt {one['attempts']}", ", ".join(one["answered_by"]), one["error"] or "")
        for one in document["stages"]
    ]
    points = [(one["checkpoint_id"], one["stage"], f"attempt {one['attempt']}") for one in document["checkpoints"]]
    lines += ["stages", *table(rows, indent="  ")] if rows else []
    lines += ["checkpoints", *table(points, indent="  ")] if points else []
    open_ = [*questions_of(found, whole=True)]
    for one in open_:
        lines += [f"waits for: {one.asks}", *(one.numbered if one.long else []), f"answer with: {one.command}"]
    return lines if open_ or document["status"] not in _STOPPED else [*lines, next_step(found)]
