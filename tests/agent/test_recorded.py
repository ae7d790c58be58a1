"""What a run or an agent was answered, in a file, and played again without a model."""

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
from transom.errors import InputError, ReplayMiss, RunError
from transom.llm import (
    Block,
    Capabilities,
    Chain,
    EgressPolicy,
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
    texts = [(await agent.send("What is it?")).text, (await agent.send("Sure?", Block("extra", "of now"))).text]
    return texts, [message.content for message in agent.history()]


async def test_an_agent_is_recorded_and_played_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with Agent(SEAT, provider=model(), tools=tools()) as agent:
        with pytest.raises(RunError, match="nothing was said yet that could be recorded"):
            agent.record("calls.json")
        first = await said(agent)
        agent.record("calls.json")
        agent.record("calls.json")  # over an older one
    assert "read_slice" in str(first[1]), "the window of the model matters: the long result was kept elsewhere"
    async with Agent(SEAT, provider="replay:calls.json", tools=tools()) as played:
        assert await said(played) == first
        with pytest.raises(ReplayMiss, match=r"(?s)nearest differs.*transom runs record RUN FILE, or agent.record"):
            await played.send("Something else")
    async with Agent(replace(SEAT, name="t.other"), provider=ReplayProvider("calls.json")) as other:
        with pytest.raises(ReplayMiss, match=r"no call of role t.other.*record it again"):
            await other.send("hello")


async def test_sub_conversations_are_in_it(tmp_path: Path) -> None:
    async def program(agent: Agent) -> str:
        await agent.send("Begin.")
        sub = await agent.open_sub("Look into a.")
        found = await sub.send("Well?")
        return (await agent.close_sub(sub)).text + found.text

    script = {SEAT.name: ["Begun."], f"{SEAT.name}.sub": ["It is in a.", "In a."]}
    async with Agent(SEAT, provider=ScriptedProvider(script)) as agent:
        first = await program(agent)
        agent.record(tmp_path / "calls.json")
    async with Agent(SEAT, provider=ReplayProvider(tmp_path / "calls.json")) as played:
        assert await program(played) == first


@pytest.mark.parametrize("how", ["block", "policy", "result"])
async def test_what_is_local_gets_in_only_where_somebody_says_so(tmp_path: Path, how: str) -> None:
    path = tmp_path / "calls.json"
    block = Block("extra", "SECRETNET u_core/x", egress="local" if how == "block" else "any")
    policy = EgressPolicy(("extra",) if how == "policy" else ())
    provider = scripted(asks(look("a")), "It is a.") if how == "result" else scripted("It is a.")

    async def run(at: str) -> str:
        return "SECRETNET u_core/x"

    egress: Any = "local" if how == "result" else "any"
    blocks = () if how == "result" else (block,)
    async with Agent(SEAT, provider=Chain((provider,), policy), tools=[tool(run, egress=egress)]) as agent:
        await agent.send("What is it?", *blocks)
        with pytest.raises(InputError, match=r"call \d \(t.seat\): .* is marked local and would stand in"):
            agent.record(path)
        assert not path.exists()
        agent.record(path, local=True)
    assert "SECRETNET" in path.read_text()
    async with Agent(SEAT, provider=ReplayProvider(path), tools=[tool(run, egress=egress)]) as played:
        assert (await played.send("What is it?", *blocks)).text == "It is a."


async def test_keys_stand_in_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORP_TOKEN", "hunter2-hunter2")
    path = tmp_path / "calls.json"
    async with Agent(SEAT, provider=scripted("Fine.", "It is hunter2-hunter2.")) as agent:
        await agent.send("Is hunter2-hunter2 good?")
        agent.record(path)
        assert "hunter2" not in path.read_text()
        assert "[redacted]" in path.read_text()
        await agent.send("Say it.")
        with pytest.raises(InputError, match=r"call 2 \(t.seat\): the reply holds a key"):
            agent.record(path)
    async with Agent(SEAT, provider=ReplayProvider(path)) as played:
        assert (await played.send("Is hunter2-hunter2 good?")).text == "Fine.", "it is found by the whole request"


def test_a_finished_run_is_recorded_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    async def talk(provider: Any, at: Home) -> Any:
        async with Agent(SEAT, provider=provider, tools=tools(), at=at) as agent:
            return await said(agent)

    first = asyncio.run(talk(model(), Home(".transom", "monday")))
    assert main(["runs", "record", "monday", "calls.json"]) == 0
    assert "4 calls of run " in capsys.readouterr().out
    assert asyncio.run(talk("replay:calls.json", Home(".transom", "tuesday"))) == first
    Path("notes.md").write_text("mine")
    assert main(["runs", "record", "monday", "notes.md"]) == 2
    assert Path("notes.md").read_text() == "mine", "what is no recording is not written over"


def test_rules_say_whom_they_answer() -> None:
    with pytest.raises(InputError, match=r"provider: rules answer only the roles of transom check; use replay:PATH"):
        Agent(SEAT, provider="rules")
