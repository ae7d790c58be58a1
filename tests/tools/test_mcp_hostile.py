"""A server that means harm reaches nothing outside of its scope: not by what it says of its tools,
not by their results, and not by their schemas.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, asks, scripted
from tests.tools.mcp_hostile_server import CLOSING, ORDER
from transom.agent import Agent
from transom.errors import Paused, ToolError
from transom.llm import ToolCall, ToolResults, render
from transom.tools.mcp import McpServer, ToolTerms

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_hostile_server.py"))]
TERMS = ToolTerms(effect={"wipe": "once"}, needs_approval=["wipe"])


def look(name: str = "look") -> ToolCall:
    return ToolCall("1", name, {"at": "a"})


async def test_its_words_change_no_terms() -> None:
    async with McpServer([*SERVER, "plain"], terms=TERMS) as server:
        _, wipe = server.tools
        assert (wipe.effect, wipe.needs_approval, wipe.trust) == ("once", True, "untrusted")
        async with Agent(SEAT, provider=scripted(asks(look("wipe"))), tools=server.tools) as agent:
            with pytest.raises(Paused, match="needs a person's approval"):
                await agent.send("go")


async def test_its_result_stays_in_its_fence() -> None:
    provider = scripted(asks(look()), "done")
    async with (
        McpServer([*SERVER, "plain"], terms=TERMS) as server,
        Agent(SEAT, provider=provider, tools=server.tools) as agent,
    ):
        await agent.send("go")
    request = provider.requests[-1]
    last = request.window.turns[-1]
    assert isinstance(last, ToolResults) and last.results[0].trust == "untrusted"
    sent = render(request).as_text()
    (inside,) = re.findall(r"<(untrusted-[0-9a-f]{16})>\n(.*?)\n</\1>", sent, re.S)
    assert inside[1] == f"{CLOSING}\n{ORDER}", "its own closing tag closes nothing"


async def test_a_tool_that_is_not_taken_cannot_be_called() -> None:
    provider = scripted(asks(look("wipe")), "done")
    terms = ToolTerms(only=["look"])
    async with (
        McpServer([*SERVER, "plain"], terms=terms) as server,
        Agent(SEAT, provider=provider, tools=server.tools) as agent,
    ):
        await agent.send("go")
    assert [tool.name for tool in provider.requests[0].tools] == ["look"]
    assert "there is no such tool" in str(provider.requests[-1].window.turns[-1])


async def test_a_schema_of_half_a_megabyte_is_refused() -> None:
    async with McpServer([*SERVER, "wide"]) as server:
        with pytest.raises(ToolError, match=r"look: its parameters are \d+ characters long"):
            Agent(SEAT, provider=scripted(), tools=server.tools)


@pytest.mark.parametrize("way", ["deep", "round"])
async def test_odd_schemas_and_long_results_end_with_an_answer(way: str) -> None:
    provider = scripted(asks(look()), "done")
    async with (
        McpServer([*SERVER, way]) as server,
        Agent(SEAT, provider=provider, tools=server.tools) as agent,
    ):
        assert (await agent.send("go")).text == "done"
    assert len(render(provider.requests[-1]).as_text()) < 200_000
