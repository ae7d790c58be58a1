"""Tool calls of one reply: side by side if all are pure, otherwise in the model's order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.helpers import AT, SEAT, asks, resumed
from transom.agent import Agent, Home, Response, SubAgent
from transom.errors import Paused
from transom.llm import (
    Reply,
    Request,
    Role,
    ScriptedProvider,
    ToolCallPart,
    ToolResults,
    UserMessage,
)
from transom.tools import Arguments, ToolDefinition
from transom.tools.editing import editing_tools

PURE = ("look", "read")
WITH_EFFECTS = ("write", "pay", "store", "change")
"""A tool of each effect but `pure`, and a sub-agent with one of them."""
CALLS = st.lists(
    st.tuples(st.sampled_from(PURE + WITH_EFFECTS), st.sampled_from("abc")), min_size=1, max_size=5
)


class Step(NamedTuple):
    """One thing that happens in a tool: a call begins or ends."""

    event: str
    call: str


class Workshop:
    """Tools that note when each call begins and ends.

    Attributes:
        steps: of all calls, in the order in which they happened.
        most_at_once: how many calls were under way at the same time.
        stop_at: the number of the step at which the process is stopped.
        meeting: where calls wait for each other before they go on.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.most_at_once = 0
        self.stop_at: int | None = None
        self.meeting: asyncio.Barrier | None = None

    def tool(self, name: str, effect: Any) -> ToolDefinition:
        async def run(arguments: Arguments) -> str:
            call = f"{name} {arguments['at']}"
            self.note(Step("begin", call))
            if self.meeting:
                await self.meeting.wait()
            for _ in range(3):
                await asyncio.sleep(0)
            self.note(Step("end", call))
            return "done"

        return ToolDefinition(name, "Works.", AT, run, effect=effect)

    def note(self, step: Step) -> None:
        if len(self.steps) == self.stop_at:
            self.stop_at = None
            raise KeyboardInterrupt
        self.steps.append(step)
        events = [noted.event for noted in self.steps]
        self.most_at_once = max(self.most_at_once, events.count("begin") - events.count("end"))

    def tools(self) -> list[ToolDefinition]:
        reader = SubAgent(
            Role("t.reader", "You read."), "read", "Reads.", [self.tool("look", "pure")]
        )
        writer = SubAgent(
            Role("t.writer", "You write."), "set", "Writes.", [self.tool("write", "unknown")]
        )
        editor = SubAgent(Role("t.editor", "You edit."), "change", "Edits.", [reader, writer])
        plain = [
            self.tool("look", "pure"),
            self.tool("write", "unknown"),
            self.tool("pay", "once"),
            self.tool("store", "idempotent"),
        ]
        return [*plain, reader, editor]


def answer(calls: Sequence[ToolCallPart]) -> ScriptedProvider:
    """A model that makes these calls; each of its sub-agents makes one for its task."""
    below = {"t.reader": "look", "t.writer": "write", "t.editor": "set"}

    def say(request: Request) -> str | Reply:
        if any(isinstance(turn, ToolResults) for turn in request.window.turns):
            return "ok"
        if request.role == SEAT.name:
            return asks(*calls)
        opening = request.window.turns[0]
        assert isinstance(opening, UserMessage)
        name = below[request.role]
        return asks(ToolCallPart("1", name, {"task" if name == "set" else "at": opening.text}))

    return ScriptedProvider(say)


def calls_of(batch: Sequence[tuple[str, str]]) -> list[ToolCallPart]:
    calls = []
    for number, (name, at) in enumerate(batch):
        argument = "task" if name in ("read", "change") else "at"
        calls.append(ToolCallPart(str(number), name, {argument: at}))
    return calls


def expected_steps(batch: Sequence[tuple[str, str]]) -> list[Step]:
    """The steps of a batch in the model's order; a repeated look is answered from the first."""
    tools = {"read": "look", "change": "write"}
    steps: list[Step] = []
    for number, (name, at) in enumerate(batch):
        if name == "look" and (name, at) in batch[:number]:
            continue
        call = f"{tools.get(name, name)} {at}"
        steps += [Step("begin", call), Step("end", call)]
    return steps


async def talk(home: Home, workshop: Workshop, batch: Sequence[tuple[str, str]]) -> Response:
    """Have a model make the calls; a call in doubt is done again, as a person says."""
    async with Agent(
        SEAT, provider=answer(calls_of(batch)), tools=workshop.tools(), at=home
    ) as agent:
        try:
            return await agent.send("go")
        except Paused:
            await agent.decide("redo")
        return await resumed(agent)


@pytest.mark.slow
@pytest.mark.fence
@settings(max_examples=25, deadline=None)
@given(CALLS)
def test_effects_come_in_the_order_of_the_calls(batch: list[tuple[str, str]]) -> None:
    workshop = Workshop()
    with tempfile.TemporaryDirectory() as folder:
        response = asyncio.run(talk(Home(folder, "x"), workshop, batch))
    assert response.text == "ok"
    if any(name in WITH_EFFECTS for name, _ in batch):
        assert workshop.steps == expected_steps(batch)
    else:
        assert sorted(workshop.steps) == sorted(expected_steps(batch))


@settings(max_examples=15, deadline=None)
@given(st.sets(st.tuples(st.sampled_from(PURE), st.sampled_from("abc")), min_size=2))
def test_pure_calls_run_side_by_side(batch: set[tuple[str, str]]) -> None:
    workshop = Workshop()
    workshop.meeting = asyncio.Barrier(len(batch))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(talk(Home(folder, "x"), workshop, sorted(batch)))
    assert workshop.most_at_once == len(batch)


@pytest.mark.slow
@pytest.mark.fence
@settings(max_examples=25, deadline=None)
@given(CALLS.filter(lambda batch: any(name in WITH_EFFECTS for name, _ in batch)), st.data())
def test_a_batch_that_was_stopped_goes_on_in_the_same_order(
    batch: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole = expected_steps(batch)
    workshop = Workshop()
    workshop.stop_at = data.draw(st.integers(0, len(whole) - 1))
    done = workshop.stop_at
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, "x")
        with suppress(KeyboardInterrupt):
            asyncio.run(talk(home, workshop, batch))
        assert workshop.steps == whole[:done]
        assert asyncio.run(talk(home, workshop, batch)).text == "ok"
    # The stopped call is done again from its beginning, or not at all; the rest follows it.
    stopped = done - done % 2
    assert workshop.steps[done:] in (whole[stopped:], whole[stopped + 2 :])


def test_several_edits_of_one_file_in_one_reply_are_all_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    lines = [f"line {number}\n" for number in range(6)]
    path.write_text("".join(lines), "utf-8")
    edits = [
        ToolCallPart(line, "edit_file", {"path": "a.py", "old": line, "new": line.upper()})
        for line in lines
    ]
    provider = ScriptedProvider({SEAT.name: [asks(*edits), "done"]})
    agent = Agent(SEAT, provider=provider, tools=editing_tools(tmp_path))
    asyncio.run(agent.send("go"))
    assert path.read_text("utf-8") == "".join(lines).upper()


async def test_delegates_run_in_order_if_a_tool_they_are_handed_has_effects() -> None:
    tasks = [ToolCallPart(place, "delegate", {"purpose": place}) for place in "abc"]

    def say(request: Request) -> str | Reply:
        if any(isinstance(turn, ToolResults) for turn in request.window.turns):
            return "ok"
        if request.role == SEAT.name:
            return asks(*tasks)
        purpose = next(block.text for block in request.window.blocks if block.name == "purpose")
        return asks(ToolCallPart("1", "look", {"at": purpose}))

    most: dict[str, int] = {}
    for name in ("unknown", "pure"):
        workshop = Workshop()
        workshop.meeting = asyncio.Barrier(3) if name == "pure" else None
        tools = [workshop.tool("look", "pure"), workshop.tool("write", name)]
        role = Role(SEAT.name, "You look.", strategy="sub_conversation")
        async with Agent(role, provider=ScriptedProvider(say), tools=tools) as agent:
            assert (await agent.send("go")).text == "ok"
        most[name] = workshop.most_at_once
    assert most == {"unknown": 1, "pure": 3}
