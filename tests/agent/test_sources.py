"""Names of what is kept and of events: a model reads them in parts, and a sub-conversation what
its parent kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT, asks, look, sent, tool
from transom.agent import Agent, Budget, Home, Setup
from transom.config import Settings
from transom.llm import Reply, Request, ScriptedProvider, ToolCallPart, ToolResults

DELEGATING = replace(SEAT, strategy="sub_conversation")
LARGE = "\n".join(f"row {number}: the ratio is 0.{number:05d}" for number in range(4_000))


def by_role(main: Sequence[Any], sub: Sequence[Any]) -> ScriptedProvider:
    return ScriptedProvider({SEAT.name: [*main], f"{SEAT.name}.sub": [*sub]})


def reads(source: str, **what: Any) -> Reply:
    return asks(ToolCallPart(f"read {source}", "read_slice", {"source": source, **what}))


def kept(request: Request) -> str:
    """The name that an outline gives."""
    return sent(request).split("kept whole as ")[1].split(".")[0]


def told(request: Request) -> list[str]:
    turn = request.window.turns[-1]
    assert isinstance(turn, ToolResults)
    return [one.content for one in turn.results]


async def large(at: str) -> str:
    return LARGE if at == "large" else f"saw {at}"


async def test_a_wrong_name_is_told_what_there_is() -> None:
    provider = by_role([asks(look("large")), reads("look"), reads("event 9"), "ok"], [])
    async with Agent(SEAT, provider=provider, tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "ok"
    name = kept(provider.requests[1])
    for request, wrong, last in (
        (provider.requests[2], "look", 1),
        (provider.requests[3], "event 9", 2),
    ):
        hint = f"there is {name}, event 1 to event {last}"
        assert json.loads(told(request)[0]) == {
            "error": f"nothing is kept as '{wrong}'",
            "hint": hint,
        }


async def test_a_sub_conversation_reads_what_its_parent_kept_by_its_name() -> None:
    def hand_on(request: Request) -> Reply:
        return asks(
            ToolCallPart("d", "delegate", {"purpose": f"Which is row 3000 of {kept(request)}?"})
        )

    def read(request: Request) -> Reply:
        name = request.window.text("purpose").split(" of ")[1].rstrip("?")
        return reads(name, first_line=3_001, last_line=3_001)

    provider = by_role(
        [asks(look("large")), hand_on, "ok"], ["In brief: fine.", read, "Row 3000 has 0.03000."]
    )
    small = Settings.model_validate({"window": {"tokens": 30_000}})
    async with Agent(DELEGATING, provider=Setup(provider, small), tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "ok"
    assert "row 3000: the ratio is 0.03000" in sent(provider.requests[-2])
    assert told(provider.requests[-1])[0].startswith("Row 3000 has 0.03000.")


async def test_names_are_the_same_when_results_are_folded_and_in_a_later_life(
    tmp_path: Path,
) -> None:
    def folded(request: Request) -> Reply:
        assert "events 1 to" in sent(request) and "saw 2" not in sent(request)
        return reads("event 3")

    calls = [asks(look(f"{number}", f"c{number}")) for number in range(60)]
    for life, main in enumerate([[*calls, "so far"], [folded, reads("event 60"), "ok"]]):
        provider = by_role(main, [])
        home, caps = Home(tmp_path, "t"), Budget(turns=99)
        async with Agent(
            SEAT, provider=provider, tools=[tool(large)], at=home, budget=caps
        ) as agent:
            if life:
                await agent.resume()
            assert (await agent.send("And?" if life else "go")).text == main[-1]
    first, second = [told(request)[0] for request in provider.requests[1:]]
    assert ("saw 2\n" in f"{first}\n", "saw 59\n" in f"{second}\n") == (True, True)
