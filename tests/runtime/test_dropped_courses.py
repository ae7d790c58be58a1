"""What the runtime does not do: it begins afresh, says plainly what there is, and learns and
folds anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT, asks, look, scripted, sent, tool
from transom.agent import Agent, Budget, Home, Setup, SubAgent
from transom.config import Settings
from transom.errors import ProviderError
from transom.llm import (
    Block,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    Usage,
    UserMessage,
)

READER = Role("t.reader", (Block("reader", "You read.", Tier.STABLE),), frozenset({"reader"}))


async def test_an_equal_call_of_a_sub_agent_that_failed_begins_afresh(tmp_path: Path) -> None:
    def task(ident: str) -> Reply:
        return asks(ToolCallPart(ident, "read", {"task": "What is in a.log?"}))

    reader: list[Any] = [asks(look("a.log")), ProviderError("away"), "It says 7."]
    provider = ScriptedProvider(
        {SEAT.name: [task("1"), task("2"), "So it is."], READER.name: reader}
    )
    sub = SubAgent(READER, "read", "Has a file read.", [tool()])
    async with Agent(SEAT, provider=provider, tools=[sub], at=Home(tmp_path, "t")) as agent:
        assert (await agent.send("go")).text == "So it is."
        view = agent.conversation()
    assert view is not None and view.sub_conversations == ("main/0.0", "main/1.0")
    asked = [request for request in provider.requests if request.role == READER.name]
    assert [len(request.window.turns) for request in asked] == [1, 3, 1], (
        "nothing of the first is taken over"
    )


async def test_a_tool_that_was_registered_under_way_and_is_gone_is_no_such_tool(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path, "t")
    async with Agent(SEAT, provider=scripted("one"), tools=[tool()], at=home) as agent:
        agent.register_tool(tool(name="late"))
        await agent.send("one")
    provider = scripted(asks(look("a", name="late")), "two")
    async with Agent(SEAT, provider=provider, tools=[tool()], at=home) as agent:
        await agent.resume()
        assert (await agent.send("two")).text == "two"
    assert "call one of look" in sent(provider.requests[-1])


async def test_each_conversation_learns_how_tokens_are_counted_from_its_own_replies(
    tmp_path: Path,
) -> None:
    def answer(request: Request) -> Reply:
        return Reply((Text("so"),), usage=Usage(20 * len(sent(request)), 1))

    async def room(name: str, *messages: int) -> int:
        async with Agent(SEAT, provider=ScriptedProvider(answer), at=Home(tmp_path, name)) as agent:
            await agent.resume()
            for number in messages:
                last = await agent.send(f"message {number}")
            assert last.window is not None
            return sum(share.used for share in last.window.shares)

    learned = await room("one", 1, 2, 3)
    assert await room("two", 1) < 30 and learned > 100, (
        "a new one knows nothing of what another one learned"
    )
    await room("three", 1, 2)
    assert learned == await room("three", 3), "its own journal tells it again"


async def test_what_was_folded_is_folded_anew_from_the_journal(tmp_path: Path) -> None:
    setup = {"window": {"compact_at": 5, "keep_recent": 2}}

    async def program(*answers: Any) -> list[Request]:
        provider = scripted(*answers)
        given = Setup(provider, Settings.model_validate(setup))
        async with Agent(
            SEAT, provider=given, tools=[tool()], at=Home(tmp_path, "t"), budget=Budget(turns=20)
        ) as agent:
            await agent.resume()
            await agent.send("go on" if not answers[1:] else "go")
        return provider.requests

    first = await program(*[asks(look(str(number), f"c{number}")) for number in range(9)], "done")
    (again,) = await program("on")
    notes = [request.window.turns[0] for request in (first[-1], again)]
    assert all(isinstance(note, UserMessage) and "are folded" in note.text for note in notes)
    assert notes[0] != notes[1], "in one step, where the journal's own windows took several"
    assert "go on" in sent(again) and len(again.window.turns) < len(first[-1].window.turns) + 3
