"""`transom investigate`: judges whether a feature is ready for its next stage."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer

from transom.canonical import Json
from transom.cli.app import root
from transom.cli.command import arguments_of, command
from transom.cli.command_session import Session
from transom.cli.evidence_sources import (
    ArtifactsOption,
    DataOption,
    GithubOption,
    GitlabOption,
    JiraOption,
    data_folder,
)
from transom.cli.knowledge import PlaybookScope, learning, opened_memory
from transom.cli.output import day_of, report_files, style_status
from transom.cli.run_lookup import found_run
from transom.errors import InputError, NotFoundError, Paused
from transom.investigator.concluding import kept_answer
from transom.investigator.dialogue import (
    FollowUp,
    answer_beside,
    answer_on_all,
    follow_up,
    judged,
)
from transom.investigator.inquiry import Inquiry
from transom.investigator.lessons import DOMAIN, take_judgement
from transom.investigator.phases import investigate as investigated
from transom.investigator.policy import load_policy, load_waivers
from transom.investigator.report import FORMATS, text_report
from transom.investigator.result import Investigation, judged_line
from transom.investigator.rules import investigator_rules
from transom.investigator.sources import DataFolder
from transom.runs import Run, trace_id

KIND = "investigate"
LEARNED = PlaybookScope(domain=DOMAIN)
"""The insights that the investigator uses."""

_EXAMPLE = (
    'transom investigate "Is Group Reservations ready for production?" --data'
    " examples/incoming_data --as-of 2026-09-20"
)
Question = Annotated[
    str, typer.Argument(metavar="QUESTION", help="Question: which feature, for which stage.")
]
EarlierRun = Annotated[
    str | None,
    typer.Option(
        "--follow-up",
        "--continue",
        metavar="RUN",
        help="Ask a follow-up question about an earlier run.",
    ),
]


def _rendered(render: Callable[[Investigation], str], result: Investigation) -> bytes:
    return render(result).encode("utf-8", "replace")


_RENDERERS = {kind: partial(_rendered, render) for kind, render in FORMATS.items()}


@dataclass(frozen=True)
class InvestigateOptions:
    """The options of `investigate`, besides the common ones."""

    data: DataOption = None
    artifacts: ArtifactsOption = ()
    jira: JiraOption = None
    github: GithubOption = None
    gitlab: GitlabOption = None
    target: Annotated[
        str | None, typer.Option(metavar="STAGE", help="Stage to judge the feature for.")
    ] = None
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Policy file with your own criteria.")
    ] = None
    waivers: Annotated[Path | None, typer.Option(metavar="FILE", help="Approved waivers.")] = None
    as_of: Annotated[
        str | None, typer.Option(metavar="DATE", help="Day on which the feature is judged [today].")
    ] = None
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Neither recall nor save assessments.")
    ] = False
    reports: Annotated[
        tuple[str, ...],
        typer.Option(
            "--report", metavar="FORMAT:PATH", help="Write a report: text, json, markdown or html."
        ),
    ] = ()


@command(root, KIND, example=_EXAMPLE, asks=True, shares="whole")
async def investigate(
    session: Session,
    question: Question,
    options: InvestigateOptions,
    earlier_run: EarlierRun = None,
) -> int:
    """Judge whether a feature is ready for its next stage.

    Exit: READY 0, NOT_READY 1, error 2, NEEDS_JUDGEMENT and INSUFFICIENT_DATA 3.
    See the policy with `transom investigate policy show`.
    """
    if earlier_run is not None:
        return await _follow_up(session, earlier_run, question)
    reports = report_files(options.reports, _RENDERERS)
    inquiry = inquiry_of(session, question, options)
    session.record_arguments(as_of=inquiry.as_of.isoformat())
    async with learning(session, LEARNED) as (playbook, memory):
        # `--no-memory` is about assessments; insights are still used.
        inquiry = replace(inquiry, playbook=playbook, memory=None if options.no_memory else memory)
        if lines := await answer_on_all(inquiry, question):
            session.show(FollowUp(question=question, answer="\n".join(lines)), *lines)
            return 0
        async with opened_run(session, inquiry, options) as run:
            result, pause = await answered(run, inquiry)
            beside = await answer_beside(run, inquiry, result)
    text = text_report(result).rstrip("\n")
    if beside is not None:
        text += f"\n\n{question}\n" + indent(beside.answer, "  ")
    # The first verdict is the heading of the report.
    text = text.replace(result.verdict, style_status(result.verdict), 1)
    session.show(result, *text.split("\n"), reports=reports)
    for report in reports:
        session.progress(f"written: {report.path}")
    if pause is not None:
        session.warn(
            f"transom: {pause.hint}; give the reason with --reason TEXT; then: transom"
            f" resume {run.id}"
        )
    if beside is not None and beside.needs_model:
        # The verdict alone is no answer to what was asked.
        _warn_of_model(session, question, run.id)
        return result.exit_code or Paused.exit_code
    return result.exit_code


def inquiry_of(
    session: Session, question: str, options: InvestigateOptions, *, again: bool = False
) -> Inquiry:
    """Return the question with its data, policy and waivers; `again` asks no server twice."""
    data = data_folder(session, options, again=again)
    policy = load_policy(session.cwd / options.policy if options.policy else None)
    if options.target:
        # An unknown stage is an error before anything is read.
        policy.stage_named(options.target)
    waivers = load_waivers(session.cwd / options.waivers, policy) if options.waivers else []
    return Inquiry(question, data, policy, day_of(options.as_of), options.target, tuple(waivers))


async def answered(run: Run, inquiry: Inquiry) -> tuple[Investigation, Paused | None]:
    """Return the answer with the run's ids, and the pause of the run if a person has to judge."""
    try:
        result = await investigated(run, inquiry)
    except NotFoundError:
        # Nobody has to resume it: the same question refers to nothing again.
        await run.finish("refused")
        raise
    pause: Paused | None = None
    try:
        result = await judged(run, result)
        if inquiry.playbook:
            take_judgement(run, inquiry.playbook, result)
        # `transom waiting` shows this line for a run that is finished, and still waits.
        stopped = result.exit_code == Paused.exit_code
        await run.finish(
            result.final_verdict,
            waits=judged_line(result) if stopped else "",
            judgement=judgement_of(result),
        )
    except Paused as error:
        pause = error
    return result.model_copy(update={"run_id": run.id, "trace_id": trace_id(run.id)}), pause


def judgement_of(result: Investigation) -> dict[str, str]:
    """Return who judged in place of the rules; empty if nobody did."""
    judgement = result.judgement
    return {"by": judgement.by, "rules": judgement.asked} if judgement else {}


@asynccontextmanager
async def opened_run(
    session: Session, inquiry: Inquiry, options: InvestigateOptions
) -> AsyncIterator[Run]:
    """Open the run of an inquiry, fresh or resumed."""
    inputs: dict[str, Json] = {
        "question": inquiry.question,
        "data": str(inquiry.data.root),
        "target": inquiry.target,
        "jira": options.jira,
    }
    # The name is a folder's name, too.
    words = "".join(sign if sign.isalnum() else " " for sign in inquiry.question.lower()).split()
    name = "-".join(words)[:40] or KIND
    async with session.open_store() as store:
        chain = session.chain(store, own={"rules": investigator_rules})
        async with session.open_run(KIND, inputs, name=name, store=store, chain=chain) as run:
            yield run


async def _follow_up(session: Session, name: str, question: str) -> int:
    """Answer a question about an investigation, in its own run (`--follow-up`)."""
    async with found_run(session, name) as (_, run_view):
        run_id, before = run_view.row.id, run_view.state
    entry = before.entry
    if entry.get("command") != KIND:
        problem = f"{name!r} is no run of this command, but of {run_view.row.kind}"
        raise InputError(problem, place="--follow-up", hint="see: transom runs list")
    arguments = arguments_of(entry, run_id)
    session = session.recorded_session(entry)
    options = arguments["options"]
    # The run has what the servers said, so they are not asked again.
    inquiry = inquiry_of(session, arguments["question"], options, again=True)
    async with opened_memory(session) as memory, opened_run(session, inquiry, options) as run:
        with run.telemetry.span("recall"):
            inquiry = replace(inquiry, memory=None if options.no_memory else memory)
            conclusion = kept_answer(run.folder)
            result = conclusion.investigation if conclusion else None
            name = result.feature_name if result else ""
            recalled = await answer_on_all(inquiry, question, name)
        reply = await follow_up(run, question, inquiry.data, recalled, inquiry.policy)
        if before.is_closed:
            # A question reopens the run, and changes nothing of how it ended.
            await run.finish(before.status, waits=before.waits, judgement=before.judgement)
    lines = reply.answer.splitlines()
    for claim in reply.unsupported_claims:
        lines.append(f"not supported: {claim.text} ({claim.why})")
    session.show(reply, *lines)
    if not reply.needs_model:
        return 0
    _warn_of_model(session, question, run_id)
    return Paused.exit_code


def _warn_of_model(session: Session, question: str, run_id: str) -> None:
    command_line = shlex.join(["transom", KIND, question, "--follow-up", run_id, "--model"])
    session.warn(f"transom: the question needs a model; ask it with: {command_line} PROVIDER:NAME")


async def demo(session: Session, examples: Path) -> list[Investigation]:
    """Judge and print the first four features of the examples, each for its next stage."""
    data = examples / "incoming_data"
    investigations: list[Investigation] = []
    for feature in DataFolder(data).features[:4]:
        question = f"Is {feature.summary} ready for its next stage?"
        options = InvestigateOptions(data=data, as_of="2026-09-20")
        # As if its command had been given: a person may answer, and resume the run.
        entry: dict[str, Any] = {"command": KIND, "cwd": str(session.cwd)}
        entry["given"] = {"question": question, "data": str(data), "as_of": options.as_of}
        quiet = replace(session, verbosity=-1, entry=entry)
        inquiry = inquiry_of(quiet, question, options)
        async with opened_run(quiet, inquiry, options) as run:
            result, _ = await answered(run, inquiry)
        investigations.append(result)
        head = style_status(f"{result.verdict:<17}")
        stages = f"{result.current_stage} -> {result.target_stage}"
        if result.stage_fit == "premature":
            stages += ", which is too early"
        session.tell(f"  {head} {result.feature_name}, {stages}")
        unmet = [
            (row.status, row.name)
            for row in result.criteria
            if row.required and row.status not in ("pass", "waived", "not_applicable")
        ]
        for status, name in unmet[:3]:
            words = "not met" if status == "fail" else "not shown"
            session.tell(f"      {words}: {name}")
    folder = shlex.quote(os.path.relpath(data, session.cwd))
    example = f'"{investigations[1].question}" --data {folder} --as-of 2026-09-20'
    session.tell("  one of them in full:", f"    transom investigate {example}")
    return investigations
