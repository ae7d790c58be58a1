"""What each call saw, read back from a journal that keeps every turn once."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runs.helpers import FIRST, Desk
from transom.llm import (
    AssistantMessage,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    ToolCall,
    ToolResult,
    ToolResults,
    ToolSpec,
    Turn,
    UserMessage,
    Window,
)
from transom.runs import Stage, Workspace, text_file
from transom.runs.waiting import Wanted
from transom.runs.windows import requests_of
from transom.store import SqliteStore
from transom.tools.definition import ToolOutcome

TURNS: st.SearchStrategy[Turn] = st.one_of(
    st.builds(UserMessage, st.text(max_size=3)),
    st.builds(lambda text: AssistantMessage((Text(text),)), st.text(max_size=3)),
    st.builds(lambda text: ToolResults((ToolResult("1", "t", text),)), st.text(max_size=3)),
)


async def walk(tmp_path: Path, windows: list[tuple[Turn, ...]], replies: list[Reply]) -> tuple[list[Any], list[Any]]:
    """What was asked, and what the journal says was asked."""
    provider = ScriptedProvider({FIRST.name: list(replies)})
    workspace = Workspace.at(tmp_path / ".transom")

    async def stage(at: Stage) -> str:
        for turns in windows:
            await at.ask(Request(FIRST.name, Window(FIRST.prompt, turns)), FIRST)
            for key in at.called()[0]:
                wanted = Wanted(ToolCall("1", "t", {}))
                await at.carry_out(key, TOOL, _done, wanted=wanted, lost=lambda: CAME)
        return "done"

    async with (
        SqliteStore.open(workspace.database) as store,
        await Desk(tmp_path, provider).open_run(workspace, store) as run,
    ):
        await run.stage("one", stage, out=text_file("one.md"), uses=[FIRST])
        return [request.to_json() for request in provider.requests], requests_of(store, run.records())


CAME = ToolOutcome(ToolResult("1", "t", "x" * 1000))


async def _done() -> ToolOutcome:
    return CAME


TOOL = ToolSpec("t", "", {"type": "object"})


@given(st.lists(st.lists(TURNS, max_size=4).map(tuple), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_any_sequence_of_windows_is_read_back(windows: list[tuple[Turn, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked, read = asyncio.run(walk(Path(folder), windows, [Reply((Text("ok"),))] * len(windows)))
    assert read == asked


async def windows_of(tmp_path: Path) -> list[Any]:
    """As the journal has them."""
    async with SqliteStore.open(tmp_path / ".transom" / "state.db") as store:
        records: list[Any] = [record.data for name in store.streams("run/") for record in store.read(name)]
    return [record["window"] for record in records if "window" in record]


async def test_turns_that_stand_further_on_after_a_fold_are_only_named(tmp_path: Path) -> None:
    said = [UserMessage(f"{number} " * 500) for number in range(6)]
    asked, read = await walk(tmp_path, [(*said[:5],), (UserMessage("folded"), *said[3:])], [Reply((Text("ok"),))] * 2)
    assert read == asked
    (_, last) = await windows_of(tmp_path)
    assert last["more"][1:3] == [{"before": 3}, {"before": 4}] and last["more"][3] == said[5].to_json()


async def test_what_the_journal_has_is_not_written_again(tmp_path: Path) -> None:
    call, result = ToolCall("1", "t", {}), ToolResult("1", "t", "x" * 1000)
    reply = Reply((Text("look"), call), stop="tool_calls")
    windows: list[tuple[Turn, ...]] = [(), (), ()]
    for number in (1, 2):
        windows[number] = (*windows[number - 1], AssistantMessage(reply.parts), ToolResults((result,)))
    asked, read = await walk(tmp_path, windows, [reply, reply, Reply((Text("ok"),))])
    assert read == asked
    kept = await windows_of(tmp_path)
    assert [(window.get("keeps"), window.get("more")) for window in kept] == [
        (None, None),
        (0, [{"kind": "said", "journaled": True}, {"kind": "came_back", "journaled": True}]),
        (2, [{"kind": "said", "journaled": True}, {"kind": "came_back", "journaled": True}]),
    ]
