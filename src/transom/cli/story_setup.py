"""What options and settings say of an epic: its stories, workers, coding agents, and limits."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.command_session import Session
from transom.cli.knowledge import PlaybookScope
from transom.cli.knowledge import opened as playbook_of
from transom.config.story_sections import WorkerKind
from transom.errors import InputError
from transom.llm import Provider
from transom.sandbox import Level
from transom.stories.backlog import find_backlog
from transom.stories.backlog_search import Backlog
from transom.stories.dependencies import Dependencies
from transom.stories.finishing import use_branch
from transom.stories.git import Git
from transom.stories.github_issues import read_github
from transom.stories.handoff import STAGES
from transom.stories.progress import describe_stage
from transom.stories.request_comments import read_comments, stories_of
from transom.stories.shared import Epic, StorySettings
from transom.stories.testrun import TestCommand, environments_of
from transom.stories.workers import (
    COMMANDS,
    CommandWorker,
    ReplayWorker,
    rules_worker,
    worker_chain,
)
from transom.stories.worktrees import Worktrees

_AGENT_SECONDS = 3600.0
_MARGIN = 5.0  # so that an agent meets its own limit, whose message names the setting


@dataclass(frozen=True)
class StoryOptions:
    """The options of `story run`, besides the common ones."""

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
    comments: Annotated[
        bool,
        typer.Option(
            "--comments", help="Work on the reviewers' comments on the epic's pull request, too."
        ),
    ] = False
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


async def backlog_of(project: Path, options: StoryOptions) -> Backlog:
    """Return the stories that the options name, from the project or from GitHub."""
    if options.github is None:
        backlog = await asyncio.to_thread(find_backlog, project, options.epic)
    else:
        words = (options.github, options.label, options.epic)
        backlog = await asyncio.to_thread(read_github, *words)
    if not options.comments:
        return backlog
    comments = await read_comments(Git(project), options.epic)
    stories = (*backlog.stories, *stories_of(comments, options.epic))
    return replace(backlog, stories=stories)


def settings_of(session: Session, level: Level = Level.L3) -> StorySettings:
    """Return how stories are worked on, from the settings; their tests run at the level."""
    settings, agent = session.settings.stories, session.settings.agent
    for key, argv in _commands(session).items():
        if shutil.which(argv[0]) is None:
            raise InputError(f"there is no program {argv[0]}", place=key, hint="correct it")
    default: WorkerKind = "rules" if session.settings.model == "rules" else "model"
    # A model of the command line takes the place of the agent of the settings.
    is_model_named = session.settings.origins.get("model") == "command line"
    if (agent.command or agent.kind != "plain") and not is_model_named:
        default = "command"
    kinds: dict[str, WorkerKind] = {}
    for seat in STAGES:
        kinds[seat] = getattr(settings.workers, seat) or default
    environment: dict[str, str] = {}
    for text in settings.environment:
        name, _, value = text.partition("=")
        environment[name] = value
    seconds = session.settings.execution.timeout_per_stage
    dependencies = None
    if settings.setup.command:
        cache = (session.workspace_root / "packages").resolve()
        setup = settings.setup
        dependencies = Dependencies(
            setup.command, setup.locks, cache, setup.timeout, settings.readable
        )
    tests = TestCommand(
        settings.tests, settings.readable, seconds, environment, level, dependencies
    )
    return StorySettings(kinds, tests, settings, session.settings.handoff)


def _commands(session: Session) -> dict[str, tuple[str, ...]]:
    """Return the key of each agent's command in the settings -> the command."""
    settings = session.settings
    agents = {"agent": settings.agent}
    for name, agent in settings.agents.items():
        agents[f"agents.{name}"] = agent
    commands: dict[str, tuple[str, ...]] = {}
    for key, agent in agents.items():
        # A known kind of agent has a command of its own.
        if argv := agent.command or COMMANDS.get(agent.kind, ()):
            commands[f"{key}.command"] = argv
    return commands


def _agents(session: Session, places: Worktrees) -> dict[WorkerKind, CommandWorker]:
    """Return the external agents by the names that `stories.workers` uses."""
    execution = session.settings.execution.timeout_per_stage
    is_set = "execution.timeout_per_stage" in session.settings.origins
    # An agent works longer than a model writes.
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
async def opened_epic(
    session: Session, project: Path, options: StoryOptions, settings: StorySettings
) -> AsyncIterator[Epic]:
    """Open the run of an epic, with its workers in their seats."""
    backlog = await backlog_of(project, options)
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
            with playbook_of(session, PlaybookScope(domain="stories"), "make") as playbook:
                yield Epic(opened, project, backlog, settings, places, playbook)
