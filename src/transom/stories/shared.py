"""What the stories of one run share, and what the stages of a story leave."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import RootModel

from transom.config.model import HandoffSettings, StoriesSettings, WorkerKind
from transom.learning import Playbook
from transom.runs import Run
from transom.stories.backlog import Backlog
from transom.stories.git import Worktrees
from transom.stories.results import State
from transom.stories.story import Record
from transom.stories.testrun import TestCommand


@dataclass(frozen=True)
class StorySettings:
    """Who works at each seat (`sm`, `po`, `dev`, `qa`), how the project's tests are run, and what the settings say."""

    kinds: Mapping[str, WorkerKind]
    tests: TestCommand
    stories: StoriesSettings = field(default_factory=StoriesSettings)
    handoff: HandoffSettings = field(default_factory=HandoffSettings)


@dataclass
class Epic:
    """What the stories of one run share.

    Attributes:
        playbook: what was learned; Dev is shown what fits the story, and what came of it is counted.
        merging: one story at a time is merged.
        merges: counts beginnings and ends of merges in this process.
    """

    run: Run
    project: Path
    backlog: Backlog
    settings: StorySettings
    places: Worktrees
    playbook: Playbook | None = None
    merging: asyncio.Lock = field(default_factory=asyncio.Lock)
    merges: int = 0


class Stopped(Exception):
    """A story's way ends before its work is merged."""

    def __init__(self, status: State, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Baseline(Record):
    """Where a story begins: recorded before its worktree is made."""

    base: str
    branch: str
    target: str
    at: str


class Outside(RootModel[dict[str, str]]):
    """What lay outside a worktree before an attempt, digested: path or ref -> digest."""


class Said(Record):
    """What a seat answered and left: of Dev, the commit, what it did to the branch, what changed elsewhere meanwhile.

    `kept`: the branch that keeps what another seat changed and must not have.
    """

    reply: str
    at: str
    head: str = ""
    strayed: str = ""
    outside: tuple[str, ...] = ()
    kept: str = ""


class Merged(Record):
    """The commit that brought a story's work into the target, or what kept it from that."""

    commit: str = ""
    problem: str = ""
