"""A real MCP server that takes its time to start again: calls have less, and what is being started is left nowhere."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, asks, scripted
from transom.agent import Agent
from transom.llm import ToolCall
from transom.tools import Toolbox, ToolLimits
from transom.tools.mcp import McpServer

SLOW = [sys.executable, str(Path(__file__).with_name("mcp_slow_server.py"))]


def starts(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "starts").read_text().splitlines()]


async def dead(server: McpServer, folder: Path) -> Toolbox:
    """Its tools, after it has died and while it is being started again."""
    box = Toolbox(server.tools)
    assert (await box.run(ToolCall("1", "die", {}))).error == "ToolInDoubtError"
    while len(starts(folder)) < 2:
        assert (await box.run(ToolCall("2", "hello", {}), seconds=0.05)).error == "ToolBusyError"
    return box


async def ended(process: int) -> None:
    while True:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_server_that_starts_more_slowly_than_its_tools_may_take_comes_back(tmp_path: Path) -> None:
    async with McpServer([*SLOW, str(tmp_path)], seconds=300) as server:
        box = await dead(server, tmp_path)
        for number in range(5):
            busy = await box.run(ToolCall(str(number), "hello", {}), seconds=0.05)
            assert busy.error == "ToolBusyError" and "still being started again" in busy.result.content
        (tmp_path / "gate").touch()
        came = await asyncio.gather(*(box.run(ToolCall(str(number), "hello", {})) for number in range(3)))
        assert [ran.result.content for ran in came] == ["hello"] * 3
    assert len(starts(tmp_path)) == 2


@pytest.mark.slow
async def test_a_once_tool_whose_server_was_still_starting_may_be_called_again(tmp_path: Path) -> None:
    async with McpServer([*SLOW, str(tmp_path)], seconds=300) as server:
        await dead(server, tmp_path)
        provider = scripted(asks(ToolCall("1", "hello", {})), asks(ToolCall("2", "hello", {})), "ok")
        few = [replace(tool, limits=ToolLimits(seconds=0.05)) for tool in server.tools]
        async with Agent(SEAT, provider=provider, tools=few) as agent:
            assert (await agent.send("go")).text == "ok", "it waits for no person: nothing was begun"


@pytest.mark.slow
async def test_what_is_being_started_ends_with_the_server(tmp_path: Path) -> None:
    async with McpServer([*SLOW, str(tmp_path)], seconds=300) as server:
        box = await dead(server, tmp_path)
        waiting = asyncio.ensure_future(box.run(ToolCall("3", "hello", {})))
        await asyncio.sleep(0)
    closed = await waiting
    assert "it was closed" in closed.result.content and "it is not started again" in closed.result.content
    late = await box.run(ToolCall("4", "hello", {}))
    assert "it was closed" in late.result.content
    await ended(starts(tmp_path)[1])
    assert len(starts(tmp_path)) == 2


@pytest.mark.slow
async def test_a_server_that_does_not_start_in_its_own_time_was_asked_nothing(tmp_path: Path) -> None:
    async with McpServer([*SLOW, str(tmp_path)], seconds=300) as server:
        box = Toolbox(server.tools)
        assert (await box.run(ToolCall("1", "die", {}))).error == "ToolInDoubtError"
        server._link._seconds = 0.2  # what it had to begin with must do on a busy machine
        failed = await box.run(ToolCall("2", "hello", {}))
        assert "it did not answer within 0.2 s" in failed.result.content
        assert "nothing was asked of it; the next call of its tools starts it again" in failed.result.content
        (tmp_path / "gate").touch()
        server._link._seconds = 300
        assert (await box.run(ToolCall("3", "hello", {}))).result.content == "hello"


@pytest.mark.slow
def test_what_is_being_started_ends_with_its_loop(tmp_path: Path) -> None:
    async def left() -> None:
        server = McpServer([*SLOW, str(tmp_path)], seconds=300)
        await server.__aenter__()
        await dead(server, tmp_path)

    asyncio.run(left())
    asyncio.run(ended(starts(tmp_path)[1]))
