"""What is said of a text, and of how a model is asked, is looked at where it is said: a slip would mark nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transom.agent import Agent
from transom.errors import EgressError, InputError, ToolRefused
from transom.llm import (
    Asked,
    Block,
    CameBack,
    Chain,
    OnDelta,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCall,
    ToolResult,
    Window,
)
from transom.llm.codec import request_from_json
from transom.tools import Outcome, ToolDefinition
from transom.tools.mcp_terms import ToolTerms

ODD: Any = ["Local", "lokal", "none", "", None, True, ["local"]]
SECRET = "SECRETNET u_core/x"
SEAT = Role("t.seat", (Block("role", "You look."),), frozenset({"role", "log"}))


def far(*answers: Any) -> ScriptedProvider:
    return ScriptedProvider({"t.seat": [*answers]}, name="far", local=False)


def asked(*blocks: Block, turns: Any = (), **more: Any) -> Request:
    return Request("t.seat", Window(blocks, turns, **more))


EGRESS: dict[str, Callable[[Any], object]] = {
    "block": lambda mark: Block("log", SECRET, egress=mark),
    "window": lambda mark: Window((), egress=mark),
    "result": lambda mark: ToolResult("1", "look", SECRET, egress=mark),
    "asked": lambda mark: Asked(SECRET, mark),
    "outcome": lambda mark: Outcome(SECRET, egress=mark),
    "terms": lambda mark: ToolTerms(egress=mark),
}
TRUST: dict[str, Callable[[Any], object]] = {
    "block": lambda mark: Block("log", SECRET, trust=mark),
    "result": lambda mark: ToolResult("1", "look", SECRET, trust=mark),
    "terms": lambda mark: ToolTerms(trust=mark),
}


@pytest.mark.parametrize("mark", ODD, ids=repr)
@pytest.mark.parametrize("make", EGRESS.values(), ids=EGRESS)
def test_no_mark_of_egress_but_those_that_there_are(make: Callable[[Any], object], mark: Any) -> None:
    with pytest.raises(InputError, match=r"its egress is .*; say 'any' or 'local'"):
        make(mark)
    make("local")


@pytest.mark.parametrize("mark", ["Ours", "trusted", None], ids=repr)
@pytest.mark.parametrize("make", TRUST.values(), ids=TRUST)
def test_no_mark_of_trust_but_those_that_there_are(make: Callable[[Any], object], mark: Any) -> None:
    with pytest.raises(InputError, match=r"its trust is .*; say 'ours' or 'untrusted'"):
        make(mark)
    make("ours")


def test_a_tier_goes_by_its_name_and_no_other() -> None:
    given: Any = "session"
    assert Block("log", "x", given).tier is Tier.SESSION
    given = "sesion"
    with pytest.raises(InputError, match=r"Block 'log': its tier is 'sesion'; say Tier.STABLE or"):
        Block("log", "x", given)


@pytest.mark.parametrize("effect", ["onec", {"look": "onec"}], ids=["all", "one"])
def test_terms_have_no_effect_but_those_that_there_are(effect: Any) -> None:
    with pytest.raises(InputError, match="ToolTerms: an effect is 'onec'; say 'pure' or"):
        ToolTerms(effect=effect)


def forged(thing: Any, **marks: str) -> Any:
    """With marks that its maker would have refused."""
    for name, mark in marks.items():
        object.__setattr__(thing, name, mark)
    return thing


@pytest.mark.parametrize(
    "request_",
    [
        asked(forged(Block("log", SECRET), egress="Local")),
        asked(turns=(CameBack((forged(ToolResult("1", "look", SECRET), egress="Local"),)),)),
        asked(turns=(forged(Asked(SECRET), egress="Local"),)),
        Request("t.seat", forged(Window(()), egress="Local")),
    ],
    ids=["block", "result", "asked", "window"],
)
async def test_what_is_marked_in_a_way_that_nobody_knows_stays_here(request_: Request) -> None:
    provider = far("x")
    with pytest.raises(EgressError):
        await Chain((provider,)).complete(request_)
    assert provider.requests == []


@pytest.mark.parametrize("mark", ["Local", "none"])
async def test_what_a_handler_marks_in_a_way_that_nobody_knows_reaches_nobody(mark: Any) -> None:
    provider = far(ToolCall("1", "look", {}), "ok")
    look = ToolDefinition("look", "Looks.", {"type": "object"}, lambda arguments: Outcome(SECRET, egress=mark))
    async with Agent(SEAT, provider=provider, tools=[look]) as agent:
        await agent.send("go")
        (result,) = agent.history()[2].tool_results
    assert not result.success and f"its egress is {mark!r}" in result.content
    assert SECRET not in str(provider.requests)


async def test_a_refusal_that_is_marked_in_a_way_that_nobody_knows_stays_here_and_is_no_word_of_ours() -> None:
    def refuse(arguments: Any) -> str:
        raise forged(ToolRefused(SECRET), egress="Local", trust="Ours")

    provider = far(ToolCall("1", "look", {}), "ok")
    look = ToolDefinition("look", "Looks.", {"type": "object"}, refuse)
    async with Agent(SEAT, provider=provider, tools=[look]) as agent:
        with pytest.raises(EgressError, match="a result of tool look"):
            await agent.send("go")
        (result,) = agent.history()[2].tool_results
    assert (result.metadata["egress"], result.metadata["trust"]) == ("local", "untrusted")


async def test_a_reply_has_no_mark_but_those_that_there_are() -> None:
    class Odd(ScriptedProvider):
        async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
            reply: Reply = forged(Reply((Text("x"),), by=self.name), egress="lokal")
            return reply

    with pytest.raises(InputError, match="a reply of odd: its egress is 'lokal'"):
        await Chain((Odd({}, name="odd"),)).complete(asked())


def test_a_request_with_such_a_mark_cannot_be_read_back() -> None:
    told: Any = asked(Block("log", "x")).to_json()
    told["blocks"][0]["egress"] = "Local"
    with pytest.raises(ValueError, match="not a Block"):
        request_from_json(told)
    told["blocks"][0] |= {"egress": "any", "tier": "stabel"}
    with pytest.raises(ValueError, match="not a Block"):
        request_from_json(told)
