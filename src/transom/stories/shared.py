"""What the stories of one run share: settings, worktrees, tools, the way to ask a person."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from transom.learning import Playbook
from transom.runs import Run
from transom.stories.backlog import Backlog
from transom.stories.evidence import Rules
from transom.stories.handoff import HandoffLimits
from transom.stories.results import State
from transom.stories.testrun import TestCommand, environments
from transom.stories.workers import Kind
from transom.stories.worktrees import Worktrees
from transom.tools import Toolbox
from transom.tools.editing import editing_tools, reading_tools
from transom.tools.shell import command_tool


@dataclass(frozen=True)
class StorySettings:
    """How stories are worked on.

    Attributes:
        kinds: seat -> who works there.
        tests: how the project's tests are run.
        rules: which files may change.
        limits: of the hand-over.
        retention: what becomes of the hand-over of a finished story.
        target: the branch that work is merged into; the one that is checked out where "".
        reviews: how often PO may send a story back to SM.
        attempts: how often Dev may try.
        parallel: stories at once.
        turns: replies of a model that may call tools, in one stage.
        tokens: that the stages of one story may take; None: as many as it takes.
    """

    kinds: Mapping[str, Kind]
    tests: TestCommand
    rules: Rules = field(default_factory=Rules)
    limits: HandoffLimits = field(default_factory=HandoffLimits)
    retention: str = "delete"
    target: str = ""
    reviews: int = 2
    attempts: int = 3
    parallel: int = 1
    turns: int = 60
    tokens: int | None = None


ToolMaker: TypeAlias = Callable[[str, Path], Toolbox]
"""Makes the tools of a model's seat, which work in a folder."""


class Stopped(Exception):
    """A story's way ends before its work is merged."""

    def __init__(self, status: State, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class Epic:
    """What the stories of one run share.

    Attributes:
        run: the run.
        project: the project's folder.
        backlog: the epic.
        settings: how.
        places: the worktrees.
        tools: makes the tools of models.
        playbook: what was learned; Dev is shown what fits the story, and what came of it is counted.
        merging: one story at a time is merged.
        merges: counts beginnings and ends of merges in this process.
    """

    run: Run
    project: Path
    backlog: Backlog
    settings: StorySettings
    places: Worktrees
    tools: ToolMaker | None = None
    playbook: Playbook | None = None
    merging: asyncio.Lock = field(default_factory=asyncio.Lock)
    merges: int = 0


def project_tools(tests: TestCommand, project: Path) -> ToolMaker:
    """The tools of a model: all seats may look, Dev may edit and run commands in the sandbox."""
    readable = [*tests.readable, Path(sys.prefix), Path(sys.base_prefix), *environments(project)]

    def make(seat: str, folder: Path) -> Toolbox:
        tools = reading_tools(folder)
        if seat == "dev":
            run = command_tool(folder, readable=readable, seconds=tests.seconds, environment=tests.environment)
            tools += [*editing_tools(folder), run]
        return Toolbox(tools)

    return make
