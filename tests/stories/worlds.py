"""A run of the example's epic, as the command would open it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.stories.projects import EXAMPLE, TESTS
from transom.config.story_sections import AgentSandbox, WorkerKind
from transom.learning import Playbook
from transom.llm import Chain, Provider, ScriptedProvider
from transom.runs import Run, Workspace
from transom.store import SqliteStore
from transom.stories.backlog import find_backlog
from transom.stories.epic import run_epic
from transom.stories.results import EpicResult
from transom.stories.shared import Epic, StorySettings
from transom.stories.workers import CommandWorker, ReplayWorker, rules_worker, worker_chain
from transom.stories.worktrees import Worktrees

REPLAY: dict[str, WorkerKind] = dict.fromkeys(("sm", "po", "dev", "qa"), "replay")


@dataclass
class World:
    """A project, a workspace and who works on it; `go` may be called again, as a command is
    given again.
    """

    project: Path
    workspace: Path
    epic: str = "epic-1"
    settings: StorySettings = field(default_factory=lambda: StorySettings(REPLAY, TESTS))
    replies: Path = EXAMPLE / "replies"
    command: tuple[str, ...] = ()
    seconds: float | None = None
    sandbox: AgentSandbox | None = None
    answers: dict[str, str] = field(default_factory=dict)
    playbook: Playbook | None = None
    model: ScriptedProvider | None = None
    after_append: Callable[[int], None] | None = None
    said: list[str] = field(default_factory=list)

    async def go(self, story: str | None = None) -> EpicResult:
        workspace = Workspace.at(self.workspace)
        async with SqliteStore.open(workspace.database, after_append=self.after_append) as store:
            backlog = find_backlog(self.project, self.epic)
            inputs = {"project": str(self.project), "epic": self.epic, "story": story}
            chain = Chain((self.model or ScriptedProvider({}),))
            run = await Run.open(
                "story", inputs, name=self.epic, workspace=workspace, store=store, chain=chain
            )
            places = Worktrees(run.folder / "worktrees", self.project)
            run.chain = worker_chain(run.chain, self.settings.kinds, self.makers(places))
            run.progress = self.said.append
            async with run:
                for name, answer in self.answers.items():
                    await run.decide(answer, name, by="Ada")
                epic = Epic(run, self.project, backlog, self.settings, places, self.playbook)
                return await run_epic(epic, story)

    def makers(self, places: Worktrees) -> dict[WorkerKind, Provider | None]:
        command = (
            CommandWorker(places, argv=self.command, seconds=self.seconds, sandbox=self.sandbox)
            if self.command
            else None
        )
        return {
            "command": command,
            "replay": ReplayWorker(places, name="replay", local=True, folder=self.replies),
            "rules": rules_worker(),
        }
