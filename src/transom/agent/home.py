"""Where an agent lives: a stage of somebody's run, or a run of its own, kept or thrown away."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from transom.canonical import Json
from transom.llm import Chain
from transom.runs import Run, Stage, Workspace

STAGE = "conversation"


@dataclass(frozen=True)
class Home:
    """A run of an agent's own, that can be gone on with.

    Attributes:
        workspace: the `.transom` folder.
        name: of the conversation; the same name is the same conversation, whoever asks and when.
    """

    workspace: Path
    name: str


@dataclass
class Desk:
    """An agent's stage while it is open, and its run where that is the agent's own."""

    stage: Stage
    run: Run | None
    closing: AsyncExitStack

    async def close(self) -> None:
        """Let go of the run; a kept one can be gone on with."""
        if self.run is not None and not self.run.state.waiting:
            await self.run.finish("done")
        await self.closing.aclose()


async def open_desk(home: Home | None, role: str, chain: Chain) -> Desk:
    """Open a run of an agent's own; without a home, in a folder that goes with it.

    Raises:
        RunBusy: another process has this conversation open.
        InputError: the workspace cannot be made.
    """
    closing = AsyncExitStack()
    try:
        if home is None:
            folder = Path(tempfile.mkdtemp(prefix="transom-"))
            closing.callback(weakref.finalize(closing, shutil.rmtree, folder, ignore_errors=True))
            home = Home(folder / ".transom", "main")
        workspace = Workspace.at(home.workspace)
        store = await closing.enter_async_context(workspace.open_store())
        inputs: dict[str, Json] = {"name": home.name, "role": role}
        opened = Run.open("agent", inputs, name=home.name, workspace=workspace, store=store, chain=chain)
        run = await closing.enter_async_context(await opened)
    except BaseException:
        await closing.aclose()
        raise
    return Desk(Stage(run, STAGE, attempt=1, epoch=""), run, closing)
