"""The method names of an earlier design, on the agent and on what it opens."""

from __future__ import annotations

from tests.agent.helpers import SEAT
from transom.compat import Agent
from transom.llm import Block, ScriptedProvider


async def test_the_other_names_do_the_same() -> None:
    provider = ScriptedProvider(
        {SEAT.name: ["hello", "with more"], f"{SEAT.name}.sub": ["looked", "found 3"]}
    )
    async with Agent(SEAT, provider=provider) as agent:
        assert (await agent.send_message("hi")).text == "hello"
        assert (await agent.send_message("and?", Block("extra", "a page"))).text == "with more"
        assert "a page" in provider.requests[1].window.text("extra")
        assert agent.get_history() == agent.history()
        assert agent.get_history(1)[0].content == "with more"
        assert agent.get_context() == agent.context()
        sub = await agent.open_sub("count")
        assert (await sub.send_message("go")).text == "looked"
        assert [message.content for message in sub.get_history()] == ["go", "looked"]
        assert (await agent.close_sub(sub)).by in ("model", "extract")
