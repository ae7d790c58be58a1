"""Where an agent lives: a stage of somebody's run, or a run of its own, kept or thrown away."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from transom.agent.costs import priced_exporter
from transom.agent.setup import LateShelf, Setup
from transom.canonical import Json
from transom.config import Settings
from transom.errors import InputError
from transom.llm import Chain, Role
from transom.llm.codec import reply_from_json
from transom.runs import Named, Run, Stage, Workspace
from transom.runs.names import MAIN
from transom.runs.run import RUNS
from transom.runs.standing import is_in_part
from transom.store import Record, Store

STAGE = "conversation"
KIND = "agent"
_OF_PROGRAM = re.compile(rf"{MAIN}(/sub(-[0-9a-f]+)?(#\d+)?)*")
"""Conversations in which a program says something, see `Agent.create_sub_conversation`."""


@dataclass(frozen=True, init=False)
class Home:
    """A run of an agent's own, that can be gone on with.

    Attributes:
        workspace: the `.transom` folder; a text is one too.
        name: of the conversation; the same name and role are the same conversation, whoever asks and when.
        store: the workspace's database, where the program has it open for many conversations at once; each opens it
            for itself where None.
    """

    workspace: Path
    name: str
    store: Store | None = None

    def __init__(self, workspace: Path | str, name: str, store: Store | None = None) -> None:
        """See the class.

        Raises:
            InputError: no path, or no name.
        """
        given: tuple[object, object] = (workspace, name)
        if not isinstance(given[0], Path | str) or not isinstance(given[1], str):
            what = f"a home is a folder and a name, and these are {' and '.join(type(one).__name__ for one in given)}"
            raise InputError(what, where="Home", hint='say Home(".transom", "monday")')
        for field, value in (("workspace", Path(workspace)), ("name", name), ("store", store)):
            object.__setattr__(self, field, value)

    @staticmethod
    async def unfinished(workspace: Path | str, role: Role) -> list[Home]:
        """The role's conversations that somebody still waits for: cut off, at a pause, a cap or an error.

        Also where that happened in a sub-conversation that a program opened: that is gone on with once it is opened
        again with the same purpose, and resumed.

        Those that another process has open now are among them; it is opening them that raises `RunBusy`.

        Args:
            workspace: the `.transom` folder; looking makes none.
            role: whose conversations.

        Raises:
            StoreError: the database cannot be read.
        """
        workspace = Path(workspace)
        if not workspace.is_dir() or not (there := Workspace.at(workspace)).database.is_file():
            return []
        async with there.open_store() as store:
            rows: list[Any] = list(store.items(RUNS).values())
            mine = [row for row in rows if row["kind"] == KIND and row["inputs"]["role"] == role.name]
            left = [row for row in mine if _is_waited_for(store.read(f"run/{row['id']}"))]
        return [Home(workspace, row["inputs"]["name"]) for row in sorted(left, key=lambda row: str(row["id"]))]


Place: TypeAlias = Stage | Named | Home | None
"""Where an agent lives: in a stage of a run, there under a name of its own, in a home, or nowhere for long."""


def stage_of(at: Place) -> Stage | None:
    """The stage where an agent lives; None where it has a run of its own."""
    return at.stage if isinstance(at, Named) else at if isinstance(at, Stage) else None


@dataclass
class Desk:
    """An agent's stage while it is open, and its run where that is the agent's own."""

    stage: Stage
    run: Run | None
    closing: AsyncExitStack

    def settle(self, setup: Setup, chain: Chain, shelf: LateShelf) -> None:
        """A run of the agent's own is as its settings have it, keeps its shelf, and closes a chain that was named."""
        if self.run is not None:
            self.run.budget = setup.budget
            shelf.shelf = self.run.store
            if setup.named:
                self.closing.push_async_callback(chain.aclose)

    async def close(self, *, answered: bool) -> None:
        """Let go of the run; a kept one can be gone on with.

        Args:
            answered: whether something was said in it, and all of it has its answer.
        """
        try:
            if self.run is not None and not self.run.state.waiting:
                await self.run.finish("done" if answered else "stopped")
        finally:  # a store that takes no more holds nobody up
            await self.closing.aclose()


async def open_desk(at: Place, role: str, chain: Chain, settings: Settings) -> Desk:
    """A stage as it is; else open a run of an agent's own, without a home in a folder that goes with it.

    Args:
        at: where it is kept.
        role: its name.
        chain: who answers.
        settings: say where spans go, and what calls cost.

    Raises:
        RunBusy: another process has this conversation open.
        InputError: the workspace cannot be made.
    """
    closing, home = AsyncExitStack(), at if isinstance(at, Home) else None
    if stage := stage_of(at):
        return Desk(stage, None, closing)
    try:
        if home is None:
            folder = Path(tempfile.mkdtemp(prefix="transom-"))
            closing.callback(weakref.finalize(closing, shutil.rmtree, folder, ignore_errors=True))
            home = Home(folder / ".transom", MAIN)
        exporter = priced_exporter(settings.telemetry.otlp_endpoint, settings.paths.prices)
        workspace = Workspace.at(home.workspace, exporter=exporter)
        store = home.store
        if store is None:
            store = await closing.enter_async_context(workspace.open_store())
        inputs: dict[str, Json] = {"name": home.name, "role": role}
        opened = Run.open(KIND, inputs, name=home.name, workspace=workspace, store=store, chain=chain)
        run = await closing.enter_async_context(await opened)
    except BaseException:
        await closing.aclose()
        raise
    return Desk(Stage(run, STAGE, attempt=1, epoch=""), run, closing)


def _is_waited_for(records: Sequence[Record]) -> bool:
    """Whether what was said last has no answer that asks for nothing more, in it or in what a program opened in it."""
    last: dict[str, Record] = {}
    for record in records:
        data: Any = record.data
        if record.kind not in ("told", "reply", "tool") or not _OF_PROGRAM.fullmatch(data["conversation"]):
            continue
        if record.kind != "told" or data["told"]["event"] not in ("opened", "found"):  # which wait for no answer
            last[data["conversation"]] = record
    return any(_is_open(record.kind, record.data) for record in last.values())


def _is_open(kind: str, data: Any) -> bool:
    """Whether something has to follow upon a record."""
    if kind == "reply":
        reply = reply_from_json(data["reply"])
        return is_in_part(data) or bool(reply.calls and reply.stop != "length")
    return kind == "tool" or data["told"]["event"] != "completed"
