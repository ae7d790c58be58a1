"""What a model may have looked into: it names what is kept, and events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT, asks, look, sent, tool
from transom.agent import Agent, Budget, Home, Setup
from transom.config import Settings
from transom.llm import (
    Reply,
    Request,
    ScriptedProvider,
    ToolCall,
    ToolResults,
)

DELEGATING = replace(SEAT, strategy="sub_conversation")
LARGE = "\n".join(f"row {number}: the ratio is 0.{number:05d}" for number in range(4_000))


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


async def test_a_model_names_events_and_is_told_what_there_is() -> None:
    main = [
        asks(look("a")),
        asks(delegate("event 1", "event 1")),
        asks(delegate("look")),
        asks(delegate("event 9")),
        "It saw b.",
        asks(delegate("event 5")),
        "ok",
    ]
    provider = by_role(main, ["It saw a."])
    async with Agent(DELEGATING, provider=provider, tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "It saw b."
        assert (await agent.send("and?")).text == "ok"
    requests = of_seat(provider)
    assert told(requests[2]) == ["It saw a."]
    assert sent(provider.requests[2]).count("saw a") == 1, "what is named twice is shown once"
    for request, name, last in ((requests[3], "look", 2), (requests[4], "event 9", 3)):
        wrong = json.loads(told(request)[0])
        assert wrong == {"error": f"nothing is kept as '{name}'", "hint": f"there is event 1 to event {last}"}
    assert "nothing is kept as 'event 5'" in told(requests[6])[0], "what was only said is no evidence"


async def test_what_is_kept_is_handed_on_whole_and_read_there_by_its_name() -> None:
    def read(request: Request) -> Reply:
        name = sent(request).split("kept whole as ")[1].split(".")[0]
        return asks(ToolCall("r", "read_slice", {"source": name, "first_line": 3_001, "last_line": 3_001}))

    def hand_on(request: Request) -> Reply:
        return asks(delegate(sent(request).split("kept whole as ")[1].split(".")[0]))

    main = [asks(look("large")), hand_on, "ok"]
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
        assert "kept whole as event 2." in sent(request)
        return asks(ToolCall("r", "read_slice", {"source": "event 2", "last_line": 2}))

    names = [f"event {number}" for number in range(1, 7)]
    main = [*[asks(look(at, at)) for at in "abcdef"], asks(delegate(*names)), "ok"]
    provider = by_role(main, [read, "Row 0 has 0.00000."])
    async with Agent(DELEGATING, provider=Setup(provider, SMALL), tools=[tool(part)]) as agent:
        assert (await agent.send("go")).text == "ok"
    assert told(provider.requests[-2]) == ["lines 1 to 2 of 372\nb\nrow 0: the ratio is 0.00000"]
    assert "Row 0 has 0.00000." in told(provider.requests[-1])[0]


async def test_names_are_the_same_when_results_are_folded_and_in_a_later_life(tmp_path: Path) -> None:
    def folded(request: Request) -> Reply:
        assert "events 1 to" in sent(request) and "saw 2" not in sent(request)
        return asks(delegate("event 3", "event 5", "event 60"))

    calls = [asks(look(f"{number}", f"c{number}")) for number in range(60)]
    later = [folded, asks(delegate("event 3", purpose="Is it?")), "ok"]
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
