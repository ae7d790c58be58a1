"""A model that says nothing is asked once to go on; a server that pauses in the middle is an
error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from tests.llm.conformance.dialects import DIALECTS
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent, Home
from transom.config import HostedSettings
from transom.errors import ProviderError
from transom.llm import Reply, Text, Usage
from transom.llm.hosted import connect

(ANTHROPIC,) = [dialect for dialect in DIALECTS if dialect.name == "anthropic"]


async def test_a_server_that_pauses_for_tools_of_its_own_is_an_error() -> None:
    provider = scripted(Reply((Text("hm "),), stop="pause", usage=Usage(1, 1)), "It is a.")
    async with Agent(SEAT, provider=provider) as agent:
        with pytest.raises(ProviderError, match="its server paused in the middle of an answer"):
            await agent.send("go")
        response = await agent.resume()
    assert response is not None and response.text == "It is a."


SIGNED = {"type": "thinking", "thinking": "hm", "signature": "s"}


@pytest.mark.parametrize(
    "last", ["It is a.", ""], ids=["then it answers", "then it has nothing to say"]
)
@pytest.mark.parametrize("thoughts", [[], [SIGNED]], ids=["nothing", "thinking alone"])
async def test_a_model_of_anthropics_that_says_nothing_is_asked_once_to_go_on(
    last: str, thoughts: list[Any], tmp_path: Path
) -> None:
    """Asked the same again it would say nothing again, and each of these requests is paid for."""

    def answer(wire: Wire, seen: Seen) -> None:
        at = len(server.seen)
        body = ANTHROPIC.whole(
            [asks(look("a")).calls[0]] if at == 1 else [Text(last if at == 3 else "")]
        )
        body["content"] = [
            block for block in body["content"] if block.get("text") != ""
        ] or thoughts
        wire.answer(200, json.dumps(body).encode())

    async def program(*messages: str) -> list[Any]:
        provider = connect("anthropic:m", HostedSettings(base_url=server.url), stream=False)
        try:
            async with Agent(
                SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t")
            ) as agent:
                return [await agent.send(message) for message in messages]
        finally:
            await provider.aclose()

    with LocalServer(answer) as server:
        (response,) = await program("go")
        assert (response.text, response.ended, len(server.seen)) == (last, "answered", 3)
        assert response.usage.output_tokens == 15, "each was paid for"
        *before, urged = server.seen[2].body["messages"]
        assert [message["role"] for message in before] == ["user", "assistant"]
        assert [block["type"] for block in urged["content"]] == ["tool_result", "text"]
        assert "go on" in urged["content"][-1]["text"]
        again, more = await program("go", "and now?")
        assert (again.text, again.usage, len(server.seen)) == (last, response.usage, 5), (
            "both are in the journal"
        )
        assert more.text == "", "it said nothing to the second, and was asked to go on"
