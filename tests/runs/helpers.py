"""A tiny three-stage product to walk in tests, and what it needs around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from transom.agent import call
from transom.llm import Block, Chain, Provider, Reply, Request, Role, ScriptedProvider, Tier
from transom.runs import Artifact, Run, Stage, Workspace, text_file
from transom.runs.event_log import RunHost
from transom.runs.summarising import RunRow
from transom.store import SqliteStore
from transom.telemetry import Telemetry

FIRST = Role(
    "test.first", (Block("role", "You are first.", Tier.STABLE),), frozenset({"role", "source"})
)
SECOND = Role(
    "test.second", (Block("role", "You are second.", Tier.STABLE),), frozenset({"role", "before"})
)


async def ask(stage: Stage, role: Role, name: str, text: str) -> str:
    return (await call(stage, role, [Block(name, text)], lambda said: said)).value


async def put(stage: Stage, request: Request, role: Role) -> Reply:
    """Ask with a request as it is, behind a message of its own."""
    await stage.append("user_message", "main", {"text": None, "fingerprint": request.digest})
    return (await stage.ask(request, role)).reply


def journal_of(store: SqliteStore, folder: Path) -> RunHost:
    """A run's journal, without all that a run has beside it."""
    return RunHost(
        RunRow("x", "test", "x", {}), folder, store, Chain((ScriptedProvider({}),)), Telemetry()
    )


async def first(stage: Stage, source: str) -> str:
    return await ask(stage, FIRST, "source", source)


async def second(stage: Stage, before: str) -> str:
    return await ask(stage, SECOND, "before", before)


async def joined(stage: Stage, one: str, two: str) -> str:
    del stage
    return f"{one}+{two}"


@dataclass
class Desk:
    """A workspace on disk and what happened in the walks over it."""

    root: Path
    provider: Provider
    lines: list[str] = field(default_factory=list)
    after_append: Callable[[int], None] | None = None

    async def walk(self, source: str = "s", *, seconds: float = 300.0) -> tuple[Artifact[str], ...]:
        workspace = Workspace.at(self.root / ".transom")
        async with SqliteStore.open(workspace.database, after_append=self.after_append) as store:
            run = await self.open_run(workspace, store)
            async with run:
                run.stage_seconds = seconds
                return await self.stages(run, source)

    async def open_run(self, workspace: Workspace, store: SqliteStore) -> Run:
        chain = Chain((self.provider,))
        run = await Run.open(
            "test", {"file": "x"}, name="x", workspace=workspace, store=store, chain=chain
        )
        run.progress = self.lines.append
        return run

    async def stages(self, run: Run, source: str) -> tuple[Artifact[str], ...]:
        one = await run.stage("one", first, source, out=text_file("one.md"), uses=[FIRST])
        two = await run.stage("two", second, one, out=text_file("two.md"), uses=[SECOND])
        both = await run.stage("both", joined, one, two, out=text_file("both.md"))
        await run.finish("done")
        return one, two, both

    def file(self, name: str) -> Path:
        (found,) = (self.root / ".transom" / "runs" / "x").glob(
            f"*/{name.removesuffix('.md')}/{name}"
        )
        return found


def echo(request: Request) -> str:
    """Answers with what it was shown, so that a changed input shows in the answer."""
    return f"<{request.window.blocks[-1].text}>"


def desk(tmp_path: Path) -> tuple[Desk, ScriptedProvider]:
    provider = ScriptedProvider(echo)
    return Desk(tmp_path, provider), provider
