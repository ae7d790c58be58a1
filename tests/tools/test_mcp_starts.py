"""A real MCP server that takes its time to start again: calls have less, and what is being
started is left nowhere.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from transom.llm import ToolCallPart
from transom.tools import Toolbox
from transom.tools.mcp import McpServer

SLOW = [sys.executable, str(Path(__file__).with_name("mcp_slow_server.py"))]


def starts(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "starts").read_text().splitlines()]


async def ended(process: int) -> None:
    while True:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.02)


async def starting(folder: Path) -> None:
    while len(starts(folder)) < 2:
        await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_what_is_being_started_ends_with_the_server(tmp_path: Path) -> None:
    async with McpServer([*SLOW, str(tmp_path)], seconds=300) as server:
        box = Toolbox(server.tools)
        await box.run(ToolCallPart("1", "die", {}))
        waiting = asyncio.ensure_future(box.run(ToolCallPart("3", "hello", {})))
        await starting(tmp_path)
    closed = await waiting
    assert "it was closed" in closed.result.content and "go on without it" in closed.result.content
    late = await box.run(ToolCallPart("4", "hello", {}))
    assert "it was closed" in late.result.content
    await ended(starts(tmp_path)[1])
    assert len(starts(tmp_path)) == 2


@pytest.mark.slow
async def test_a_server_that_does_not_start_in_its_own_time_was_asked_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "gate").touch()
    async with McpServer([*SLOW, str(tmp_path)], seconds=10) as server:
        box = Toolbox(server.tools)
        assert (await box.run(ToolCallPart("1", "die", {}))).error == "ToolInDoubtError"
        (tmp_path / "gate").unlink()
        failed = await box.run(ToolCallPart("2", "hello", {}))
        assert "it did not answer within 10 s" in failed.result.content
        assert (
            "nothing was asked of it; the next call of its tools starts it again"
            in failed.result.content
        )
        (tmp_path / "gate").touch()
        assert (await box.run(ToolCallPart("3", "hello", {}))).result.content == "hello"
