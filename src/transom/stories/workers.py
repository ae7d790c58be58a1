"""Workers for a seat: an external coding agent, a recording, fixed rules, or a model.

Each is a provider, so that windows, journal and resuming are the same for all. A worker's reply is
only a claim.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transom.canonical import canonical_json, digest
from transom.config.model import WorkerKind
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
from transom.sandbox import run_openly
from transom.stories.git import Git, Worktrees
from transom.stories.handoff import AgentValidator, StoryHandoff
from transom.stories.story import Story

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
        at: Any = request.window.get("workplace").data
        await self.places.restore(at["branch"], at["commit"])
        seat, here = request.role.partition(".")[2], self.places.git(at["branch"])
        text = await self.work(
            request, here, {"role": seat, **{key: str(at[key]) for key in ("story", "attempt")}}
        )
        # The tokens of an external agent are unknown, and a recorded reply spends none.
        return tell(Reply((Text(text),), usage=Usage(), by=self.name), on_delta)

    async def work(self, request: Request, here: Git, at: Mapping[str, str]) -> str:
        raise NotImplementedError


@dataclass
class CommandWorker(_Worker):
    """An external coding agent: a new process per call, prompt on stdin, reply on stdout.

    Its exit code does not count. It runs with the user's own rights; the orchestrator checks its
    changes.
    """

    argv: tuple[str, ...] = ()

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the Provider's signature
        return digest(canonical_json(list(self.argv)))[:16]

    async def work(self, request: Request, here: Git, at: Mapping[str, str]) -> str:
        _end_leftovers(here.folder)
        environment = {
            **{f"TRANSOM_{name.upper()}": value for name, value in at.items()},
            _MARK: str(here.folder),
        }
        prompt = render(request).as_text()
        done = await run_openly(
            self.argv, here.folder, environment, prompt=prompt, setting="agent.command"
        )
        if done.code and not done.stdout.strip():
            message = " ".join(done.stderr.split())[-300:]
            what = f"the agent ended with exit code {done.code} and no reply: {message}"
            raise ProviderError(
                what, where=self.argv[0], hint="run the command by hand", retryable=True
            )
        return done.stdout.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _end_leftovers(folder: Path) -> None:
    """Kill agents of this worktree that outlived a killed orchestrator, so that two never work
    at once.
    """
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

    async def work(self, request: Request, here: Git, at: Mapping[str, str]) -> str:  # noqa: ARG002  the signature
        reply = self.folder / at["story"] / f"{at['role']}-{at['attempt']}.txt"
        if not re.fullmatch(r"[\w.-]+", at["story"]) or not reply.is_file():
            raise ReplayMiss(
                "the recording is missing",
                where=str(reply),
                hint="record it, or choose another worker",
            )
        if (patch := reply.with_suffix(".patch")).is_file():
            await here("apply", "--whitespace=nowarn", str(patch.resolve()))
        return reply.read_text(encoding="utf-8")


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
    ready, why = AgentValidator.validate_sm_output(story, StoryHandoff(story.id))
    vague = [
        f"AC {number} says too little"
        for number, one in enumerate(story.criteria, 1)
        if len(one.split()) < 3
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


def worker_chain(
    chain: Chain, kinds: Mapping[str, WorkerKind], makers: Mapping[WorkerKind, Provider | None]
) -> Chain:
    """Return the chain with each seat's worker; seats of kind `model` keep the chain's provider.

    Raises:
        InputError: a worker is not configured.
    """
    seats = dict(chain.seats)
    for seat, kind in kinds.items():
        if worker := makers.get(kind):
            seats[f"stories.{seat}"] = Chain((worker,), chain.policy)
        elif kind != "model":
            key = "agent.command" if kind == "command" else "stories.replay"
            what = f"the worker of {seat} is {kind}, but {key} is not set"
            raise InputError(what, where="stories.workers", hint=f"set {key}")
    return replace(chain, seats=seats)
