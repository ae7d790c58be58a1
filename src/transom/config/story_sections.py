"""Sections of the settings for stories: coding agents, workers, tests, and hand-over."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transom.config.runtime_sections import NotifySettings
from transom.config.section import PathValue, PathValues, SettingsSection, TextValues

AgentKind = Literal["claude", "codex", "gemini", "aider", "opencode", "plain"]


class AgentSandbox(SettingsSection):
    """The sandbox of an external coding agent, by bubblewrap.

    The agent writes to the story's worktree alone; your home is empty but for the paths named here.

    Attributes:
        readable: further paths that it may read, such as its program's own folder.
        writable: further paths that it may change, such as the folder with its login.
        network: whether it may use the network.
    """

    readable: PathValues = ()
    writable: PathValues = ()
    network: bool = True


class ExternalAgent(SettingsSection):
    """An external coding agent for stories.

    Attributes:
        kind: the tool; it gives the command if none is set.
        command: the program and its arguments; the prompt comes on its stdin, the reply on its
            stdout.
        output: form of its stdout; None: recognised by its fields.
        timeout: limit of one call in seconds; None: `execution.timeout_per_stage` if that is set,
            else an hour.
        env: variables of the agent beside yours, as NAME=VALUE.
        sandbox: see `AgentSandbox`; None: the agent has your rights.
    """

    kind: AgentKind = "plain"
    command: TextValues = ()
    output: Literal["text", "json", "jsonl"] | None = None
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    env: TextValues = ()
    sandbox: AgentSandbox | None = None


WorkerKind = str
"""`command`, `model`, `rules`, `replay`, or the name of one of `agents`."""


class Workers(SettingsSection):
    """The kind of worker for each seat of a story.

    None: the external agent if one is set, else the provider in `model`. `command` is the agent in
    `agent`; another word is the name of one of `agents`.
    """

    sm: WorkerKind | None = None
    po: WorkerKind | None = None
    dev: WorkerKind | None = None
    qa: WorkerKind | None = None


class SetupSettings(SettingsSection):
    """Installation of the packages that a project's tests need.

    Attributes:
        command: run in the worktree before the tests, with network, once for each state of the lock
            files; empty: nothing is installed.
        locks: globs of the files that decide what is installed.
        timeout: seconds that it may take.
    """

    command: TextValues = ()
    locks: TextValues = ("*.lock", "*-lock.*", "*.lockb", "go.sum", "requirements*.txt")
    timeout: float = Field(default=900, gt=0)


class StoriesSettings(SettingsSection):
    """Settings of stories.

    Attributes:
        workers: see `Workers`.
        replay: the folder of recorded replies, for seats of kind `replay`.
        tests: the command of the project's tests. It writes a JUnit report to `{junit}`; without
            that word, its output is read. `{project}` is the project's folder, `{python}` the
            interpreter of this program.
        readable: folders that the tests may read beside the worktree, the system and the project's
            environment.
        environment: variables of the tests, as NAME=VALUE.
        setup: see `SetupSettings`.
        target: the branch that finished stories are merged into; None: the checked-out branch.
        finish: what becomes of finished stories: `merge`; `branch`: they are merged into a branch
            of the epic; `pull-request`: that branch is pushed too, and a request is opened for it.
        review: whether a person looks at each story's diff before it is merged.
        notify: who is told how an epic ended, see `NotifySettings`.
        also_allowed: globs of files that every story may change beside its own.
        protected: globs of further files that a story must name to change them.
        least_quality: the score, from 0 to 1, below which a person is asked about Dev's summary:
            the mean of criteria named, changed files named, and no false claim of tests. 0: never.
        reviews: number of times that PO may send a story back.
        attempts: number of Dev's attempts.
        parallel: number of stories at once, if they touch different files.
        max_tokens: token limit of one story, enforced within each stage too; None: no limit.
        max_turns: limit of a model's replies that call tools, in one stage.
    """

    workers: Workers = Workers()
    replay: PathValue | None = None
    tests: TextValues = ()
    readable: PathValues = ()
    environment: TextValues = ()
    setup: SetupSettings = SetupSettings()
    target: str | None = None
    finish: Literal["merge", "branch", "pull-request"] = "merge"
    review: bool = False
    notify: NotifySettings = NotifySettings()
    also_allowed: TextValues = ("tests/**", "test/**")
    protected: TextValues = ()
    least_quality: float = Field(default=0.0, ge=0.0, le=1.0)
    reviews: int = Field(default=2, ge=0)
    attempts: int = Field(default=3, ge=1)
    parallel: int = Field(default=1, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_turns: int = Field(default=60, ge=1)


class HandoffSettings(SettingsSection):
    """Limits of a story's hand-over, and retention of its file.

    Attributes:
        retention: for finished stories: `delete`; `failed`: keep if the story was blocked on its
            way; `keep:N`: keep the newest N; `archive`: keep all.
        max_summary_length, max_acceptance_criteria, max_files_tracked: limits of summaries in
            characters, of criteria and files in numbers.
        summary_passed_on, files_passed_on: limits for the next stage, of the summary in characters
            and of the files.
    """

    retention: str = Field(default="delete", pattern=r"^(delete|failed|archive|keep:\d+)$")
    max_summary_length: int = Field(default=2000, ge=1)
    max_acceptance_criteria: int = Field(default=10, ge=1)
    max_files_tracked: int = Field(default=20, ge=1)
    summary_passed_on: int = Field(default=500, ge=1)
    files_passed_on: int = Field(default=10, ge=1)
