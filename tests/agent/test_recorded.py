"""The answers to a run or an agent, in a file, and played again without a model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from transom.agent import Agent, Home
from transom.canonical import Json
from transom.cli import main
from transom.errors import InputError, ReplayMiss
from transom.llm import (
    Block,
    Capabilities,
    ReplayProvider,
    Reply,
    ScriptedProvider,
    Text,
    Usage,
)
from transom.tools import ToolDefinition

LONG = "\n".join(f"line {number}: a slack of -0.{number:03d} in u_core" for number in range(900))


def model() -> ScriptedProvider:
    """One with a window in which a long result does not fit."""
    used = Usage(input_tokens=900, output_tokens=20)
    answers: list[Any] = [
        asks(look("big"), text="First."),
        asks(look("small", "2")),
        Reply((Text("It is small."),), usage=used),
        "And still.",
    ]
    return ScriptedProvider({SEAT.name: answers}, caps=Capabilities(context_tokens=30_000))


def tools() -> list[ToolDefinition]:
    async def run(at: str) -> Json:
        return LONG if at == "big" else f"saw {at}"

    return [tool(run)]


async def said(agent: Agent) -> tuple[list[str], Any]:
    texts = [
        (await agent.send("What is it?")).text,
        (await agent.send("Sure?", Block("extra", "of now"))).text,
    ]
    return texts, [message.content for message in agent.history()]


def recorded(name: str, *more: str) -> int:
    return main(["runs", "record", name, "calls.json", *more])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def talk(provider: Any, name: str) -> Any:
    async with Agent(SEAT, provider=provider, tools=tools(), at=Home(".transom", name)) as agent:
        return await said(agent)


def test_an_agent_is_recorded_and_played_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    first = asyncio.run(talk(model(), "monday"))
    assert recorded("monday") == recorded("monday") == 0, "an older one is replaced"
    assert "4 calls of run " in capsys.readouterr().out
    assert "read_slice" in str(first[1]), (
        "the window of the model matters: the long result was kept elsewhere"
    )
    assert asyncio.run(talk("replay:calls.json", "tuesday")) == first
    Path("notes.md").write_text("mine")
    assert main(["runs", "record", "monday", "notes.md"]) == 2
    assert Path("notes.md").read_text() == "mine", "what is no recording is not written over"

    async def others() -> None:
        async with Agent(SEAT, provider="replay:calls.json", tools=tools()) as played:
            with pytest.raises(
                ReplayMiss, match=r"(?s)nearest differs.*transom runs record RUN FILE"
            ):
                await played.send("Something else")
        async with Agent(
            replace(SEAT, name="t.other"), provider=ReplayProvider("calls.json")
        ) as other:
            with pytest.raises(ReplayMiss, match=r"no call of role t.other.*record it again"):
                await other.send("hello")

    asyncio.run(others())


def test_sub_conversations_are_in_it() -> None:
    async def program(provider: Any, name: str) -> str:
        async with Agent(SEAT, provider=provider, at=Home(".transom", name)) as agent:
            await agent.send("Begin.")
            sub = await agent.open_sub("Look into a.")
            found = await sub.send("Well?")
            return (await agent.close_sub(sub)).text + found.text

    script = {SEAT.name: ["Begun."], f"{SEAT.name}.sub": ["It is in a.", "In a."]}
    first = asyncio.run(program(ScriptedProvider(script), "one"))
    assert recorded("one") == 0
    assert asyncio.run(program(ReplayProvider("calls.json"), "two")) == first


@pytest.mark.parametrize("how", ["block", "result"])
def test_what_is_local_gets_in_only_where_somebody_says_so(
    how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = (Block("extra", "SECRETNET u_core/x", egress="local"),) if how == "block" else ()

    async def run(at: str) -> str:
        return "SECRETNET u_core/x"

    async def program(provider: Any, name: str) -> str:
        tools = [tool(run, egress="local" if how == "result" else "any")]
        async with Agent(SEAT, provider=provider, tools=tools, at=Home(".transom", name)) as agent:
            return (await agent.send("What is it?", *blocks)).text

    provider = scripted(asks(look("a")), "It is a.") if how == "result" else scripted("It is a.")
    asyncio.run(program(provider, "one"))
    assert recorded("one") == 2
    assert "is marked local and would stand in" in capsys.readouterr().err
    assert not Path("calls.json").exists()
    assert recorded("one", "--local") == 0
    assert "SECRETNET" in Path("calls.json").read_text()
    assert asyncio.run(program(ReplayProvider("calls.json"), "two")) == "It is a."


def test_keys_stand_in_no_recording(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CORP_TOKEN", "hunter2-hunter2")

    async def program(provider: Any, name: str, *messages: str) -> str:
        async with Agent(SEAT, provider=provider, at=Home(".transom", name)) as agent:
            return [(await agent.send(one)).text for one in messages][-1]

    asking = "Is hunter2-hunter2 good?"
    asyncio.run(program(scripted("Fine."), "one", asking))
    assert recorded("one") == 0
    assert "hunter2" not in Path("calls.json").read_text()
    assert "[redacted]" in Path("calls.json").read_text()
    asyncio.run(program(scripted("It is hunter2-hunter2."), "one", asking, "Say it."))
    assert recorded("one") == 2
    assert "call 2 (t.seat): the reply holds a key" in capsys.readouterr().err
    assert asyncio.run(program(ReplayProvider("calls.json"), "two", asking)) == "Fine.", (
        "it is found by its digest"
    )


def test_rules_say_whom_they_answer() -> None:
    with pytest.raises(
        InputError, match=r"provider: rules answer only the roles of transom check; use replay:PATH"
    ):
        Agent(SEAT, provider="rules")
