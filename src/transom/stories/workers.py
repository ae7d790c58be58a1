"""Workers for a seat: an external coding agent, a recording, fixed rules, or a model.

Each is a provider, so that windows, journal and resuming are the same for all. A worker's reply is
only a claim.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transom.canonical import canonical_json, digest
from transom.config.story_sections import AgentSandbox, WorkerKind
from transom.errors import InputError, NeedsModel, NotUnderstood, ProviderError, ReplayMiss
from transom.llm import (
    Capabilities,
    Chain,
    Provider,
    Reply,
    Request,
    Role,
    RulesProvider,
    Text,
    Usage,
    render,
)
from transom.llm.deltas import OnDelta, tell
from transom.llm.purse import FAILED_ATTEMPT
from transom.sandbox import Level, agent_line, run_openly
from transom.sandbox.levels import require
from transom.stories.agent_output import AgentOutput, read_agent_output
from transom.stories.git import Git
from transom.stories.handoff import AgentValidator, StoryHandoff
from transom.stories.story import Story, count_words
from transom.stories.submodules import fill_submodules
from transom.stories.worktrees import Worktrees

_MARK = "TRANSOM_WORKTREE"
_NO_TOOLS = Capabilities(tools=False)


@dataclass
class _Worker(Provider):
    """Base of the workers that act in a worktree, which is restored before each call."""

    places: Worktrees
    name: str = "command"
    local: bool = False
    caps: Capabilities = _NO_TOOLS
    is_retried = False  # an attempt of an agent takes long, and the story counts its attempts

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        workplace: Any = request.window.get("workplace").data
        await self.places.restore(workplace["branch"], workplace["commit"])
        await fill_submodules(self.places.git(workplace["branch"]), self.places.project.folder)
        seat, worktree = request.role.partition(".")[2], self.places.git(workplace["branch"])
        text, usage = await self.work(
            request,
            worktree,
            {"role": seat, **{key: str(workplace[key]) for key in ("story", "attempt")}},
        )
        return tell(Reply((Text(text),), usage=usage, by=self.name), on_delta)

    async def work(
        self, request: Request, worktree: Git, task: Mapping[str, str]
    ) -> tuple[str, Usage]:
        """Return the reply, and the tokens as far as they are known."""
        raise NotImplementedError


COMMANDS: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude", "-p", "--output-format", "json", "--permission-mode", "acceptEdits"),
    "codex": ("codex", "exec", "--json", "--sandbox", "workspace-write", "-"),
    "gemini": ("gemini", "--output-format", "json", "--approval-mode", "auto_edit"),
    "aider": (
        "aider",
        "--yes-always",
        "--no-stream",
        "--no-auto-commits",
        "--no-gitignore",
        "--message-file",
        "/dev/stdin",
    ),
    "opencode": ("opencode", "run", "--format", "json"),
}
"""Kind of an agent -> its command, if the settings name none."""


class AgentLimit(ProviderError):
    """Raised when an agent's usage limit is reached: no story can go on with it before that."""


@dataclass
class CommandWorker(_Worker):
    """An external coding agent: a new process per call, prompt on stdin, reply on stdout.

    A good reply counts, whatever the exit code is. Without a sandbox the agent runs with the user's
    own rights; the orchestrator checks its changes.

    Attributes:
        seconds: limit of one call; None: the stage's.
        setting: the key of its settings, for messages.
        sandbox: what the agent may see beside its worktree; None: all that the user may.
        environments: paths with the project's packages, which a sandbox shows.
    """

    argv: tuple[str, ...] = ()
    output: str | None = None
    seconds: float | None = None
    environment: tuple[str, ...] = ()
    setting: str = "agent"
    sandbox: AgentSandbox | None = None
    environments: tuple[Path, ...] = ()

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the Provider's signature
        return digest(canonical_json(list(self.argv)))[:16]

    async def work(
        self, request: Request, worktree: Git, task: Mapping[str, str]
    ) -> tuple[str, Usage]:
        end_leftovers(worktree.folder)
        variables = [entry.partition("=") for entry in self.environment]
        environment = {
            **{name: value for name, _, value in variables},
            **{f"TRANSOM_{name.upper()}": value for name, value in task.items()},
            _MARK: str(worktree.folder),
        }
        # The prompt comes on stdin: an argument has a limit of 128 kB.
        prompt = render(request).as_text()
        # The name holds the attempt: another attempt must not take up this one's files.
        partial = f"{worktree.folder.name}-{task['role']}-{task['attempt']}"
        if task["role"] == "dev" and await worktree.take_partial(partial):
            prompt += _GO_ON
        try:
            process = await run_openly(
                await self._enclosed(worktree),
                worktree.folder,
                environment,
                prompt=prompt,
                seconds=self.seconds,
                setting=f"{self.setting}.command",
            )
        finally:
            # A process in a session of its own outlives its group.
            end_leftovers(worktree.folder)
        if process.ended == "time":
            workplace: Any = request.window.get("workplace").data
            with contextlib.suppress(InputError):  # an agent may have removed its worktree
                await worktree.keep_partial(partial, workplace["commit"])
            problem = f"the agent reached its limit of {self.seconds:g} s ({self.setting}.timeout)"
            hint = "raise the setting; the next call goes on with the files that it left"
            raise ProviderError(problem, place=self.argv[0], hint=hint)
        output = read_agent_output(
            process.stdout, process.stderr, process.code, is_text=self.output == "text"
        )
        # Before the reply is read: an error message would be taken for a summary.
        try:
            await self._refuse(output, worktree, task["role"])
        except ProviderError:
            # The tool bills a call that did no work, too.
            if output.usage != Usage() and (note := FAILED_ATTEMPT.get(None)):
                note(self.name, output.usage)
            raise
        return output.text.replace("\0", "\N{REPLACEMENT CHARACTER}"), output.usage

    def may_change(self, project: Path) -> bool:
        """Whether the agent can change the project's own folder and repository."""
        if self.sandbox is None:
            return True
        # A writable folder may hold the project, or lie in it.
        for path in self.sandbox.writable:
            folder = Path(path).expanduser().resolve()
            if project.is_relative_to(folder) or folder.is_relative_to(project):
                return True
        return False

    async def _enclosed(self, worktree: Git) -> Sequence[str]:
        """Return the command, in the agent's sandbox if it has one."""
        if self.sandbox is None:
            return self.argv
        require(Level.L3)
        # Read-only: git outside of the sandbox runs hooks and follows settings that lie there.
        repository = await worktree("rev-parse", "--path-format=absolute", "--git-common-dir")
        readable = [*self.sandbox.readable, *self.environments, Path(repository)]
        return agent_line(
            worktree.folder,
            self.argv,
            readable=readable,
            writable=self.sandbox.writable,
            network=self.sandbox.network,
        )

    async def _refuse(self, output: AgentOutput, worktree: Git, role: str) -> None:
        """Raise an error for a call that did no work: a limit, an error, a missing permission."""
        if output.limit:
            until = f" until {output.until}" if output.until else ""
            problem = f"the agent's usage limit is reached{until}: {output.limit}"
            hint = "run the same command when the limit has ended; no finished call is repeated"
            # An error of its own: it pauses the epic, since each further call would fail as well.
            raise AgentLimit(problem, place=self.argv[0], hint=hint)
        if output.error:
            problem = f"the agent ended with an error: {output.error[:300]}"
            hint = "run the command by hand"
            raise ProviderError(problem, place=self.argv[0], hint=hint, retryable=True)
        # Some tools end well after a denied permission. Other roles need to change nothing.
        if output.denials and role == "dev" and not (await worktree.look())[2]:
            tools = ", ".join(output.denials)
            message = " ".join(output.text.split())[:200]
            problem = f"the agent was not permitted to use {tools}, and changed nothing: {message}"
            hint = f"allow it in {self.setting}.command, for example with its permission mode"
            raise ProviderError(problem, place=self.argv[0], hint=hint)


_GO_ON = """
An earlier call with this task reached its time limit. Its unfinished work lies in your folder: look
at it with git status, and go on with it.
"""


def end_leftovers(folder: Path) -> None:
    """Kill agents of this worktree that outlived a killed orchestrator, so that two never work
    at once.
    """
    # The environment is inherited, so it also marks what the agent started.
    mark = f"{_MARK}={folder}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


@dataclass
class ReplayWorker(_Worker):
    """Recorded replies: `FOLDER/STORY/SEAT-N.txt`, and for Dev the changes `dev-N.patch` beside
    its reply.
    """

    folder: Path = Path()

    async def work(
        self,
        request: Request,  # noqa: ARG002  the signature
        worktree: Git,
        task: Mapping[str, str],
    ) -> tuple[str, Usage]:
        reply = self.folder / task["story"] / f"{task['role']}-{task['attempt']}.txt"
        # An id such as `../x` would read a file outside of the recording.
        if not re.fullmatch(r"[\w.-]+", task["story"]) or not reply.is_file():
            raise ReplayMiss(
                "the recording is missing",
                place=str(reply),
                hint="record it, or choose another worker",
            )
        if (patch := reply.with_suffix(".patch")).is_file():
            await worktree("apply", "--whitespace=nowarn", str(patch.resolve()))
        return reply.read_text(encoding="utf-8"), Usage()


def rules_worker() -> Provider:
    """Return fixed rules for SM, PO and QA; Dev abstains."""
    table = {"stories.sm": _sm, "stories.po": _po, "stories.qa": _qa, "stories.dev": _dev}
    return RulesProvider(table, dict.fromkeys(table, 1), {})


def _say(*lines: str) -> Reply:
    return Reply((Text("\n".join(lines)),))


def _sm(request: Request) -> Reply:
    story = Story.model_validate(request.window.get("story").data)
    return _say(f"SUMMARY: {story.title}: {story.goal} ({len(story.criteria)} acceptance criteria)")


def _po(request: Request) -> Reply:
    story = Story.model_validate(request.window.get("story").data)
    # Rules see form alone. They ask for the same as the check of SM, and nothing else.
    ready, why = AgentValidator.validate_sm_output(story, StoryHandoff(story.id))
    vague = [
        f"AC {number} says too little"
        for number, criterion in enumerate(story.criteria, 1)
        if count_words(criterion) < 3
    ]
    if ready and not vague:
        return _say(
            "SUMMARY: goal and criteria are there; contradictions are not looked for.",
            "DECISION: APPROVED",
        )
    return _say("DECISION: CHANGES REQUESTED", f"REASON: {vague[0] if ready else why} (Story)")


def _qa(request: Request) -> Reply:
    tests: Any = request.window.get("tests").data
    if tests["uncovered"]:
        return _say(
            "DECISION: FAIL", f"REASON: no test that ran is named for AC {tests['uncovered'][0]}"
        )
    return _say(
        f"SUMMARY: {tests['passed']} tests pass, and each criterion has one.", "DECISION: PASS"
    )


def _dev(request: Request) -> Reply:
    hint = "set agent.command, or choose a model: rules write no code"
    raise NeedsModel(
        [NotUnderstood(Story.model_validate(request.window.get("story").data).title, "story")],
        hint=hint,
    )


_KEYS = {"command": "agent.command", "replay": "stories.replay"}


def worker_chain(
    chain: Chain, kinds: Mapping[str, WorkerKind], makers: Mapping[WorkerKind, Provider | None]
) -> Chain:
    """Return the chain with each seat's worker; seats of kind `model` keep the chain's provider.

    Raises:
        InputError: a worker is not configured.
    """
    # Each worker is a chain of its own: no model answers where an agent was meant to work.
    seats = dict(chain.seats)
    for seat, kind in kinds.items():
        if worker := makers.get(kind):
            seats[f"stories.{seat}"] = Chain((worker,), chain.policy)
        elif kind in _KEYS:
            key = _KEYS[kind]
            problem = f"the worker of {seat} is {kind}, but {key} is not set"
            raise InputError(problem, place="stories.workers", hint=f"set {key}")
        elif kind != "model":
            names = ", ".join(("command", "model", "rules", "replay"))
            problem = f"the worker {kind!r} is unknown"
            hint = f"write {names}, or the name of one of `agents`"
            raise InputError(problem, place=f"stories.workers.{seat}", hint=hint)
    return replace(chain, seats=seats)
