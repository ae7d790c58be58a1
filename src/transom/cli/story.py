"""`transom story`: an epic's stories from SM to the merge."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Literal

import typer

from transom.canonical import pretty_json
from transom.cli.app import group
from transom.cli.command import RunArgument, command
from transom.cli.command_session import Session
from transom.cli.output import plain, report_files, style_status, table
from transom.cli.run_lookup import found_run, next_step
from transom.cli.story_setup import StoryOptions, backlog_of, opened_epic, settings_of
from transom.config.story_sections import StoriesSettings, Workers
from transom.errors import InputError
from transom.runs.history import RUNNING
from transom.runs.stage_rows import stages_of
from transom.sandbox import Level, needs
from transom.stories.backlog import find_backlog
from transom.stories.epic import open_project, plan, run_epic
from transom.stories.finishing import epic_junit, existing_branch, notify, open_request
from transom.stories.git import Git
from transom.stories.progress import describe_stage
from transom.stories.results import EpicResult, StoryResult
from transom.stories.shared import Epic
from transom.stories.status import repair as settle

_WATCH_SECONDS = 1.0
_TITLE = 48  # characters of a title in a table that fits a narrow terminal

story_app = group("story")
Repair = Annotated[
    Literal["story", "sprint"] | None,
    typer.Option(help="Side whose statuses overwrite the other's."),
]


@command(
    story_app,
    "run",
    example="transom story run --project ./myproject --epic epic-1",
    asks=True,
    shares="whole",
)
async def run(session: Session, options: StoryOptions) -> int:
    """Run an epic's stories: SM, PO, Dev, tests and git, QA.

    SM drafts, PO decides, Dev works in a worktree, git and test runs decide, QA judges. Done
    stories are merged. Run the same command again to resume.
    """
    project = await open_project(session.cwd / options.project)
    options = _named(options)
    if not options.epic:
        raise InputError("no epic was given", place="--epic", hint="name one, e.g. --epic epic-1")
    reports = report_files(options.reports, {"json": _json_report, "junit": epic_junit})
    # The project's tests run code that an agent wrote.
    settings = settings_of(session, Level.NONE if options.unsafe else Level.L3)
    if options.review:
        reviewed = settings.stories.model_copy(update={"review": True})
        settings = replace(settings, stories=reviewed)
    if options.dry_run:
        target = await existing_branch(Git(project), options.epic, settings.stories)
        settings = replace(settings, stories=target)
        backlog = await backlog_of(project, options)
        planned = await plan(project, options.epic, options.story, settings, backlog)
        return session.show(planned, *lines_of(planned), code=planned.exit_code)
    async with opened_epic(session, project, options, settings) as epic:
        # A build server has nobody to ask.
        epic.may_ask = not options.no_questions
        result = await run_epic(epic, options.story)
        await _finish(session, epic, result)
        # A paused epic waits for a person, so `transom waiting` lists it.
        if reasons := _reasons(result, "paused"):
            await epic.run.pause("", reasons)
        else:
            status = {0: "done", 1: "failed", 3: "blocked"}[result.exit_code]
            waits = result.problem or _reasons(result, "blocked")
            await epic.run.finish(status, waits=waits)
    lines = lines_of(result)
    return session.show(result, *lines, code=result.exit_code, reports=reports)


def _json_report(result: EpicResult) -> bytes:
    return pretty_json(result).encode()


def _named(options: StoryOptions) -> StoryOptions:
    """Return the options with the name of the epic, which issues get from their label."""
    if options.github is None:
        return options
    if not options.label:
        hint = "name the label of your stories"
        raise InputError("no label was given", place="--label", hint=hint)
    return replace(options, epic=options.epic or f"{options.github}:{options.label}")


async def _finish(session: Session, epic: Epic, result: EpicResult) -> None:
    """Open the pull request, if one is wanted, and tell who is to be told."""
    settings = session.settings.stories
    # The work stays on a branch of its own.
    if settings.finish != "merge":
        result.branch = epic.settings.stories.target
    has_work = any(story.status == "done" and story.commits for story in result.stories)
    if settings.finish == "pull-request" and has_work:
        base = settings.target or await epic.places.project.branch()
        try:
            result.request = await open_request(epic.places.project, base, result)
        except InputError as error:
            result.problem = f"the stories are on {result.branch}, without a pull request: {error}"
    if problem := await notify(settings.notify, result, epic.project):
        session.progress(f"the notice failed: {problem}")


@command(
    story_app,
    "status",
    example="transom story status --project ./myproject --epic epic-1 --repair story",
)
async def status(
    session: Session, options: Annotated[StoryOptions, ("project", "epic")], repair: Repair = None
) -> int:
    """Show an epic's stories. Exit 1: a story file and the sprint status disagree."""
    project = await open_project(session.cwd / options.project)
    backlog = find_backlog(project, options.epic)
    stories = await existing_branch(Git(project), options.epic, session.settings.stories)
    merged = await Git(project).merged(options.epic, stories.target)
    changes = []
    if repair and backlog.sprint:
        changes = settle(project, backlog.stories, backlog.sprint, repair)
    if changes:
        # The files changed, so they are read again.
        backlog = find_backlog(project, options.epic)
    rows: list[dict[str, str]] = []
    for story in backlog.stories:
        # Git decides what is done, whatever a file says.
        state = "done" if story.id in merged else story.status
        rows.append({"id": story.id, "status": state, "title": story.title})
    document = {
        "epic": options.epic,
        "stories": rows,
        "drift": [*map(str, backlog.drift)],
        "settled": len(changes),
    }
    lines = [f"epic {options.epic} has no stories"]
    if rows:
        cells: list[tuple[str, ...]] = []
        for row in rows:
            title = shorten(row["title"], _TITLE, placeholder="…")
            cells.append((row["id"], row["status"], title))
        lines = table(cells, head=("ID", "STATUS", "TITLE"))
    lines += [f"settled: {change}" for change in changes]
    lines += [f"disagrees: {difference}" for difference in backlog.drift]
    return session.show(document, *lines, code=1 if backlog.drift else 0)


@command(story_app, "watch", example="transom story watch 20261121-0930")
async def watch(session: Session, run: RunArgument) -> int:
    """Print the stages of an epic's run as they begin and end, until the run ends or waits."""
    printed: dict[str, str] = {}
    while True:
        async with found_run(session, run) as (_, run_view):
            stages = [(stage.name, stage.status) for stage in stages_of(run_view)]
        for name, state in stages:
            line = describe_stage(name)
            if line and printed.get(name) != state:
                printed[name] = state
                session.progress(f"{line}: {state}")
        if run_view.status != RUNNING:
            break
        await asyncio.sleep(_WATCH_SECONDS)
    rows = [{"stage": name, "status": state} for name, state in stages]
    document = {"run_id": run_view.row.id, "status": run_view.status, "stages": rows}
    lines = [f"{run_view.row.id}: {style_status(run_view.status)}"]
    if run_view.status != "done":
        lines.append(next_step(run_view))
    return session.show(document, *lines)


def _reasons(result: EpicResult, status: str) -> str:
    """Return why stories have a status, in one line; "" if none has it."""
    stories = [story for story in result.stories if story.status == status]
    return "; ".join(f"{story.id}: {story.reason}" for story in stories)


def lines_of(result: EpicResult) -> list[str]:
    """Return the lines that show the result of an epic."""
    lines: list[str] = []
    if result.dry_run:
        lines.append("dry run: no model and no agent is called, and nothing changes")
    has_other_reason = False
    for story in result.stories:
        lines += _lines(story)
        # Some reasons name the command already.
        if story.status == "paused" and "transom resume" not in story.reason:
            has_other_reason = True
    # A dry run is nothing that can be continued.
    if has_other_reason and not result.dry_run:
        lines.append(f"once that is settled, continue with: transom resume {result.run_id}")
    lines += [f"disagrees: {drift}" for drift in result.drift]
    # The epic may end on a branch of its own, with or without a pull request.
    if result.branch:
        lines.append(f"branch: {result.branch}")
    if result.request:
        lines.append(f"pull request: {result.request}")
    if result.problem:
        lines.append(result.problem)
    return lines + [f"not read: {entry}" for entry in result.skipped]


def _lines(story: StoryResult) -> list[str]:
    """Return the lines that show one story."""
    lines = [f"{style_status(f'{story.status:<8}')} {story.id}  {story.title}"]
    if story.reason:
        lines.append(f"  {story.reason}")
    for seat, window in story.windows.items():
        lines.append(f"  would call {seat}, which sees (characters): {plain(window)}")
    for row in story.stages:
        findings = "; ".join(row.evidence.get("findings") or [])
        outcome = row.decision or findings or row.summary
        lines.append(f"  {row.stage} {row.attempt}: {outcome}"[:200])
        if row.quality_of:
            lines.append(f"    summary {row.quality_of}")
    if story.tests:
        lines.append(f"  tests: {plain(story.tests)}")
    # Rules and recorded replies spend nothing.
    if story.usage.get("input_tokens") or story.cost is not None:
        cost = "cost unknown" if story.cost is None else f"{story.cost:.2f} USD"
        sent = story.usage.get("input_tokens", 0)
        received = story.usage.get("output_tokens", 0)
        lines.append(f"  spent: {sent:,} tokens in, {received:,} out, {cost}")
    return lines + [f"  kept: {branch}" for branch in story.parked]


async def demo(session: Session, examples: Path) -> EpicResult:
    """Run and print the shipped epic, with its recorded replies, on a fresh copy of its project
    in the workspace.

    The project's code is ours. So its tests may run at the lower level L2 where a machine has no
    namespaces; projects of others are held to L3.
    """
    folder, shipped = session.workspace_root / "till", examples / "stories"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        shipped / "project", folder / "project", ignore=shutil.ignore_patterns("__pycache__")
    )
    project = Git(folder / "project")
    await project("init", "--quiet", "--initial-branch=main")
    await project.commit_all("A till\n")
    stories = StoriesSettings(
        workers=Workers(sm="replay", po="replay", dev="replay", qa="replay"),
        replay=shipped / "replies",
        tests=("{python}", "run_tests.py", "{junit}"),
        environment=("PYTHONDONTWRITEBYTECODE=1",),
    )
    apart = {
        "stories": stories,
        "workspace": folder / "workspace",
        "state_dir": None,
        "store": None,
    }
    session = replace(session, settings=session.settings.model_copy(update=apart))
    options = StoryOptions(folder / "project", "epic-1")
    level = Level.L3
    if missing := needs(Level.L3):
        level = Level.L2
        session.tell(f"  The tests run at sandbox level L2 (Landlock, seccomp), not L3: {missing}.")
    async with opened_epic(
        session, await open_project(options.project), options, settings_of(session, level)
    ) as epic:
        result = await run_epic(epic)
        await epic.run.finish("blocked")
    session.tell(*lines_of(result))
    return result
