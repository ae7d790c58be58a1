"""Items whose checkers passed are examples for the first round of items that are described
alike.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from benchmarks.spec_tokens import CHECKS

from tests.checklist.shipped_model import ShippedModel
from transom.checklist.item import Item, load_item
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.similar import SIMILAR, recall_similar, remember_spec
from transom.checklist.writing.write import write_spec
from transom.llm import Chain, Reply, Request, ScriptedProvider, estimate_tokens
from transom.memory import Memory, SqliteMemory
from transom.runs import Run, Workspace
from transom.store import SqliteStore

SPEC = Path(__file__).parent / "data" / "IMP-10-0-0-00_ItemSpec.md"


@asynccontextmanager
async def opened(folder: Path, log: list[Request]) -> AsyncIterator[Run]:
    async def answer(request: Request) -> Reply:
        log.append(request)
        return await ShippedModel().complete(request)

    workspace = Workspace.at(folder / "w")
    async with SqliteStore.open(workspace.database) as store:
        chain = Chain((ScriptedProvider(answer),))
        async with await Run.open(
            "t", {}, name="t", workspace=workspace, store=store, chain=chain
        ) as run:
            yield run


async def written(folder: Path, item: Item, memory: Memory | None) -> tuple[str, Sequence[Request]]:
    log: list[Request] = []
    async with opened(folder, log) as run:
        return (await write_spec(run, item, {}, memory=memory)).document.value, log


@pytest.mark.slow
async def test_the_nearest_items_stand_in_the_first_window_alone_and_change_no_rule(
    tmp_path: Path,
) -> None:
    item, document = load_item(CHECKS / "VER-01.yaml"), parse_spec(SPEC.read_text("utf-8"))
    before, _ = await written(tmp_path / "before", item, None)
    async with SqliteMemory.open(None) as memory:
        await memory.store("the netlist's version, of another kind", {"kind": "assessment"})
        async with opened(tmp_path / "built", []) as run:
            for number in range(5):
                await remember_spec(
                    run, memory, f"NET-{number}", document.description * (number + 1), document
                )
            await remember_spec(run, memory, item.item_id, item.description, document)
        after, log = await written(tmp_path / "after", item, memory)
    assert after == before
    shown = [text for one in log if (text := one.window.text(SIMILAR))]
    assert len(shown) == 1
    assert shown[0] == log[0].window.text(SIMILAR)
    assert (
        shown[0].count("\n- "),
        len(re.findall(r"Type 4, quality [\d.]+; validation items: Netlist File Load", shown[0])),
    ) == (3, 3)
    assert item.description not in shown[0], "its own reading is no example"
    assert estimate_tokens(shown[0]) < 600


async def test_without_a_memory_the_run_goes_on_and_says_so(tmp_path: Path) -> None:
    async with SqliteMemory.open(tmp_path / "memory.db") as memory, opened(tmp_path, []) as run:
        said: list[str] = []
        run.progress = said.append
        await memory.close()
        document = parse_spec(SPEC.read_text("utf-8"))
        await remember_spec(run, memory, "A", "text", document)
        assert (await recall_similar(run, memory, "B", "text")).value == ""
    (first, second) = [line for line in said if "memory" in line]
    assert first.endswith("the item is no example for later ones")
    assert second.endswith("the ItemSpec is written without examples of similar items")
