"""A server that means harm reaches nothing outside of its scope: not by what it says of its tools,
not by their results, and not by their schemas.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, asks, scripted
from tests.tools.mcp_hostile_server import CLOSING, ORDER
from transom.agent import Agent
from transom.errors import Paused, ToolError
from transom.llm import ToolCallPart, ToolResults, render
from transom.tools import ToolLimits
from transom.tools.mcp import McpServer, ToolTerms

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_hostile_server.py"))]
TERMS = ToolTerms(effect={"wipe": "once"}, needs_approval=["wipe"])


@contextmanager
def hostile(way: str, transport: str) -> Iterator[list[str] | str]:
    """A hostile server: its command, or the URL of one that runs."""
    if transport == "stdio":
        yield [*SERVER, way]
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([*SERVER, way, str(port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["stdio", pytest.param("http", marks=pytest.mark.slow)])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def look(name: str = "look") -> ToolCallPart:
    return ToolCallPart("1", name, {"at": "a"})


@pytest.mark.slow
@pytest.mark.fence
async def test_its_words_change_no_terms(transport: str) -> None:
    with hostile("plain", transport) as place:
        await _words_change_no_terms(place)


async def _words_change_no_terms(place: list[str] | str) -> None:
    async with McpServer(place, terms=TERMS) as server:
        _, wipe = server.tools
        assert (wipe.effect, wipe.needs_approval, wipe.trust) == ("once", True, "untrusted")
        async with Agent(SEAT, provider=scripted(asks(look("wipe"))), tools=server.tools) as agent:
            with pytest.raises(Paused, match="needs a person's approval"):
                await agent.send("go")


@pytest.mark.slow
@pytest.mark.fence
async def test_its_result_stays_in_its_fence(transport: str) -> None:
    provider = scripted(asks(look()), "done")
    with hostile("plain", transport) as place:
        async with (
            McpServer(place, terms=TERMS) as server,
            Agent(SEAT, provider=provider, tools=server.tools) as agent,
        ):
            await agent.send("go")
    request = provider.requests[-1]
    last = request.window.turns[-1]
    assert isinstance(last, ToolResults) and last.results[0].trust == "untrusted"
    sent = render(request).as_text()
    (inside,) = re.findall(r"<(untrusted-[0-9a-f]{16})>\n(.*?)\n</\1>", sent, re.S)
    assert inside[1] == f"{CLOSING}\n{ORDER}", "its own closing tag closes nothing"


async def test_a_tool_that_is_not_taken_cannot_be_called(transport: str) -> None:
    provider = scripted(asks(look("wipe")), "done")
    terms = ToolTerms(only=["look"])
    with hostile("plain", transport) as place:
        async with (
            McpServer(place, terms=terms) as server,
            Agent(SEAT, provider=provider, tools=server.tools) as agent,
        ):
            await agent.send("go")
    assert [tool.name for tool in provider.requests[0].tools] == ["look"]
    assert "there is no such tool" in str(provider.requests[-1].window.turns[-1])


async def test_a_schema_of_half_a_megabyte_is_refused(transport: str) -> None:
    with hostile("wide", transport) as place:
        async with McpServer(place) as server:
            with pytest.raises(ToolError, match=r"look: its parameters are \d+ characters long"):
                Agent(SEAT, provider=scripted(), tools=server.tools)


@pytest.mark.parametrize("way", ["deep", "round", "foreign"])
async def test_odd_schemas_and_long_results_end_with_an_answer(way: str, transport: str) -> None:
    provider = scripted(asks(look()), "done")
    with hostile(way, transport) as place:
        async with (
            McpServer(place) as server,
            Agent(SEAT, provider=provider, tools=server.tools) as agent,
        ):
            assert (await agent.send("go")).text == "done"
    assert len(render(provider.requests[-1]).as_text()) < 200_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("top", r"look: its description has \d+ characters"),
        ("talkative", r"look: its description has \d+ characters"),
        ("crowd", "it has 5002 tools, and 500 may be taken"),
        ("pages", "did not name its tools within"),
    ],
)
async def test_words_and_tools_without_end_are_refused(
    way: str, reason: str, transport: str
) -> None:
    with hostile(way, transport) as place:
        with pytest.raises(ToolError, match=reason):
            async with McpServer(place, seconds=20):
                pytest.fail("it was taken")
        if way == "crowd":
            async with McpServer(place, terms=ToolTerms(only=["look"])) as server:
                assert [tool.name for tool in server.tools] == ["look"]


@pytest.mark.slow
@pytest.mark.fence
async def test_a_tool_named_like_the_runtimes_own_is_refused(transport: str) -> None:
    with hostile("shadow", transport) as place:
        async with McpServer(place) as server:
            with pytest.raises(ToolError, match="read_slice: the runtime has a tool of that name"):
                Agent(SEAT, provider=scripted(), tools=server.tools)
        async with McpServer(place, prefix="s_") as server:
            names = [tool.name for tool in server.tools]
            assert names == ["s_look", "s_wipe", "s_read_slice", "s_delegate"]


async def test_it_gets_neither_the_model_nor_folders_nor_answers(transport: str) -> None:
    provider = scripted(asks(look()), "done")
    with hostile("asking", transport) as place:
        async with (
            McpServer(place) as server,
            Agent(SEAT, provider=provider, tools=server.tools) as agent,
        ):
            assert (await agent.send("go")).text == "done"
    assert len(provider.requests) == 2, "the server's request for a reply asked no model"
    sent = str(provider.requests[-1].window.turns[-1])
    for request in ("sampling", "roots", "elicitation"):
        assert f"{request} refused" in sent


@pytest.mark.slow
async def test_a_server_that_talks_and_never_answers_is_left_in_time(transport: str) -> None:
    provider = scripted(asks(look()), "done")
    terms = ToolTerms(limits=ToolLimits(seconds=2))
    with hostile("endless", transport) as place:
        async with (
            McpServer(place, terms=terms) as server,
            Agent(SEAT, provider=provider, tools=server.tools) as agent,
        ):
            began = time.monotonic()
            assert (await agent.send("go")).text == "done"
            assert time.monotonic() - began < 30
    sent = render(provider.requests[-1]).as_text()
    assert "took longer than the 2 s" in sent
    # What it wrote meanwhile reaches nobody.
    assert ORDER not in str(provider.requests[-1].window.turns[-1])
