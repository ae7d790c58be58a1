"""What a model may have looked into: it names what it can see or count, since servers need not show it ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, sent, tool
from transom.agent import Agent, Budget, Home, Setup
from transom.agent.results import Sources
from transom.config import Settings
from transom.llm import (
    AssistantMessage,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    ToolCall,
    ToolResult,
    ToolResults,
    Turn,
    UserMessage,
)
from transom.llm.turns import Egress

DELEGATING = replace(SEAT, strategy="sub_conversation")
LARGE = "\n".join(f"row {number}: the ratio is 0.{number:05d}" for number in range(4_000))


def made(at: str, told: str, name: str = "look", *, ident: str = "same", **more: Any) -> tuple[Turn, Turn]:
    """A call and its result; servers may give all calls the same id."""
    return AssistantMessage((ToolCall(ident, name, {"at": at}),)), ToolResults((ToolResult(ident, name, told, **more),))


TURNS = [
    UserMessage("What of lot_7?"),
    *made("a", "first"),
    *made("b", "no such place", is_error=True, trust="ours"),
    *made("c", "third", egress="local"),
    *made("d", "found one", "find", ident="other"),
    AssistantMessage((Text("It is 42."),)),
    UserMessage("Sure?"),
    AssistantMessage((Text("Yes."),)),
    *made("e", "It is kept whole as result-1. Its outline.", "read"),
]
KEPT = {"result-1": ToolResult("same", "read", "all of it", egress="local")}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("look #1", ("look #1", "first")),
        ("look#1", ("look #1", "first")),
        ("look #2", None),  # it failed
        ("look #3", ("look #3", "third")),
        *[(f"look #{number}", None) for number in ("4", "0", "-1", "x", "")],
        ("look", None),  # there are two
        ("find", ("find #1", "found one")),
        ("other", ("find #1", "found one")),
        ("same", ("result-1", "all of it")),  # the newest of that id
        *[(name, ("result-1", "all of it")) for name in ("result-1", "read", "read #1")],
        ("event 1", ("event 1", "What of lot_7?\nfirst")),
        ("event 2", None),
        ("event 3", ("event 3", "third")),
        ("event 5", None),  # what was said is no evidence
        ("event 6", ("event 6", "Sure?")),
        *[(f"event {number}", None) for number in ("0", "8", "99999999999", "x")],
        ("", None),
    ],
)
def test_a_name_is_of_one_source_or_of_none(name: str, found: tuple[str, str] | None) -> None:
    one = Sources(TURNS, KEPT).find(name)
    assert (one and (one[0], one[1].content)) == found


def test_what_is_local_stays_so_by_each_of_its_names() -> None:
    known = Sources(TURNS, KEPT)
    local: dict[str, Egress] = {"event 3": "local", "look #3": "local", "read": "local", "event 1": "any"}
    assert {name: one[1].egress for name in local if (one := known.find(name))} == local


def test_a_tool_that_is_called_beside_is_not_taken_for_an_earlier_call_of_it() -> None:
    assert Sources(TURNS, KEPT, {"find"}).find("find") is None
    assert Sources(TURNS, KEPT, {"find"}).find("find #1") is not None


def test_the_hint_says_which_call_is_which_and_is_never_long() -> None:
    assert Sources(TURNS, KEPT).hint == (
        'there are look #1 {"at":"a"}; look #3 {"at":"c"}; find #1 {"at":"d"}; read #1 {"at":"e"}, kept as result-1'
    )
    assert Sources(TURNS[:1], {}).hint == "there are none yet: leave sources empty"
    many = Sources([turn for number in range(100) for turn in made("x" * 5_000, str(number))], {})
    assert many.hint.endswith("; 80 older ones are counted from the first")
    assert "look #81 " in many.hint and "look #80 " not in many.hint and len(many.hint) < 2_000


def by_role(main: Sequence[Any], sub: Sequence[Any]) -> ScriptedProvider:
    return ScriptedProvider({SEAT.name: [*main], f"{SEAT.name}.sub": [*sub]})


def delegate(*sources: str, purpose: str = "Is it there?") -> ToolCall:
    return ToolCall(f"{purpose}{sources}", "delegate", {"purpose": purpose, "sources": [*sources]})


def told(request: Request) -> list[str]:
    turn = request.window.turns[-1]
    assert isinstance(turn, ToolResults)
    return [one.content for one in turn.results]


SMALL = Settings.model_validate({"window": {"tokens": 30_000}})


def of_seat(provider: ScriptedProvider) -> list[Request]:
    return [request for request in provider.requests if request.role == SEAT.name]


async def large(at: str) -> str:
    return LARGE if at == "large" else f"saw {at}"


async def test_a_model_that_is_shown_no_ids_names_what_it_called() -> None:
    main = [
        asks(look("a")),
        asks(delegate("look")),
        asks(look("b", "2"), delegate("look", purpose="And b?")),
        asks(delegate("look", purpose="Now b?")),
        asks(delegate("look #2", "2")),
        "ok",
    ]
    provider = by_role(main, ["It saw a.", "It saw b."])
    async with Agent(DELEGATING, provider=provider, tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "ok"
    requests = of_seat(provider)
    assert told(requests[2]) == ["It saw a."]
    beside, unclear = json.loads(told(requests[3])[1]), json.loads(told(requests[4])[0])
    assert beside["hint"].endswith("what is called in this very reply can be named in the next one")
    assert unclear["error"] == "there is no one source look"
    assert 'look #1 {"at":"a"}' in unclear["hint"] and 'look #2 {"at":"b"}' in unclear["hint"]
    assert told(requests[5]) == ["It saw b."]
    assert sent(provider.requests[-2]).count("saw b") == 1, "what is named twice is shown once"


async def test_what_is_kept_is_handed_on_whole_and_read_there_by_its_name() -> None:
    def read(request: Request) -> Reply:
        name = sent(request).split("kept whole as ")[1].split(".")[0]
        return asks(ToolCall("r", "read_slice", {"source": name, "first_line": 3_001, "last_line": 3_001}))

    main = [asks(look("large")), asks(delegate("look")), "ok"]
    provider = by_role(main, ["In brief: fine.", read, "Row 3000 has 0.03000."])
    async with Agent(DELEGATING, provider=Setup(provider, SMALL), tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "ok"
    assert "row 3000: the ratio is 0.03000" in sent(provider.requests[-2])
    assert told(of_seat(provider)[-1])[0].startswith("Row 3000 has 0.03000.")


async def test_several_that_do_not_fit_together_are_outlined_and_can_be_read() -> None:
    """None of them was kept, so only the sub-conversation has the tool that reads parts."""
    rows = LARGE[:11_000]

    async def part(at: str) -> str:
        return f"{at}\n{rows}"

    def read(request: Request) -> Reply:
        assert "kept whole as look #2." in sent(request)
        return asks(ToolCall("r", "read_slice", {"source": "look #2", "last_line": 2}))

    names = [f"look #{number}" for number in range(1, 7)]
    main = [*[asks(look(at, at)) for at in "abcdef"], asks(delegate(*names)), "ok"]
    provider = by_role(main, [read, "Row 0 has 0.00000."])
    async with Agent(DELEGATING, provider=Setup(provider, SMALL), tools=[tool(part)]) as agent:
        assert (await agent.send("go")).text == "ok"
    assert told(provider.requests[-2]) == ["lines 1 to 2 of 372\nb\nrow 0: the ratio is 0.00000"]
    assert "Row 0 has 0.00000." in told(provider.requests[-1])[0]


async def test_names_are_the_same_when_results_are_folded_and_in_a_later_life(tmp_path: Path) -> None:
    def folded(request: Request) -> Reply:
        assert "events 1 to" in sent(request) and "saw 2" not in sent(request)
        return asks(delegate("look #3", "event 5", "look #60"))

    calls = [asks(look(f"{number}", f"c{number}")) for number in range(60)]
    later = [folded, asks(delegate("look #3", purpose="Is it?")), "ok"]
    for life, (main, sub) in enumerate([([*calls, "so far"], []), (later, ["a", "b"])]):
        provider = by_role(main, sub)
        home, caps = Home(tmp_path, "t"), Budget(turns=99)
        async with Agent(DELEGATING, provider=provider, tools=[tool(large)], at=home, budget=caps) as agent:
            if life:
                await agent.resume()
            assert (await agent.send("And?" if life else "go")).text == main[-1]
    first, second = [sent(request) for request in provider.requests if request.role != SEAT.name]
    assert [at for at in range(60) if f"saw {at}\n" in first] == [2, 4, 59]
    assert [at for at in range(60) if f"saw {at}\n" in second] == [2]
