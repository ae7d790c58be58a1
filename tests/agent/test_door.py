"""The door for code without asyncio has what the agent has."""

from __future__ import annotations

from pathlib import Path

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from transom import compat
from transom.agent import Agent, Budget, Home, SyncAgent
from transom.agent.models import Event, ReplyReceived
from transom.llm import ScriptedProvider
from transom.tools import ToolDefinition


def surface(of: object) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_the_agent_of_earlier_names_has_whatever_an_agent_has() -> None:
    agent = Agent(SEAT, provider=scripted())
    earlier = compat.Agent(SEAT, provider=scripted())
    assert surface(earlier) == surface(agent) | {
        *("send_message", "get_history", "get_context"),
        *("create_sub_conversation", "complete_sub_conversation"),
    }


def test_what_nobody_waits_for_is_read_through_the_door(tmp_path: Path) -> None:
    told: list[Event] = []
    provider = ScriptedProvider(
        {SEAT.name: [asks(look("a")), "one", "two"], f"{SEAT.name}.sub": ["7", "In short, 7."]}
    )
    with SyncAgent(
        Agent(SEAT, provider=provider, at=Home(tmp_path / "home", "t"), on_event=told.append)
    ) as door:
        assert (door.id, door.history(), door.conversation()) == (door.agent.id, [], None)
        given: ToolDefinition = tool()
        door.register_tool(given)
        last = door.send("hi")
        assert [one.content for one in door.history(1)] == ["one"] == [last.text]
        assert door.context() == door.agent.context() and door.context().usd == last.usd == 0.0
        door.agent.budget = Budget(turns=7)
        assert door.budget == door.agent.budget == Budget(turns=7)
        door.budget = Budget(turns=6)
        assert door.agent.budget == Budget(turns=6), "what is set on the door holds for the agent"
        sub = door.wait(door.open_sub("look"))
        assert sub.id != door.id
        door.wait(sub.send("well?"))
        assert sub.history(1)[0].content == "7"
        seen = door.conversation(sub.id)
        assert seen is not None and seen.messages == tuple(sub.history())
        door.wait(door.close_sub(sub))
    assert [one.conversation for one in told if isinstance(one, ReplyReceived)].count(sub.id) == 2
