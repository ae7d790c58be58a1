"""What each model call saw, byte for byte."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import COMMAND, clean_environment, walked
from tests.cli.test_runs import opened
from tests.runs.helpers import FIRST
from transom.cli import main
from transom.cli.session import Options, Session
from transom.llm import (
    CameBack,
    Chain,
    Dropped,
    Request,
    Role,
    Said,
    ScriptedProvider,
    Text,
    ToolCall,
    ToolResult,
    Window,
    render,
)
from transom.runs import Stage, text_file


def windows(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    assert main(["window", "show", *args, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_call_with_what_was_sent(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk, run = walked(here)
    document = windows(capsys, run)
    assert document["schema"] == "transom.window/1"
    assert [(one["call"], one["stage"], one["role"], one["by"]) for one in document["calls"]] == [
        (1, "one", "test.first", "scripted"),
        (2, "two", "test.second", "scripted"),
    ]
    provider: Any = desk.provider
    assert [one["rendered"] for one in document["calls"]] == [render(one).as_text() for one in provider.requests]
    first = document["calls"][0]
    assert [(one["name"], one["tier"], one["trust"]) for one in first["blocks"]] == [
        ("role", "stable", "ours"),
        ("source", "turn", "ours"),
    ]
    assert all(one["tokens"] > 0 for one in first["blocks"])


def test_what_a_role_might_have_seen_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    assert "may also see" not in (main(["window", "show", run]), capsys.readouterr().out)[1], "both roles saw all"

    async def sparing(stage: Stage) -> str:
        window = Window(FIRST.prompt, (), (Dropped("source", 900, "over the limit"),))
        role = Role(FIRST.name, FIRST.prompt, FIRST.sees | {"retry", "hints"})
        return (await stage.ask(Request(FIRST.name, window), role)).text

    async def walk() -> str:
        session = Session.start(Options(), cwd=here, environ={})
        async with session.open_store() as store:
            chain = Chain((ScriptedProvider(lambda request: "yes"),))
            async with session.open_run("other", {}, name="y", store=store, chain=chain) as other:
                await other.stage("s", sparing, out=text_file("s.md"))
                return other.id

    other = asyncio.run(walk())
    assert main(["window", "show", other]) == 0
    assert "  may also see: hints, retry\n" in capsys.readouterr().out
    assert windows(capsys, other)["calls"][0]["may_also_see"] == ["hints", "retry"]


def test_one_call_for_people_ends_with_the_exact_bytes(here: Path) -> None:
    import subprocess

    desk, run = walked(here)
    done = subprocess.run(
        [*COMMAND, "window", "show", run, "--call", "1"],
        cwd=here,
        env=clean_environment(),
        capture_output=True,
        check=True,
    )
    provider: Any = desk.provider
    header, _, sent = done.stdout.partition(b"\n\n")
    assert sent == render(provider.requests[0]).as_text().encode() + b"\n"
    assert header.startswith(b"call 1  one  test.first  answered by scripted  ")
    assert b"role    stable  ours  any" in header


def test_the_overview_names_blocks_and_no_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    assert main(["window", "show", run]) == 0
    text = capsys.readouterr().out
    assert "call 1  one  test.first" in text
    assert "call 2  two  test.second" in text
    assert "the source text" not in text
    assert text.endswith(f"one call in full: transom window show {run} --call N\n")


def test_what_was_left_out_and_why(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def ask(stage: Stage) -> str:
        said = Said((Text("before \udc80"), ToolCall("1", "look", {"at": "a.log"})))
        came = CameBack((ToolResult("1", "look", "a line"), ToolResult("2", "leap", "no", is_error=True)))
        window = Window(FIRST.prompt, (said, came), (Dropped("log", 900, "over the limit"),))
        return (await stage.ask(Request(FIRST.name, window), FIRST)).text

    async def walk() -> str:
        session = Session.start(Options(), cwd=here, environ={})
        async with session.open_store() as store:
            chain = Chain((ScriptedProvider(lambda request: "yes"),))
            async with session.open_run("test", {}, name="x", store=store, chain=chain) as run:
                await run.stage("ask", ask, out=text_file("ask.md"), uses=[FIRST])
                return run.id

    run = asyncio.run(walk())
    assert main(["window", "show", run]) == 0
    text = capsys.readouterr().out
    assert "  left out: log (900 tokens), over the limit" in text
    assert "  turn 1: called look\n  turn 2: came back: look (6 characters), leap (refused)\n" in text
    (call,) = windows(capsys, run)["calls"]
    assert call["dropped"] == [{"name": "log", "tokens": 900, "why": "over the limit"}]
    assert [turn["kind"] for turn in call["turns"]] == ["said", "came_back"]
    assert "<said>\nbefore \udc80\n<tool" in call["rendered"], "text that is not UTF-8 survives as a JSON escape"


def test_what_changed_between_two_calls(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    diff = windows(capsys, run, "--diff", "1")["diff"]
    assert (diff["from"], diff["to"], diff["same_blocks"], diff["first_difference"]) == (1, 2, 0, "role")
    assert "-You are first." in diff["lines"]
    assert "+You are second." in diff["lines"]
    assert main(["window", "show", run, "--diff", "2", "--call", "1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("the first 0 blocks (0 tokens) are the same; block role is the first that differs\n")
    assert "+You are first." in text
    same = windows(capsys, run, "--diff", "1", "--call", "1")["diff"]
    assert (same["same_blocks"], same["first_difference"], same["lines"]) == (2, None, [])


@pytest.mark.parametrize("option", ["--call", "--diff"])
@pytest.mark.parametrize("number", ["0", "3"])
def test_a_call_that_is_not_there(option: str, number: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    assert main(["window", "show", run, option, number]) == 2
    assert capsys.readouterr().err == f"transom: {option}: run {run} has no call {number}; it has calls 1 to 2\n"


def test_a_run_that_asked_nobody(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = asyncio.run(opened(here, {}))
    assert main(["window", "show", run]) == 0
    assert capsys.readouterr().out == "no model was asked in this run\n"
    assert main(["window", "show", run, "--diff", "1"]) == 2
    assert "no model was asked in it" in capsys.readouterr().err
