"""The files of a run in the database: a machine that lacks them fetches them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from transom.llm import Chain, ScriptedProvider
from transom.runs import Run, Stage, Workspace, text_file

NAME = "out.txt"


class Machines:
    """Two machines with folders of their own, and one database."""

    def __init__(self, folder: Path, *, keeps_artifacts: bool = True) -> None:
        self.calls = 0
        self.workspaces = {
            name: Workspace.at(
                folder / name, state_dir=folder / "shared", keeps_artifacts=keeps_artifacts
            )
            for name in ("here", "there")
        }

    async def run_on(
        self, name: str, text: str = "one", before: Callable[[Path], None] | None = None
    ) -> Path:
        """Run the one stage on a machine; return its file."""
        workspace = self.workspaces[name]

        async def write(stage: Stage, text: str) -> str:
            self.calls += 1
            return f"{text} of call {self.calls}"

        async with workspace.open_store() as store:
            chain = Chain((ScriptedProvider({}),))
            run = await Run.open(
                "test", {}, name="x", workspace=workspace, store=store, chain=chain
            )
            async with run:
                path = run.folder / "s" / NAME
                if before:
                    before(path)
                made = await run.stage("s", write, text, out=text_file(NAME))
                return made.path


async def test_a_file_that_another_machine_made_is_fetched(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    first = await machines.run_on("here")
    second = await machines.run_on("there")
    assert (machines.calls, second.read_text()) == (1, "one of call 1")
    assert first != second


async def test_an_older_file_is_replaced_and_an_edited_one_is_kept(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    here = await machines.run_on("here")
    assert (await machines.run_on("there", "two")).read_text() == "two of call 2"
    assert (await machines.run_on("here", "two")).read_text() == "two of call 2"
    assert machines.calls == 2
    here.write_text("by a person")
    assert (await machines.run_on("here", "two")).read_text() == "by a person"
    assert machines.calls == 2


async def test_without_the_setting_a_missing_file_is_made_again(tmp_path: Path) -> None:
    machines = Machines(tmp_path, keeps_artifacts=False)
    await machines.run_on("here")
    await machines.run_on("there")
    assert machines.calls == 2
