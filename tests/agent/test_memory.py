"""What is over is free at once: nothing that a conversation is made of holds it in a circle."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Home
from transom.agent.turns import Conversation
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolResults


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, weakref.ref[Conversation]]]:
    """The conversations that were made, by their names, while nothing collects circles."""
    made: dict[str, weakref.ref[Conversation]] = {}
    begin = Conversation.__post_init__

    def begun(self: Conversation) -> None:
        begin(self)
        made[self.name] = weakref.ref(self)

    monkeypatch.setattr(Conversation, "__post_init__", begun)
    gc.collect()
    gc.disable()
    yield made
    gc.enable()


def answer(request: Request) -> Reply:
    """Looks something up, and is done."""
    if any(isinstance(turn, ToolResults) for turn in request.window.turns):
        return Reply((Text("It is 12."),))
    return Reply(asks(look("a")).parts, stop="tool_calls")


async def found(at: str) -> str:
    return f"12 {at} " * 40_000  # kept elsewhere, and read in parts


async def test_a_conversation_is_gone_with_its_agent(
    tmp_path: Path, alive: dict[str, weakref.ref[Conversation]]
) -> None:
    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=[tool(found)], at=Home(tmp_path, "t")) as agent:
        await agent.send("What is it?")
        done = await agent.create_sub_conversation("one")
        await done.send("Look.")
        await agent.complete_sub_conversation(done.id)
        left = await agent.create_sub_conversation("another")
        await left.send("Look.")
        assert len([name for name, one in alive.items() if one()]) == 3
    del agent, done, left
    assert [name for name, one in alive.items() if one()] == []
