"""A server that pauses in the middle of a turn is handed back what it said, and goes on; up to a cap."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from tests.llm.conformance.dialects import DIALECTS
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent, Budget, Home
from transom.agent.events import Event, ReplyReceived
from transom.config import HostedSettings
from transom.errors import ProviderError
from transom.llm import AssistantMessage, Reply, Text, Usage, UserMessage
from transom.llm.hosted import connect

(ANTHROPIC,) = [dialect for dialect in DIALECTS if dialect.name == "anthropic"]
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "bolts"}}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_anthropics_pause_is_gone_on_with(stream: bool, tmp_path: Path) -> None:
    def answer(wire: Wire, seen: Seen) -> None:
        stop = "pause_turn" if len(server.seen) < 3 else None
        parts = [Text(f"part {len(server.seen)}. ")]
        if stream:
            wire.begin(ANTHROPIC.stream_type)
            for piece in ANTHROPIC.pieces(parts, stop):
                wire.chunk(piece)
            wire.end()
            return
        body = ANTHROPIC.whole(parts, stop)
        body["content"] += [SEARCH] if stop else []
        wire.answer(200, json.dumps(body).encode())

    async def program(url: str) -> Any:
        provider = connect("anthropic:m", HostedSettings(base_url=url), stream=stream)
        try:
            async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t")) as agent:
                return await agent.send("go")
        finally:
            await provider.aclose()

    with LocalServer(answer) as server:
        response = await program(server.url)
        assert (response.text, response.ended) == ("part 1. part 2. part 3. ", "answered")
        assert [type(turn) for turn in response.turns] == [UserMessage, AssistantMessage], "one turn, whatever it took"
        sent = [seen.body["messages"] for seen in server.seen]
        assert [len(messages) for messages in sent] == [1, 2, 2], "its words go back as its own, in one message"
        said = [block.get("text") or block["type"] for block in sent[2][1]["content"]]
        assert [text for text in said if text.startswith("part")] == ["part 1. ", "part 2. "]
        assert said.count("server_tool_use") == (0 if stream else 2), "and what is the vendor's own, unchanged"
        again = await program(server.url)
        assert (again.text, len(server.seen)) == (response.text, 3), "each piece is in the journal"


async def test_who_pauses_for_ever_is_an_error() -> None:
    provider = scripted(*[Reply((Text("hm "),), stop="pause", usage=Usage(1, 1)) for _ in range(20)])
    async with Agent(SEAT, provider=provider) as agent:
        with pytest.raises(ProviderError, match="scripted: it paused 11 times and came to no end"):
            await agent.send("go")
    assert len(provider.requests) == 11


async def test_a_pause_is_not_gone_on_with_once_the_time_is_over() -> None:
    def linger(event: Event) -> None:
        if isinstance(event, ReplyReceived):
            time.sleep(0.12)

    provider = scripted(Reply((Text("I look. "),), stop="pause", usage=Usage(1, 1)), "It is a.")
    async with Agent(SEAT, provider=provider, budget=Budget(seconds=0.1), on_event=linger) as agent:
        assert (await agent.send("go")).ended == "seconds"
    assert len(provider.requests) <= 1


SIGNED = {"type": "thinking", "thinking": "hm", "signature": "s"}


@pytest.mark.parametrize("last", ["It is a.", ""], ids=["then it answers", "then it has nothing to say"])
@pytest.mark.parametrize("thoughts", [[], [SIGNED]], ids=["nothing", "thinking alone"])
async def test_a_model_of_anthropics_that_says_nothing_is_asked_once_to_go_on(
    last: str, thoughts: list[Any], tmp_path: Path
) -> None:
    """JournaledReply the same again it would say nothing again, and each of these requests is paid for."""

    def answer(wire: Wire, seen: Seen) -> None:
        at = len(server.seen)
        body = ANTHROPIC.whole([asks(look("a")).calls[0]] if at == 1 else [Text(last if at == 3 else "")])
        body["content"] = [block for block in body["content"] if block.get("text") != ""] or thoughts
        wire.answer(200, json.dumps(body).encode())

    async def program(*messages: str) -> list[Any]:
        provider = connect("anthropic:m", HostedSettings(base_url=server.url), stream=False)
        try:
            async with Agent(SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t")) as agent:
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
        assert (again.text, again.usage, len(server.seen)) == (last, response.usage, 5), "both are in the journal"
        assert more.text == "", "it said nothing to the second, and was asked to go on"
        assert "go on" not in json.dumps(server.seen[3].body["messages"]), "which is not kept"


async def test_a_call_after_a_pause_is_carried_out() -> None:
    pause = Reply((Text("I look. "),), stop="pause", usage=Usage(1, 1))
    provider = scripted(pause, asks(look("a"), text="Now."), "It is a.")
    async with Agent(SEAT, provider=provider, tools=[tool()]) as agent:
        response = await agent.send("go")
    assert response.text == "It is a."
    said = response.turns[1]
    assert isinstance(said, AssistantMessage) and [part.text for part in said.parts if isinstance(part, Text)] == [
        "I look. ",
        "Now.",
    ]
