"""What the stories of one run share: settings, worktrees, tools; and what the stages of a story leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from transom.config.model import HandoffSettings
from transom.learning import Playbook
from transom.runs import Run
from transom.stories.backlog import Backlog
from transom.stories.evidence import Rules
from transom.stories.git import Worktrees
from transom.stories.results import State
from transom.stories.testrun import TestCommand, readable
from transom.stories.workers import Kind
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
        limits: of the hand-over, and what becomes of it.
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
    limits: HandoffSettings = field(default_factory=HandoffSettings)
    target: str = ""
    reviews: int = 2
    attempts: int = 3
    parallel: int = 1
    turns: int = 60
    tokens: int | None = None


ToolMaker: TypeAlias = Callable[[str, Path], Toolbox]
"""Makes the tools of a model's seat, which work in a folder."""


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


class Stopped(Exception):
    """A story's way ends before its work is merged."""

    def __init__(self, status: State, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class _Record(BaseModel):
    """Written when a stage is done, before the next act begins."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Baseline(_Record):
    """Where a story begins: recorded before its worktree is made."""

    base: str
    branch: str
    target: str
    at: str


class Begun(_Record):
    """Where an attempt begins, and what lay outside the worktree then."""

    start: str
    outside: dict[str, str]


class Said(_Record):
    """What a seat answered and left.

    Attributes:
        head: the commit of what Dev did.
        strayed: what Dev did to the branch itself.
        outside: what changed outside the worktree meanwhile.
        kept: the branch that keeps what another seat changed and must not have.
    """

    reply: str
    at: str
    head: str = ""
    strayed: str = ""
    outside: tuple[str, ...] = ()
    kept: str = ""


class Merged(_Record):
    """The commit that brought a story's work into the target, or what kept it from that."""

    commit: str = ""
    problem: str = ""


def project_tools(tests: TestCommand, project: Path) -> ToolMaker:
    """The tools of a model: all seats may look, Dev may edit and run commands in the sandbox."""

    def make(seat: str, folder: Path) -> Toolbox:
        tools = reading_tools(folder)
        if seat == "dev":
            seen, around = readable(tests, project), tests.environment
            tools += [
                *editing_tools(folder),
                command_tool(folder, readable=seen, seconds=tests.seconds, environment=around),
            ]
        return Toolbox(tools)

    return make
