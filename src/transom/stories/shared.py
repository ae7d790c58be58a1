"""State that the stories of one run share, and the records of a story's stages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import RootModel

from transom.config.story_sections import HandoffSettings, StoriesSettings, WorkerKind
from transom.learning import Playbook
from transom.runs import PersonAnswer, Question, Run
from transom.stories.backlog_search import Backlog
from transom.stories.results import State
from transom.stories.story import StoryRecord
from transom.stories.testrun import TestCommand
from transom.stories.worktrees import Worktrees


@dataclass(frozen=True)
class StorySettings:
    """The worker of each seat (`sm`, `po`, `dev`, `qa`), the project's test command, and the
    settings.
    """

    kinds: Mapping[str, WorkerKind]
    tests: TestCommand
    stories: StoriesSettings = field(default_factory=StoriesSettings)
    handoff: HandoffSettings = field(default_factory=HandoffSettings)


@dataclass
class Epic:
    """State that the stories of one run share.

    Attributes:
        playbook: Dev sees the insights that fit the story, and outcomes count for those it cites.
        merging: lock, so that one story at a time is merged.
        trial: why the test command cannot show a failing test; None before it was tried.
        trying: lock, so that the test command is tried once.
        merges: number of started plus finished merges in this process.
        limit: why no agent can be called now, after a usage limit, or "".
        may_ask: whether a story waits for a person; else a question ends it as failed.
    """

    run: Run
    project: Path
    backlog: Backlog
    settings: StorySettings
    places: Worktrees
    playbook: Playbook | None = None
    merging: asyncio.Lock = field(default_factory=asyncio.Lock)
    trying: asyncio.Lock = field(default_factory=asyncio.Lock)
    merges: int = 0
    limit: str = ""
    trial: str | None = None
    may_ask: bool = True

    async def ask(
        self, name: str, prompt: str, options: Sequence[str], evidence: str = ""
    ) -> PersonAnswer:
        """Ask a person.

        Args:
            evidence: what the person looks at before the answer.

        Raises:
            Paused: nobody has answered yet.
            Stopped: no question may be asked.
        """
        question = Question(name, prompt, tuple(options))
        if not self.may_ask and not self.run.answer(name, question.fingerprint):
            raise Stopped("failed", f"{prompt} (questions are off)")
        return await self.run.ask(name, prompt, options=options, evidence=evidence)


class Stopped(Exception):
    """Raised when a story ends before its work is merged."""

    def __init__(self, status: State, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Baseline(StoryRecord):
    """The start of a story, recorded before its worktree is made."""

    base: str
    branch: str
    target: str
    at: str


class Outside(RootModel[dict[str, str]]):
    """State outside a worktree before an attempt: path or ref -> digest."""


class SeatReply(StoryRecord):
    """A seat's reply; for Dev also the commit, the damage to its branch (`strayed`), and changes
    `outside`.

    `kept`: the branch with parked changes of a seat that must not change files, or with commits of
    Dev's own that hold by-products. `left_out`: files that the tests make, and that are not
    committed.
    """

    reply: str
    at: str
    head: str = ""
    strayed: str = ""
    outside: tuple[str, ...] = ()
    kept: str = ""
    left_out: tuple[str, ...] = ()


class MergeResult(StoryRecord):
    """The merge commit of a story's work, or the problem that prevented the merge."""

    commit: str = ""
    problem: str = ""
