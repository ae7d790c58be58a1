"""Text that is marked local stays, either way: through sub-conversations, parts of what is kept,
and replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, sent, tool
from transom.agent import Agent, Home, Setup
from transom.config import Settings
from transom.errors import EgressError, NetworkFailed, ProviderError
from transom.llm import Block, Chain, EgressPolicy, Reply, Request, ScriptedProvider, ToolCallPart
from transom.store import SqliteStore

SECRET = "SECRETNET u_core/x slack -0.5"
DELEGATING = replace(SEAT, strategy="sub_conversation")


async def secret(at: str) -> str:
    return f"{at}: {SECRET}"


READ_LOG = tool(secret, name="read_log", egress="local")


def seat(name: str, *answers: Any, local: bool) -> ScriptedProvider:
    return ScriptedProvider({name: [*answers]}, name="there" if not local else "here", local=local)


def two(
    main: Sequence[Any],
    sub: Sequence[Any],
    *,
    local: bool = False,
    policy: EgressPolicy | None = None,
) -> Any:
    """The providers of a conversation and of its sub-conversations, and the chain of both: one
    here, one elsewhere.
    """
    one, other = seat("t.seat", *main, local=local), seat("t.seat.sub", *sub, local=not local)
    return (
        one,
        other,
        Chain((one,), policy=policy or EgressPolicy(), seats={"t.seat.sub": Chain((other,))}),
    )


def delegates(purpose: str = "look") -> Reply:
    return asks(ToolCallPart("d", "delegate", {"purpose": purpose}))


def none_told(*providers: ScriptedProvider) -> bool:
    return not any(
        "SECRETNET" in sent(request) for provider in providers for request in provider.requests
    )


@pytest.mark.parametrize(
    "answer", [f"It says {SECRET}", ProviderError(f"500: {SECRET}")], ids=["answer", "failure"]
)
async def test_what_a_delegate_saw_here_reaches_nobody_elsewhere(answer: Any) -> None:
    main, _, chain = two([delegates(), "ok"], [asks(look("a", name="read_log")), answer])
    async with Agent(DELEGATING, provider=chain, tools=[READ_LOG]) as agent:
        with pytest.raises(EgressError, match="result of tool delegate is marked local"):
            await agent.send("go")
        with pytest.raises(EgressError):
            await agent.resume()
    assert len(main.requests) == 1 and none_told(main)


async def test_what_a_delegate_finds_elsewhere_is_as_free_as_before() -> None:
    main, _, chain = two([delegates(), "ok"], [asks(look("a")), "It saw a."])
    async with Agent(DELEGATING, provider=chain, tools=[READ_LOG, tool()]) as agent:
        assert (await agent.send("go")).text == "ok"
    assert "It saw a." in sent(main.requests[1])


@pytest.mark.parametrize("again", [False, True], ids=["same life", "resumed"])
@pytest.mark.parametrize("how", ["result", "block", "policy"])
async def test_what_a_program_is_told_by_a_sub_conversation_is_as_local_as_that(
    how: str, again: bool, tmp_path: Path
) -> None:
    policy = EgressPolicy(("background",)) if how == "policy" else None
    first = [asks(look("a", name="read_log"))] if how == "result" else []
    main, _, chain = two(["hello", "ok"], [*first, SECRET, f"In short, {SECRET}"], policy=policy)
    seen = (
        []
        if how == "result"
        else [Block("background", SECRET, egress="local" if how == "block" else "any")]
    )
    home = Home(tmp_path, "t")
    async with Agent(SEAT, provider=chain, tools=[READ_LOG], at=home) as agent:
        await agent.send("hi")
        sub = await agent.open_sub("look")
        await sub.send("look", *seen)
        await agent.close_sub(sub)
        if not again:
            with pytest.raises(EgressError, match="finding of a sub-conversation is marked local"):
                await agent.send("go")
    async with Agent(SEAT, provider=chain, tools=[READ_LOG], at=home) as agent:
        await agent.resume() if again else None
        with pytest.raises(EgressError, match="finding of a sub-conversation is marked local"):
            await (agent.send("go") if again else agent.resume())
    assert len(main.requests) == 1 and none_told(main)


async def test_a_conversation_here_hands_nothing_that_it_saw_to_a_sub_conversation_elsewhere() -> (
    None
):
    _, other, chain = two(
        [asks(look("a", name="read_log")), delegates(f"Is it so that {SECRET}?")], [], local=True
    )
    async with Agent(DELEGATING, provider=chain, tools=[READ_LOG]) as agent:
        with pytest.raises(EgressError, match="block purpose is marked local"):
            await agent.send("go")
    assert other.requests == []


async def test_a_part_of_what_is_local_is_local_and_so_is_what_is_said_of_a_part_that_is_not_there() -> (
    None
):
    names: list[str] = []

    def part(**what: str) -> Any:
        def answer(request: Request) -> Reply:
            text = sent(request)
            names.append(text.split("kept whole as ")[1].split(".")[0])
            return asks(ToolCallPart(str(len(names)), "read_slice", {"source": names[0], **what}))

        return answer

    async def large(at: str) -> dict[str, Any]:
        return {SECRET: ["x " * 100_000]}

    main = seat(
        "t.seat",
        asks(look("a")),
        part(find="SECRETNET"),
        part(pointer="/nothing"),
        "ok",
        local=True,
    )
    async with Agent(SEAT, provider=main, tools=[tool(large, egress="local")]) as agent:
        answer = await agent.send("go")
    came = [result for turn in answer.turns if hasattr(turn, "results") for result in turn.results]
    assert [(one.name, one.egress, one.is_error) for one in came] == [
        ("look", "local", False),
        ("read_slice", "local", False),
        ("read_slice", "local", True),
    ]
    assert SECRET in came[-1].content


@pytest.mark.parametrize("how", ["block", "folded"])
async def test_who_answers_elsewhere_goes_on_with_nothing_that_was_answered_from_local_text(
    how: str, tmp_path: Path
) -> None:
    home, said = Home(tmp_path, "t"), f"It says {SECRET}"
    settings = Settings.model_validate({"window": {"compact_at": 3, "keep_recent": 1}})
    block = how == "block"
    script = [said] if block else [asks(look("a", name="read_log")), said, *"abcdefgh"]
    here = seat("t.seat", *script, local=True)
    async with Agent(SEAT, provider=Setup(here, settings), tools=[READ_LOG], at=home) as agent:
        await agent.send("q", *[Block("extra", SECRET, egress="local")] if block else [])
        for more in [] if block else "12345678":
            await agent.send(more)
    assert block or "read_log" not in [
        one.name for turn in here.requests[-1].window.turns for one in getattr(turn, "results", ())
    ], "windows do not hold the result any more"
    there = seat("t.seat", "ok", local=False)
    async with Agent(SEAT, provider=Setup(there, settings), tools=[READ_LOG], at=home) as agent:
        await agent.resume()
        with pytest.raises(EgressError, match="a reply that was answered from local text"):
            await agent.send("more")
    assert there.requests == []


async def test_a_local_block_that_was_refused_taints_nothing() -> None:
    there = seat("t.seat", "ok", local=False)
    async with Agent(SEAT, provider=there) as agent:
        with pytest.raises(EgressError, match="block extra"):
            await agent.send("q", Block("extra", SECRET, egress="local"))
        assert (await agent.send("q, without it")).text == "ok"
    assert none_told(there)


APPEND = SqliteStore.append


class Stopped(BaseException):
    pass


async def stopped_before_a_finding(
    store: SqliteStore, stream: str, kind: str, data: Any, **more: Any
) -> int:
    if "sub" in data:
        raise Stopped
    return await APPEND(store, stream, kind, data, **more)


@pytest.mark.parametrize("how", ["refused", "failed", "policy", "told later"])
async def test_what_a_sub_conversation_was_given_makes_its_finding_local_although_nobody_answered_from_it(
    how: str, tmp_path: Path
) -> None:
    here = how == "failed"  # who is to answer in the sub-conversation
    script = [NetworkFailed("down")] * 2 if here else ["Nothing.", "Nothing more."]
    main, sub = (
        seat("t.seat", "hello", "ok", "ok", local=False),
        seat("t.seat.sub", *script, local=here),
    )
    policy = EgressPolicy(("background",)) if how == "policy" else EgressPolicy()
    chain = Chain((main,), policy=policy, seats={"t.seat.sub": Chain((sub,))})
    given = Block(
        "background", SECRET, trust="untrusted", egress="any" if how == "policy" else "local"
    )
    home = Home(tmp_path, "t")
    async with Agent(SEAT, provider=chain, at=home) as agent:
        await agent.send("hi")
        opened = await agent.open_sub("look")
        with pytest.raises(NetworkFailed if here else EgressError):
            await opened.send("look", given)
        if how == "told later":  # it is summed up, and the program ends before the finding is told
            with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
                patch.setattr(SqliteStore, "append", stopped_before_a_finding)
                await agent.close_sub(opened)
        else:
            assert "u_core/x" in (await agent.close_sub(opened)).text
    async with Agent(SEAT, provider=chain, at=home) as agent:
        await agent.resume()
        if how == "told later":
            opened = await agent.open_sub("look")
            await opened.resume()
            assert "u_core/x" in (await agent.close_sub(opened)).text
        with pytest.raises(EgressError, match="finding of a sub-conversation is marked local"):
            await agent.send("go")
    assert not any("u_core" in sent(request) for request in main.requests) and none_told(main)
