"""Arguments that are nested beyond measure: told to the model, and never in the way of what was
said.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, scripted
from transom.agent import Agent, Home
from transom.llm import ScriptedProvider, ToolCallPart, ToolResults, provider
from transom.llm.strict_json import LEVELS
from transom.tools import ToolDefinition


def nested(levels: int) -> Any:
    """An object of so many levels, every other one a list."""
    value: Any = {} if levels % 2 else []
    for level in range(1, levels):
        value = [value] if (levels - level) % 2 == 0 else {"a": value}
    return value


def opened(folder: Path, provider: ScriptedProvider, ran: list[int]) -> Agent:
    def looked(_: object) -> str:
        ran.append(1)
        return "seen"

    tool = ToolDefinition("look", "Looks.", {"type": "object"}, looked)
    return Agent(SEAT, provider=provider, tools=[tool], at=Home(folder, "t"))


def told(turns: Any) -> str:
    came = turns[2]
    assert isinstance(came, ToolResults)
    return came.results[0].content


@pytest.mark.parametrize("levels", [LEVELS - 1, LEVELS, LEVELS + 1, 254, 300, 600, 5_000])
async def test_a_provider_of_ones_own_may_nest_as_it_likes(tmp_path: Path, levels: int) -> None:
    ran: list[int] = []
    async with opened(
        tmp_path, scripted(asks(ToolCallPart("1", "look", nested(levels))), "done"), ran
    ) as agent:
        response = await agent.send("go")
        assert (response.text, bool(ran)) == ("done", levels <= LEVELS)
        assert ("the arguments are no JSON object" in told(response.turns)) == (levels > LEVELS)
        view = agent.conversation()
        (call,) = agent.history()[1].tool_calls
        assert (
            (call.model_dump()["arguments"] == nested(levels))
            if levels <= LEVELS
            else isinstance(call.arguments, str)
        )
        assert agent.context().tool_calls == 1
    nobody = scripted()
    async with opened(tmp_path, nobody, ran) as agent:
        later = await agent.resume()
        assert later is not None
        assert (later.turns, agent.conversation(), nobody.requests) == (response.turns, view, [])


async def test_a_journal_that_holds_such_a_call_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message as it was kept before there was a bound."""
    ran: list[int] = []
    with monkeypatch.context() as before:
        before.setattr(provider, "is_deep", lambda _: False)
        async with opened(
            tmp_path, scripted(asks(ToolCallPart("1", "look", nested(300))), "done"), ran
        ) as agent:
            await agent.send("go")
    async with opened(tmp_path, scripted(), ran) as agent:
        later = await agent.resume()
        assert later is not None and (later.text, told(later.turns)) == ("done", "seen")
        ((call,), came) = (agent.history()[1].tool_calls, agent.history()[2])
        assert call.arguments == json.dumps(nested(300), separators=(",", ":"))
        assert (came.content, agent.context().tool_calls) == ("seen", 1)
    assert len(ran) == 1
