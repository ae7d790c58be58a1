"""A kept conversation keeps what was said: whatever fails, is cut off, or is another program the
next day.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, approve, asks, look, resumed, scripted, sent, tool
from transom.agent import Agent, Budget, Home
from transom.agent.models import Event, ReplyDelta, ReplyReceived
from transom.canonical import Json
from transom.errors import InputError, Paused, RequestRefused, RunError
from transom.llm import (
    AssistantMessage,
    Block,
    Provider,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    ToolResults,
    Usage,
    UserMessage,
)
from transom.runs import Workspace
from transom.runs.windows import requests_of
from transom.store import SqliteStore, Summarise
from transom.tools import ToolDefinition

MENDED = replace(
    SEAT,
    prompt=(Block("role", "You see other things.", Tier.STABLE),),
    sees=frozenset({"role", "extra"}),
)
NOBODY = "nobody is asked"


def said(agent: Agent) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in agent.history()]


@pytest.mark.parametrize("how", ["resume", "send"])
@pytest.mark.parametrize("other", ["prompt", "tools", "description", "model"])
async def test_another_prompt_tool_or_model_counts_from_the_next_message_on(
    tmp_path: Path, other: str, how: str
) -> None:
    did: list[object] = []
    order = ToolDefinition(
        "order", "Orders.", {"type": "object"}, lambda given: did.append(given), effect="once"
    )
    first = scripted(asks(ToolCallPart("1", "order", {})), "Ordered.")
    async with Agent(SEAT, provider=first, tools=[order], at=Home(tmp_path, "x")) as agent:
        await agent.send("Order it.")
    role = MENDED if other == "prompt" else SEAT
    tools = {
        "tools": [order, tool()],
        "description": [replace(order, description="Orders more.")],
    }.get(other, [order])
    again = ScriptedProvider(
        {SEAT.name: ["As I said."]}, name="another" if other == "model" else "scripted"
    )
    async with Agent(role, provider=again, tools=tools, at=Home(tmp_path, "x")) as agent:
        last = await agent.resume() if how == "resume" else await agent.send("Order it.")
        assert (last and last.text, len(again.requests), len(did)) == ("Ordered.", 0, 1)
        assert (await agent.send("Sure?")).text == "As I said."
        told = said(agent)
    assert [text for who, text in told if who == "user"][::2] == ["Order it.", "Sure?"]
    assert [type(turn) for turn in again.requests[0].window.turns] == [
        UserMessage,
        AssistantMessage,
        ToolResults,
        AssistantMessage,
        UserMessage,
    ]
    assert again.requests[0].window.blocks[0].text == role.prompt[0].text
    last_seen = await windows(tmp_path)
    assert last_seen[-1]["turns"] == [turn.to_json() for turn in again.requests[0].window.turns]


async def windows(folder: Path) -> list[dict[str, Any]]:
    """The windows of the journaled calls of the one conversation."""
    async with Workspace.at(folder).open_store() as store:
        (stream,) = [name for name in store.streams() if name.startswith("run/")]
        return requests_of(store, store.read(stream))


async def test_what_must_not_be_done_twice_is_in_the_journal_before_its_outcome_is_used(
    tmp_path: Path,
) -> None:
    kept: list[list[str]] = []

    async def answer(request: Request) -> Reply:
        async with Workspace.at(tmp_path).open_store() as store:
            (stream,) = [name for name in store.streams() if name.startswith("run/")]
            kept.append(
                [
                    one.kind
                    for one in store.read(stream)
                    if one.kind in ("tool_started", "tool_result")
                ]
            )
        return (
            Reply((Text("Ordered."),)) if len(kept) == 2 else asks(ToolCallPart("1", "order", {}))
        )

    order = ToolDefinition(
        "order", "Orders.", {"type": "object"}, lambda given: "done", effect="once"
    )
    async with Agent(
        SEAT, provider=ScriptedProvider(answer), tools=[order], at=Home(tmp_path, "x")
    ) as agent:
        await agent.send("Order it.")
    assert kept == [[], ["tool_started", "tool_result"]]


async def test_what_was_paid_for_or_decided_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, set[bool]] = {}
    append = SqliteStore.append

    async def watched(
        store: SqliteStore,
        stream: str,
        kind: str,
        data: Json,
        *,
        sync: bool = True,
        summarise: Summarise | None = None,
        recorded_at: str | None = None,
        blobs: Sequence[bytes] = (),
    ) -> int:
        how.setdefault(kind, set()).add(sync)
        return await append(
            store,
            stream,
            kind,
            data,
            sync=sync,
            summarise=summarise,
            recorded_at=recorded_at,
            blobs=blobs,
        )

    monkeypatch.setattr(SqliteStore, "append", watched)
    once: dict[str, Any] = {"effect": "once", "needs_approval": True}
    order = ToolDefinition("order", "Orders.", {"type": "object"}, lambda given: "done", **once)
    provider = scripted(asks(ToolCallPart("1", "order", {})), "Ordered.")
    async with Agent(SEAT, provider=provider, tools=[order], at=Home(tmp_path, "x")) as agent:
        with pytest.raises(Paused) as asked:
            await agent.send("Order it.")
        await approve(agent, asked.value)
        await agent.resume()
    assert {kind for kind, synced in how.items() if synced == {True}} >= {
        "model_reply",
        "paused",
        "decided",
        "tool_started",
        "tool_result",
    }


async def test_calls_left_open_at_a_cap_have_their_answer_before_something_else_is_said() -> None:
    spent = Reply(asks(look("a")).parts, stop="tool_calls", usage=Usage(100, 0))
    provider = scripted(spent, "2")
    async with Agent(SEAT, provider=provider, tools=[tool()], budget=Budget(tokens=100)) as agent:
        assert [(await agent.send(words)).ended for words in ("one", "two")] == ["tokens", "tokens"]
        agent.budget = Budget()
        assert (await resumed(agent)).text == "2"
    assert [type(turn) for turn in provider.requests[-1].window.turns] == [
        UserMessage,
        AssistantMessage,
        ToolResults,
        UserMessage,
    ]


async def test_other_words_at_a_place_are_refused_and_lose_nothing(tmp_path: Path) -> None:
    async def program(words: list[str], *answers: Any) -> tuple[list[str], int]:
        provider = scripted(*answers)
        async with Agent(SEAT, provider=provider, at=Home(tmp_path, "x")) as agent:
            return [(await agent.send(one)).text for one in words], len(provider.requests)

    assert await program(["a", "b"], "1", "2") == (["1", "2"], 2)
    with pytest.raises(RunError, match=r'message 2 was "b" and is "B" now; begin with resume\(\)'):
        await program(["a", "B"], "4")
    assert await program(["a", "b", "c"], "3") == (["1", "2", "3"], 1)
    agent = Agent(SEAT, provider=scripted("4"), at=Home(tmp_path, "x"))
    await agent.resume()
    await agent.close()
    with pytest.raises(RunError, match='message 1 was "a" and is "d" now'):  # it is opened anew
        await agent.send("d")
    await agent.resume()
    assert (await agent.send("d")).text == "4"
    assert [text for _, text in said(agent)] == ["a", "1", "b", "2", "c", "3", "d", "4"]
    await agent.close()


async def test_a_message_that_failed_is_followed_by_another(tmp_path: Path) -> None:
    async with Agent(
        SEAT, provider=scripted("1", RequestRefused("no"), "3"), at=Home(tmp_path, "x")
    ) as agent:
        await agent.send("a")
        with pytest.raises(RequestRefused):
            await agent.send("b")
        assert (await agent.send("c")).text == "3"
        before = said(agent)
    again = scripted()
    async with Agent(SEAT, provider=again, at=Home(tmp_path, "x")) as agent:
        last = await agent.resume()
        assert (last and last.text, said(agent)) == ("3", before)
    assert before == [
        ("user", "a"),
        ("assistant", "1"),
        ("user", "b"),
        ("user", "c"),
        ("assistant", "3"),
    ]


async def test_a_call_that_was_cut_off_has_its_answer_before_something_else_is_said(
    tmp_path: Path,
) -> None:
    begun = asyncio.Event()

    async def hang(at: str) -> str:
        begun.set()
        await asyncio.sleep(600)
        return at

    provider = scripted(asks(look("a")), "2")
    async with Agent(SEAT, provider=provider, tools=[tool(hang)], at=Home(tmp_path, "x")) as agent:
        working = asyncio.create_task(agent.send("one"))
        await begun.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert (await agent.send("two")).text == "2"
        before = said(agent)
    turns = provider.requests[-1].window.turns
    assert [type(turn) for turn in turns] == [
        UserMessage,
        AssistantMessage,
        ToolResults,
        UserMessage,
    ]
    assert "cut off" in str(turns[2])
    again = scripted()
    async with Agent(SEAT, provider=again, tools=[tool(hang)], at=Home(tmp_path, "x")) as agent:
        last = await agent.resume()
        assert (last and last.text, said(agent)) == ("2", before)


async def test_a_reply_that_was_cut_off_in_a_call_leaves_no_orphan() -> None:
    cut = Reply((Text("I look"), look("a")), stop="length")
    provider = scripted(cut, "2")
    async with Agent(SEAT, provider=provider, tools=[tool()]) as agent:
        assert (await agent.send("one")).ended == "length"
        await agent.send("two")
    assert [type(turn) for turn in provider.requests[-1].window.turns] == [
        UserMessage,
        AssistantMessage,
        ToolResults,
        UserMessage,
    ]


@pytest.mark.parametrize("kind", [ReplyDelta, ReplyReceived])
async def test_a_listener_that_fails_costs_no_reply(kind: type[Event]) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, kind):
            raise BrokenPipeError("nobody listens")

    provider = scripted("all of it")
    async with Agent(SEAT, provider=provider, on_event=listen) as agent:
        with pytest.raises(BrokenPipeError):
            await agent.send("one")
        assert (await resumed(agent)).text == "all of it"
    assert len(provider.requests) == 1


async def test_a_listener_that_fails_fails_no_delegation() -> None:
    def listen(event: Event) -> None:
        if event.conversation != "main":
            raise BrokenPipeError("nobody listens")

    wanted = ToolCallPart("1", "delegate", {"purpose": "Is it there?"})
    script: dict[str, list[Any]] = {
        SEAT.name: [asks(wanted), "so"],
        f"{SEAT.name}.sub": ["it is there"],
    }
    provider = ScriptedProvider(script)
    async with Agent(
        replace(SEAT, strategy="sub_conversation"), provider=provider, on_event=listen
    ) as agent:
        with pytest.raises(BrokenPipeError):
            await agent.send("one")
        assert (await resumed(agent)).text == "so"
    assert "it is there" in sent(provider.requests[-1])
    assert len(provider.requests) == 3


async def test_what_is_first_used_twice_at_once_is_opened_once(tmp_path: Path) -> None:
    async with Agent(SEAT, provider=scripted("1", "2"), at=Home(tmp_path, "x")) as agent:
        one, two, sub = await asyncio.gather(
            agent.send("a"), agent.send("b"), agent.open_sub("look")
        )
        assert (one.text, two.text, len(sub.history())) == ("1", "2", 0)


async def test_a_sub_conversation_has_the_caps_and_an_end(tmp_path: Path) -> None:
    def provider(*answers: Any) -> Provider:
        return ScriptedProvider({SEAT.name: ["so"], f"{SEAT.name}.sub": [*answers]})

    calls = [asks(look(at)) for at in "abc"]
    agent = Agent(
        SEAT,
        provider=provider(*calls, "7"),
        tools=[tool()],
        budget=Budget(turns=1),
        at=Home(tmp_path, "x"),
    )
    async with agent:
        sub = await agent.open_sub("look")
        assert (await sub.send("go")).ended == "turns"
        sub.budget = Budget(turns=9)
        await agent.close_sub(sub)
        with pytest.raises(RunError, match="completed"):
            await sub.send("more")
        await agent.send("and?")
        before = said(agent)
    again = Agent(SEAT, provider=provider("other"), tools=[tool()], at=Home(tmp_path, "x"))
    async with again:
        last = await again.resume()
        assert (last and last.text, said(again)) == ("so", before)
        assert (await again.open_sub("other")).id != sub.id


async def test_an_unanswered_message_is_answered_from_the_blocks_that_it_came_with(
    tmp_path: Path,
) -> None:
    block = Block("extra", "seven")
    home = Home(tmp_path, "x")
    async with Agent(SEAT, provider=scripted("1", RequestRefused("no")), at=home) as agent:
        await agent.send("a", block)
        with pytest.raises(RequestRefused):
            await agent.send("b", block)
    provider = scripted("2")
    async with Agent(SEAT, provider=provider, at=home) as agent:
        last = await agent.resume()
        assert last is not None and last.text == "2"
    assert "seven" in str(provider.requests[0].window.blocks)
    async with Agent(SEAT, provider=scripted("3"), at=home) as agent:
        assert (await agent.send("a", block)).text == "1"
        with pytest.raises(RunError, match='message 2 was "b"'):
            await agent.send("b", Block("extra", "eight"))


@pytest.mark.parametrize("content", [None, 5, ["x"]])
async def test_what_is_no_text_is_refused_before_it_is_kept(tmp_path: Path, content: Any) -> None:
    async with Agent(SEAT, provider=scripted("1"), at=Home(tmp_path, "x")) as agent:
        with pytest.raises(
            InputError, match=f"a message is of type {type(content).__name__}; pass a text"
        ):
            await agent.send(content)
        assert agent.history() == []
        assert (await agent.send("half \ud800 a character")).text == "1"
        assert said(agent)[0] == ("user", "half \ufffd a character")


@pytest.mark.parametrize(
    "caps", [{"turns": None}, {"turns": -1}, {"tokens": float("nan")}, {"usd": -1}, {"seconds": -1}]
)
def test_a_cap_is_a_number_from_zero_on(caps: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be a number from 0 on"):
        Budget(**caps)
