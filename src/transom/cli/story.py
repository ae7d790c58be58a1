"""`transom story`: an epic's stories from SM to the merge."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, Literal

import typer

from transom.canonical import pretty_json
from transom.cli.app import group
from transom.cli.command import command
from transom.cli.learn import Scope
from transom.cli.learn import opened as playbook_of
from transom.cli.output import plain, reports_in, style_status, table
from transom.cli.session import Session
from transom.config.model import StoriesSettings, WorkerKind, Workers
from transom.errors import InputError
from transom.llm import Provider
from transom.runs.artifact import write_file
from transom.sandbox import Level, needs
from transom.stories.backlog import Backlog, find_backlog
from transom.stories.epic import open_project, plan, run_epic
from transom.stories.finishing import epic_junit, existing_branch, notify, open_request, use_branch
from transom.stories.git import Git, Worktrees
from transom.stories.github_issues import read_github
from transom.stories.handoff import STAGES
from transom.stories.progress import describe_stage
from transom.stories.results import EpicResult, StoryResult
from transom.stories.shared import Epic, StorySettings
from transom.stories.status import repair as settle
from transom.stories.testrun import TestCommand, environments_of
from transom.stories.workers import (
    COMMANDS,
    CommandWorker,
    ReplayWorker,
    rules_worker,
    worker_chain,
)

_AGENT_SECONDS = 3600.0
_TITLE = 48  # characters of a title in a table that fits a narrow terminal
_MARGIN = 5.0  # so that an agent meets its own limit, whose message names the setting

story_app = group("story")
Repair = Annotated[
    Literal["story", "sprint"] | None,
    typer.Option(help="Side whose statuses overwrite the other's."),
]


@dataclass(frozen=True)
class StoryOptions:
    """What `story run` takes beside the common options."""

    project: Annotated[
        Path, typer.Option(metavar="DIR", help="Project: the top folder of a git repository.")
    ] = Path()
    epic: Annotated[
        str, typer.Option(metavar="ID", help="Epic, e.g. epic-1, or the file of its backlog.")
    ] = ""
    story: Annotated[str | None, typer.Option(metavar="ID", help="Run only this story.")] = None
    github: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Read the stories from issues of this repository."),
    ] = None
    label: Annotated[
        str, typer.Option(metavar="LABEL", help="Label of the issues that are stories.")
    ] = ""
    review: Annotated[
        bool, typer.Option("--review", help="Ask you to look at each diff before it is merged.")
    ] = False
    no_questions: Annotated[
        bool,
        typer.Option(
            "--no-questions", help="Fail a story where a person would be asked; for build servers."
        ),
    ] = False
    reports: Annotated[
        tuple[str, ...],
        typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: json or junit."),
    ] = ()
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan without calling a model or an agent.")
    ] = False
    unsafe: Annotated[
        bool,
        typer.Option(
            "--unsafe-no-sandbox",
            help="Run the project's tests without a sandbox, with your own rights.",
        ),
    ] = False


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
    stories are merged. Run the same command again to continue.
    """
    project = await open_project(session.cwd / options.project)
    options = _named(options)
    if not options.epic:
        raise InputError("no epic was given", where="--epic", hint="name one, e.g. --epic epic-1")
    reports = reports_in(options.reports, ("json", "junit"))
    settings = settings_of(session, Level.NONE if options.unsafe else Level.L3)
    if options.review:
        reviewed = settings.stories.model_copy(update={"review": True})
        settings = replace(settings, stories=reviewed)
    if options.dry_run:
        target = await existing_branch(Git(project), options.epic, settings.stories)
        settings = replace(settings, stories=target)
        backlog = await asyncio.to_thread(_backlog, project, options)
        planned = await plan(project, options.epic, options.story, settings, backlog)
        return session.report(planned, *lines_of(planned), code=planned.exit_code)
    async with _epic(session, project, options, settings) as epic:
        epic.may_ask = not options.no_questions
        result = await run_epic(epic, options.story)
        await _finish(session, epic, result)
        if reasons := _reasons(result, "paused"):
            await epic.run.pause("", reasons)
        else:
            status = {0: "done", 1: "failed", 3: "blocked"}[result.exit_code]
            waits = result.problem or _reasons(result, "blocked")
            await epic.run.finish(status, waits=waits)
    for kind, path in reports:
        content = epic_junit(result) if kind == "junit" else pretty_json(result).encode()
        write_file(session.cwd / path, content)
    return session.report(result, *lines_of(result), code=result.exit_code)


def _named(options: StoryOptions) -> StoryOptions:
    """Return the options with the name of the epic, which issues get from their label."""
    if options.github is None:
        return options
    if not options.label:
        hint = "name the label of your stories"
        raise InputError("no label was given", where="--label", hint=hint)
    return replace(options, epic=options.epic or f"{options.github}:{options.label}")


def _backlog(project: Path, options: StoryOptions) -> Backlog:
    if options.github is None:
        return find_backlog(project, options.epic)
    return read_github(options.github, options.label, options.epic)


async def _finish(session: Session, epic: Epic, result: EpicResult) -> None:
    """Open the pull request, if one is wanted, and tell who is to be told."""
    settings = session.settings.stories
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
    settled = (
        settle(project, backlog.stories, backlog.sprint, repair)
        if repair and backlog.sprint
        else []
    )
    backlog = find_backlog(project, options.epic) if settled else backlog
    states = [(one, "done" if one.id in merged else one.status) for one in backlog.stories]
    rows = [{"id": one.id, "status": state, "title": one.title} for one, state in states]
    document = {
        "epic": options.epic,
        "stories": rows,
        "drift": [*map(str, backlog.drift)],
        "settled": len(settled),
    }
    lines = [f"epic {options.epic} has no stories"]
    if rows:
        cells = [
            [row["id"], row["status"], shorten(row["title"], _TITLE, placeholder="…")]
            for row in rows
        ]
        lines = table(cells, head=["ID", "STATUS", "TITLE"])
    lines += [f"settled: {change}" for change in settled]
    lines += [f"disagrees: {difference}" for difference in backlog.drift]
    return session.report(document, *lines, code=1 if backlog.drift else 0)


def settings_of(session: Session, level: Level = Level.L3) -> StorySettings:
    """Return how stories are worked on, from the settings; their tests run at the level."""
    told, agent = session.settings.stories, session.settings.agent
    for key, argv in _commands(session).items():
        if shutil.which(argv[0]) is None:
            raise InputError(f"there is no program {argv[0]}", where=key, hint="correct it")
    model: WorkerKind = "rules" if session.settings.model == "rules" else "model"
    chosen = session.settings.origins.get("model") == "command line"
    has_agent = bool(agent.command) or agent.kind != "plain"
    default: WorkerKind = "command" if has_agent and not chosen else model
    kinds: dict[str, WorkerKind] = {seat: getattr(told.workers, seat) or default for seat in STAGES}
    seconds, pairs = (
        session.settings.execution.timeout_per_stage,
        [one.partition("=") for one in told.environment],
    )
    tests = TestCommand(
        told.tests, told.readable, seconds, {one[0]: one[2] for one in pairs}, level
    )
    return StorySettings(kinds, tests, told, session.settings.handoff)


def _commands(session: Session) -> dict[str, tuple[str, ...]]:
    """Return the key of each agent's command in the settings -> the command."""
    settings = session.settings
    commands = {"agent.command": settings.agent.command or COMMANDS.get(settings.agent.kind, ())}
    for name, agent in settings.agents.items():
        commands[f"agents.{name}.command"] = agent.command or COMMANDS.get(agent.kind, ())
    return {key: argv for key, argv in commands.items() if argv}


def _agents(session: Session, places: Worktrees) -> dict[WorkerKind, CommandWorker]:
    """Return the external agents by the names that `stories.workers` uses."""
    execution = session.settings.execution.timeout_per_stage
    is_set = "execution.timeout_per_stage" in session.settings.origins
    usual = execution if is_set else _AGENT_SECONDS
    environments = tuple(environments_of(session.settings.stories.readable, places.project.folder))
    agents: dict[WorkerKind, CommandWorker] = {}
    for key, argv in _commands(session).items():
        name = key.removesuffix(".command")
        short = name.removeprefix("agents.")
        settings = session.settings.agent if name == "agent" else session.settings.agents[short]
        agents["command" if name == "agent" else short] = CommandWorker(
            places,
            argv=argv,
            output=settings.output,
            seconds=settings.timeout or usual,
            environment=settings.env,
            setting=name,
            sandbox=settings.sandbox,
            environments=environments,
        )
    return agents


@asynccontextmanager
async def _epic(
    session: Session, project: Path, options: StoryOptions, settings: StorySettings
) -> AsyncIterator[Epic]:
    """The run of an epic, with its workers in their seats."""
    backlog = await asyncio.to_thread(_backlog, project, options)
    replay = session.settings.stories.replay
    inputs: dict[str, Any] = {"project": str(project), "epic": options.epic, "story": options.story}
    places = Worktrees(Path(), project)
    target = await use_branch(places.project, options.epic, settings.stories)
    settings = replace(settings, stories=target)
    agents = _agents(session, places)
    makers: dict[WorkerKind, Provider | None] = {
        **agents,
        "rules": rules_worker(),
        "replay": ReplayWorker(places, "replay", local=True, folder=replay) if replay else None,
    }
    name = f"{project.name}-{options.epic}".replace(os.sep, "-")
    async with session.open_store() as store:
        chain = worker_chain(session.chain(store), settings.kinds, makers)
        async with session.open_run("story", inputs, name=name, store=store, chain=chain) as opened:
            # Resolved here: the tests' sandbox has no folder `..` of a relative path.
            places.root = (opened.folder / "worktrees").resolve()
            opened.label = describe_stage
            # An agent has a limit of its own, which is longer than that of a model's stage.
            limits = [agent.seconds or 0.0 for agent in agents.values()]
            opened.stage_seconds = max([opened.stage_seconds, *limits]) + _MARGIN
            with playbook_of(session, Scope(domain="stories"), "make") as playbook:
                yield Epic(opened, project, backlog, settings, places, playbook)


def _reasons(result: EpicResult, status: str) -> str:
    """Return why stories have a status, in one line; "" if none has it."""
    stories = [story for story in result.stories if story.status == status]
    return "; ".join(f"{story.id}: {story.reason}" for story in stories)


def lines_of(result: EpicResult) -> list[str]:
    """A result for people."""
    lines = ["dry run: nobody is called, and nothing changes"] if result.dry_run else []
    lines += [line for story in result.stories for line in _lines(story)]
    waiting = [story.reason for story in result.stories if story.status == "paused"]
    if any("transom resume" not in reason for reason in waiting):
        lines.append(f"once that is settled, go on with: transom resume {result.run_id}")
    lines += [f"disagrees: {drift}" for drift in result.drift]
    if result.branch:
        lines.append(f"branch: {result.branch}")
    if result.request:
        lines.append(f"pull request: {result.request}")
    if result.problem:
        lines.append(result.problem)
    return lines + [f"not read: {entry}" for entry in result.skipped]


def _lines(story: StoryResult) -> list[str]:
    lines = [f"{style_status(f'{story.status:<8}')} {story.id}  {story.title}"]
    lines += [f"  {story.reason}"] if story.reason else []
    lines += [
        f"  would call {seat}, which sees (characters): {plain(window)}"
        for seat, window in story.windows.items()
    ]
    for row in story.stages:
        said = row.decision or "; ".join(row.evidence.get("findings") or []) or row.summary
        lines.append(f"  {row.stage} {row.attempt}: {said}"[:200])
    lines += [f"  tests: {plain(story.tests)}"] if story.tests else []
    if story.usage.get("input_tokens") or story.cost is not None:
        cost = "cost unknown" if story.cost is None else f"{story.cost:.2f} USD"
        tokens = story.usage.get("input_tokens", 0), story.usage.get("output_tokens", 0)
        lines.append(f"  spent: {tokens[0]:,} tokens in, {tokens[1]:,} out, {cost}")
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
    told = StoriesSettings(
        workers=Workers(sm="replay", po="replay", dev="replay", qa="replay"),
        replay=shipped / "replies",
        tests=("{python}", "run_tests.py", "{junit}"),
        environment=("PYTHONDONTWRITEBYTECODE=1",),
    )
    apart = {"stories": told, "workspace": folder / "workspace", "state_dir": None, "store": None}
    session = replace(session, settings=session.settings.model_copy(update=apart))
    options = StoryOptions(folder / "project", "epic-1")
    level = Level.L3
    if missing := needs(Level.L3):
        level = Level.L2
        session.tell(f"  The tests run at sandbox level L2 (Landlock, seccomp), not L3: {missing}.")
    async with _epic(
        session, await open_project(options.project), options, settings_of(session, level)
    ) as epic:
        result = await run_epic(epic)
        await epic.run.finish("blocked")
    session.tell(*lines_of(result))
    return result
