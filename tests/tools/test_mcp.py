"""Tools of real MCP servers, over stdio and over HTTP; one that dies in the middle of a call is a failed call."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, scripted
from transom.agent import Agent
from transom.errors import ToolError
from transom.llm import CameBack, ToolCall
from transom.tools import ToolLimits
from transom.tools.mcp import McpServer

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]


@pytest.fixture
def http(tmp_path: Path) -> Iterator[str]:
    """The address of a server over HTTP, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "MCP_TEST_PID": str(tmp_path / "pid")}
    process = subprocess.Popen([*SERVER, "http", str(port)], env=environ, stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


def stdio(tmp_path: Path, limits: ToolLimits | None = None) -> McpServer:
    environ = {"MCP_TEST_PID": str(tmp_path / "pid"), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return McpServer([*SERVER, "stdio"], limits=limits, environ=environ)


async def told(server: McpServer, *calls: ToolCall) -> list[str]:
    """What a model is told of some calls."""
    provider = scripted(asks(*calls), "ok")
    async with Agent(SEAT, provider=provider, tools=server.tools) as agent:
        assert (await agent.send("go")).text == "ok"
    turn = provider.requests[1].window.turns[-1]
    assert isinstance(turn, CameBack)
    assert {result.trust for result in turn.results if not result.is_error} <= {"untrusted"}
    return [result.content for result in turn.results]


CALLS = (
    ToolCall("1", "look", {"at": "a"}),
    ToolCall("2", "look", {"lines": "many"}),
    ToolCall("3", "fail", {"at": "b"}),
)


def check(results: list[str]) -> None:
    seen, wrong, failed = results
    assert seen == "saw a in 3 lines"
    assert "at: is missing" in wrong and "lines: must be of type integer" in wrong
    assert "no b here" in failed or "Error executing tool" in failed


async def test_over_stdio(tmp_path: Path) -> None:
    async with stdio(tmp_path) as server:
        assert [(tool.name, tool.effect) for tool in server.tools] == [
            ("look", "once"),
            ("fail", "once"),
            ("hang", "once"),
        ]
        at: Any = server.tools[2].parameters["properties"]
        assert at["at"]["anyOf"] == [{"type": "string"}, {"type": "null"}], "a schema is as the server has it"
        (wrong,) = await told(server, ToolCall("1", "hang", {"at": 3}))
        assert "at: must be of type string or null" in wrong
        check(await told(server, *CALLS))


async def test_over_http(http: str) -> None:
    async with McpServer(http, only={"look", "fail"}) as server:
        assert [tool.name for tool in server.tools] == ["look", "fail"]
        check(await told(server, *CALLS))


async def kill_when_it_hangs(pid: Path) -> None:
    while not pid.is_file() or not pid.read_text():
        await asyncio.sleep(0.02)
    os.kill(int(pid.read_text()), signal.SIGKILL)


async def test_a_server_that_dies_in_a_call_is_a_failed_call_over_stdio(tmp_path: Path) -> None:
    async with stdio(tmp_path, ToolLimits(seconds=10)) as server:
        killer = asyncio.create_task(kill_when_it_hangs(tmp_path / "pid"))
        (died,) = await told(server, ToolCall("1", "hang", {}))
        await killer
        assert "the MCP server failed" in died
        (gone,) = await told(server, ToolCall("1", "look", {"at": "a"}))
        assert "the MCP server failed" in gone, "and so is every call after that"


async def test_a_server_that_dies_in_a_call_is_a_failed_call_over_http(http: str, tmp_path: Path) -> None:
    async with McpServer(http, limits=ToolLimits(seconds=10)) as server:
        killer = asyncio.create_task(kill_when_it_hangs(tmp_path / "pid"))
        (died,) = await told(server, ToolCall("1", "hang", {}))
        await killer
        assert "the MCP server failed" in died or "took longer" in died


async def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async with stdio(tmp_path, ToolLimits(seconds=3)) as server:
        (late,) = await told(server, ToolCall("1", "hang", {}))
        assert "took longer than the 3 s" in late
        assert await told(server, ToolCall("2", "look", {"at": "a"})) == ["saw a in 3 lines"]


async def test_a_server_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be used"):
        async with McpServer([sys.executable, "-c", "pass"]):
            pass
