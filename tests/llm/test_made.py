"""What is said of a text, and of how a model is asked, is looked at where it is said: a slip
would mark nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, field_validator

from transom.agent import Agent, Home, Setup
from transom.errors import EgressError, InputError, ReplyError, ToolRefused
from transom.llm import (
    Block,
    CallSettings,
    Capabilities,
    Chain,
    OnDelta,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    UserMessage,
    Window,
)
from transom.llm.codec import request_from_json
from transom.llm.structured import schema_check
from transom.tools import ToolDefinition, ToolReturn
from transom.tools.mcp import ToolTerms

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
    "result": lambda mark: ToolResultPart("1", "look", SECRET, egress=mark),
    "asked": lambda mark: UserMessage(SECRET, mark),
    "outcome": lambda mark: ToolReturn(SECRET, egress=mark),
    "terms": lambda mark: ToolTerms(egress=mark),
}
TRUST: dict[str, Callable[[Any], object]] = {
    "block": lambda mark: Block("log", SECRET, trust=mark),
    "result": lambda mark: ToolResultPart("1", "look", SECRET, trust=mark),
    "terms": lambda mark: ToolTerms(trust=mark),
}


@pytest.mark.parametrize("mark", ODD, ids=repr)
@pytest.mark.parametrize("make", EGRESS.values(), ids=EGRESS)
def test_no_mark_of_egress_but_those_that_there_are(
    make: Callable[[Any], object], mark: Any
) -> None:
    with pytest.raises(InputError, match=r"its egress is .*; write 'any' or 'local'"):
        make(mark)
    make("local")


@pytest.mark.parametrize("mark", ["Ours", "trusted", None], ids=repr)
@pytest.mark.parametrize("make", TRUST.values(), ids=TRUST)
def test_no_mark_of_trust_but_those_that_there_are(
    make: Callable[[Any], object], mark: Any
) -> None:
    with pytest.raises(InputError, match=r"its trust is .*; write 'ours' or 'untrusted'"):
        make(mark)
    make("ours")


def test_a_tier_goes_by_its_name_and_no_other() -> None:
    given: Any = "session"
    assert Block("log", "x", given).tier is Tier.SESSION
    given = "sesion"
    with pytest.raises(InputError, match=r"Block 'log': its tier is 'sesion'; write 'stable' or"):
        Block("log", "x", given)


@pytest.mark.parametrize("effect", ["onec", {"look": "onec"}], ids=["all", "one"])
def test_terms_have_no_effect_but_those_that_there_are(effect: Any) -> None:
    with pytest.raises(InputError, match="ToolTerms: its effect is 'onec'; write 'pure' or"):
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
        asked(turns=(ToolResults((forged(ToolResultPart("1", "look", SECRET), egress="Local"),)),)),
        asked(turns=(forged(UserMessage(SECRET), egress="Local"),)),
        Request("t.seat", forged(Window(()), egress="Local")),
    ],
    ids=["block", "result", "asked", "window"],
)
async def test_what_is_marked_in_a_way_that_nobody_knows_stays_here(request_: Request) -> None:
    provider = far("x")
    with pytest.raises(EgressError):
        await Chain((provider,)).answer(request_)
    assert provider.requests == []


@pytest.mark.parametrize("mark", ["Local", "none"])
async def test_what_a_handler_marks_in_a_way_that_nobody_knows_reaches_nobody(mark: Any) -> None:
    provider = far(ToolCallPart("1", "look", {}), "ok")
    look = ToolDefinition(
        "look", "Looks.", {"type": "object"}, lambda arguments: ToolReturn(SECRET, egress=mark)
    )
    async with Agent(SEAT, provider=provider, tools=[look]) as agent:
        await agent.send("go")
        (result,) = agent.history()[2].tool_results
    assert not result.success and f"its egress is {mark!r}" in result.content
    assert SECRET not in str(provider.requests)


async def test_a_refusal_that_is_marked_in_a_way_that_nobody_knows_stays_here_and_is_no_word_of_ours() -> (
    None
):
    def refuse(arguments: Any) -> str:
        raise forged(ToolRefused(SECRET), egress="Local", trust="Ours")

    provider = far(ToolCallPart("1", "look", {}), "ok")
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
        await Chain((Odd({}, name="odd"),)).answer(asked())


def test_a_request_with_such_a_mark_cannot_be_read_back() -> None:
    told: Any = asked(Block("log", "x")).to_json()
    told["blocks"][0]["egress"] = "Local"
    with pytest.raises(ValueError, match="not a request: "):
        request_from_json(told)
    told["blocks"][0] |= {"egress": "any", "tier": "stabel"}
    with pytest.raises(ValueError, match="not a request: "):
        request_from_json(told)


STABLE = Block("role", "You look.", Tier.STABLE)


class Count(BaseModel):
    n: int
    unit: Literal["bolts", "nuts"] = "bolts"

    @field_validator("n")
    @classmethod
    def _even(cls, n: int) -> int:
        if n % 2:
            raise ValueError("it is odd")
        return n


class Unsaid(BaseModel):
    call: Callable[[], int]


def role(**more: Any) -> Role:
    return Role(**{"name": "t.seat", "prompt": (STABLE,), "sees": frozenset({"role"}), **more})


# Of any type: whoever has a type checker never comes so far.
agent: Any = Agent
block: Any = Block
chain: Any = Chain
settings: Any = CallSettings
setup: Any = Setup

SLIPS: dict[str, tuple[Callable[[], object], str]] = {
    "a name of nothing": (lambda: role(name=" "), r"^Role: its name is ' '; give it a name"),
    "a name that is none": (lambda: role(name=5), r"^Role: its name is 5; "),
    "a prompt of a number": (
        lambda: role(prompt=3),
        (
            r'^t.seat: the value of prompt is of type int.*write Role\("clerk", "You know the'
            r' stock."\)'
        ),
    ),
    "a prompt of texts": (
        lambda: role(prompt=["You look."]),
        r"an element of prompt is of type str",
    ),
    "one block": (
        lambda: role(prompt=STABLE),
        r"^t.seat: the value of prompt is of type Block, not a list",
    ),
    "names in one text": (
        lambda: role(sees="role_and_log"),
        r"^t.seat: the value of sees is of type str.*write \[str",
    ),
    "names that are none": (
        lambda: role(sees={5}),
        r"^t.seat: the value of an element of sees is of type int",
    ),
    "tools with handlers": (
        lambda: role(tools=[ToolDefinition("t", "T", {"type": "object"}, print)]),
        r"^t.seat: the value of an element of tools is of type ToolDefinition; .*Agent\(role, tools=",
    ),
    "settings of a dict": (
        lambda: role(settings={"max_tokens": 5}),
        r"settings is of type dict; write CallS",
    ),
    "an output of another class": (
        lambda: role(output=dict),
        r"^t.seat: its output is the class dict; give a JSON S",
    ),
    "an output of an instance": (
        lambda: role(output=Count(n=2)),
        r"its output is of type Count; give a JSON Schema",
    ),
    "an output without a schema": (
        lambda: role(output=Unsaid),
        r"no JSON Schema can be made of the class Unsaid: ",
    ),
    "a strategy": (lambda: role(strategy="memry"), r"^t.seat: its strategy is 'memry'; write"),
    "no tokens": (
        lambda: settings(max_tokens=0),
        r"^CallSettings: max_tokens is 0, .*; give max_tokens from 1",
    ),
    "fewer tokens": (lambda: settings(max_tokens=-5), r"max_tokens is -5, "),
    "half a token": (lambda: settings(max_tokens=1.5), r"max_tokens is 1.5, "),
    "yes tokens": (lambda: settings(max_tokens=True), r"max_tokens is True, "),
    "a word of tokens": (lambda: settings(max_tokens="5"), r"max_tokens is '5', "),
    "too warm": (lambda: settings(temperature=9), r"temperature 9; .* from 0 to 2, or None"),
    "below zero": (lambda: settings(temperature=-0.1), r"temperature -0.1; "),
    "no number": (lambda: settings(temperature=math.nan), r"temperature nan; "),
    "a word": (lambda: settings(temperature="hot"), r"temperature 'hot'; "),
    "a block without a name": (lambda: block("", "x"), r"^Block: its name is ''; give it a name"),
    "a block whose name ends its tag": (
        lambda: block("x><b", "x"),
        r"^Block: its name is 'x><b'.*without <, > and",
    ),
    "a block without a text": (
        lambda: block("log", None),
        r"text is of type NoneType; structured",
    ),
    "a chain of numbers": (
        lambda: chain((5,)),
        r"^Chain: a provider is expected, and this is of type int; ",
    ),
    "a chain of a class": (
        lambda: chain((ScriptedProvider,)),
        r"a provider is expected, and this is the class ScriptedProvider; ",
    ),
    "a chain of a chain": (
        lambda: chain((chain((far(),)),)),
        r"this is of type Chain, which lacks ",
    ),
    "a chain of one": (lambda: chain(far()), r"^Chain: the value of providers is of type Scr"),
    "a seat that is no chain": (
        lambda: chain((far(),), seats={"a": far()}),
        r"^Chain: the value of seat a is of type Scripted",
    ),
    "an agent of nobody": (
        lambda: agent(SEAT, provider=5),
        r"^provider: a provider is expected, and this is of t",
    ),
    "settings of nothing": (
        lambda: setup("rules", None),
        r"^Setup: the value of settings is of type NoneType; write Settings",
    ),
    "no schema": (
        lambda: agent(role(output={"type": "objekt"}), provider=far()),
        r"^the schema of the answer: no JSON Schema: 'objekt' is not valid",
    ),
}


@pytest.mark.parametrize(("make", "told"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_told_when_it_is_made(make: Callable[[], object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        make()


def test_what_is_held_to_is_a_schema_and_no_class() -> None:
    given: Any = Count
    with pytest.raises(InputError, match="the value of output is the class Count"):
        schema_check(given)


def test_lists_are_taken_and_are_as_good() -> None:
    given: Any = [STABLE]
    assert role(prompt=given, sees=["role"], tools=[]) == role()
    assert role(sees=["role"]).digest == role().digest


def test_a_role_with_a_class_is_asked_as_one_with_its_schema() -> None:
    assert (
        role(output=Count).schema
        == Count.model_json_schema()
        == role(output=Count.model_json_schema()).schema
    )
    assert (
        role(output=Count).digest == role(output=Count.model_json_schema()).digest != role().digest
    )


@pytest.mark.parametrize(
    "taught", [True, False], ids=["its server holds to schemas", "it is told in words"]
)
async def test_an_answer_is_read_as_the_class_that_it_follows(taught: bool, tmp_path: Path) -> None:
    good, bad = '{"n": 8}', '{"n": 8, "unit": "screws"}'
    caps = Capabilities(structured_output=taught)
    for answers in ([bad, good, "{}", good], []):
        provider = ScriptedProvider({"t.seat": answers}, caps=caps)
        async with Agent(role(output=Count), provider=provider, at=Home(tmp_path, "t")) as agent:
            first = await agent.send("How many?")
            assert (first.value, first.ended) == (Count(n=8), "answered")
            assert (await agent.send("And now?")).value == Count(n=8)
        assert len(provider.requests) == len(answers), (
            "a wrong one is mended once, and nothing is asked again later"
        )


async def test_what_only_the_class_knows_is_told_to_the_model(tmp_path: Path) -> None:
    provider = far('{"n": 7}', '{"n": 8}', '{"n": 7}', '{"n": 9}')
    async with Agent(role(output=Count), provider=provider) as agent:
        assert (await agent.send("How many?")).value == Count(n=8)
        with pytest.raises(ReplyError, match="nor does its repair: n: Value error, it is odd"):
            await agent.send("And now?")
    assert "n: Value error, it is odd" in str(provider.requests[1].window.turns[-1])
    # An answer of the journal may be of a time when the class was another.
    for output, answers in ((Count.model_json_schema(), ['{"n": 7}']), (Count, [])):
        provider = far(*answers)
        async with Agent(role(output=output), provider=provider, at=Home(tmp_path, "t")) as agent:
            odd = await agent.send("How many?")
    assert (odd.text, odd.ended) == ('{"n": 7}', "answered")
    with pytest.raises(ReplyError, match="the answer is no Count: n: Value error, it is odd"):
        _ = odd.value


async def test_an_answer_by_a_schema_is_data_and_one_in_words_is_none() -> None:
    for output, value in ((Count.model_json_schema(), {"n": 7}), (None, None)):
        async with Agent(role(output=output), provider=far('{"n": 7}')) as agent:
            assert (await agent.send("How many?")).value == value
    cut = Reply((Text('{"n": '),), "length")
    async with Agent(role(output=Count), provider=far(cut)) as agent:
        response = await agent.send("How many?")
    assert response.ended == "length"
    with pytest.raises(ReplyError, match="there is no answer: it ended with length"):
        _ = response.value
