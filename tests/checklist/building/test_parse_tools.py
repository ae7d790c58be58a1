"""The Parser's tools over a real folder, in a conversation that survives a restart with other
files on disk.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runs.helpers import Desk
from transom.agent import Answer, call
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.settings import BuildSettings
from transom.checklist.building.writing import Writers
from transom.checklist.writing.views import load_prompt, make_role
from transom.llm import Block, Reply, Role, ScriptedProvider, Text, ToolCallPart, ToolResults
from transom.runs import Stage, Workspace, text_file
from transom.store import SqliteStore
from transom.tools.constrained import FileLimits
from transom.tools.file_specs import FILE_TOOLS

PLAIN = make_role("checklist.parser")
ROLE = Role(PLAIN.name, PLAIN.prompt, PLAIN.sees, FILE_TOOLS)


async def converse(tmp_path: Path, provider: ScriptedProvider) -> Answer[str]:
    root = tmp_path / "design"
    got: list[Answer[str]] = []

    async def stage(at: Stage) -> str:
        inputs = BuildInputs(
            "X-01", "Check it.", None, "", (root / "sta.log",), (root,), {"LOG_ROOT": root}
        )
        settings = BuildSettings(tools=FileLimits(total_bytes=200), max_turns=3)
        box = Writers(run, settings).tools_for(inputs)
        got.append(await call(at, ROLE, [Block("section_1", "What to extract.")], str, tools=box))
        return got[0].value

    desk, workspace = Desk(tmp_path, provider), Workspace.at(tmp_path / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await desk.open_run(workspace, store) as run,
    ):
        await run.stage("parser", stage, out=text_file("atom_a.py"), uses=[ROLE])
    return got[0]


async def test_what_was_read_stays_what_was_read(tmp_path: Path) -> None:
    root = tmp_path / "design"
    root.mkdir()
    (root / "sta.log").write_text("old text, see top.v\n")
    (root / "top.v").write_text("module top;\n")
    first = Reply(
        (
            ToolCallPart("1", "list_available_files", {"patterns": ["sta*"]}),
            ToolCallPart("2", "read_file_header", {"file_path": "sta.log"}),
        )
    )
    second = ToolCallPart("3", "read_file_header", {"file_path": "top.v"})
    broken = ScriptedProvider({ROLE.name: [first, OSError("the line is down")]})
    with pytest.raises(OSError, match="down"):
        await converse(tmp_path, broken)
    (root / "sta.log").write_text("new text\n")
    provider = ScriptedProvider({ROLE.name: [second, Reply((Text("done"),))]})
    answer = await converse(tmp_path, provider)
    told = [
        json.loads(result.content)
        for turn in answer.request.window.turns
        if isinstance(turn, ToolResults)
        for result in turn.results
    ]
    assert told[1]["content"] == "old text, see top.v\n"
    assert told[2]["content"] == "module top;\n", "discovered by what is in the journal alone"
    assert provider.requests[0].tools == FILE_TOOLS


class Keyed(ScriptedProvider):
    """One whose key comes from a variable of any name."""

    secrets = ("sesame-opens-this",)


async def test_a_key_that_only_the_provider_knows_is_not_shown(tmp_path: Path) -> None:
    log = tmp_path / "sta.log"
    log.write_text("# licence sesame-opens-this\nslack 0.1\n")
    desk, workspace = Desk(tmp_path, Keyed({})), Workspace.at(tmp_path / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await desk.open_run(workspace, store) as run,
    ):
        inputs = BuildInputs("X-01", "Check it.", None, "", (log,), (tmp_path,))
        box = Writers(run, BuildSettings()).tools_for(inputs)
        ran = await box.run(ToolCallPart("1", "read_file_header", {"file_path": "sta.log"}))
    assert "slack 0.1" in ran.result.content
    assert "sesame" not in ran.result.content


def test_the_prompt_names_every_tool() -> None:
    prompt = load_prompt("parser_tools")
    assert all(f"`{tool.name}`" in prompt for tool in FILE_TOOLS)
