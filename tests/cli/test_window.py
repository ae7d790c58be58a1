"""What each model call saw, byte for byte."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, tool
from tests.cli.helpers import walked
from tests.cli.test_runs import opened
from tests.runs.helpers import FIRST, put
from transom.agent import Agent, Home
from transom.cli import main
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.context import SHARES, History, WindowBudget, go_on
from transom.llm import (
    AssistantMessage,
    Block,
    Chain,
    Dropped,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    Usage,
    UserMessage,
    Window,
    estimate_tokens,
    render,
)
from transom.llm.structured import schema_text
from transom.runs import Stage, text_file


def asked(here: Path, work: Any, provider: Any, **more: Any) -> str:
    """A run of one stage; returns its id."""

    async def walk() -> str:
        session = Session.start(CommonOptions(), cwd=here, environ={})
        async with (
            session.open_store() as store,
            session.open_run(
                "test", {"of": "this test"}, name="t", store=store, chain=Chain((provider,))
            ) as run,
        ):
            await run.stage("s", work, out=text_file("s.md"), **more)
            return run.id

    return asyncio.run(walk())


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
    assert [one["rendered"] for one in document["calls"]] == [
        render(one).as_text() for one in provider.requests
    ]
    first = document["calls"][0]
    assert [(one["name"], one["tier"], one["trust"]) for one in first["blocks"]] == [
        ("role", "stable", "ours"),
        ("source", "turn", "ours"),
    ]
    assert all(one["tokens"] > 0 for one in first["blocks"])


def test_one_call_for_people_ends_with_the_exact_bytes_and_the_overview_has_no_text(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    desk, run = walked(here)
    assert main(["window", "show", run, "--call", "1"]) == 0
    provider: Any = desk.provider
    header, _, sent = capfdbinary.readouterr().out.partition(b"\n\n")
    assert sent == render(provider.requests[0]).as_text().encode() + b"\n"
    assert header.startswith(b"call 1  one  test.first  answered by scripted  ")
    assert b"  BLOCK   TIER    TRUST  EGRESS  SHARE          SIZE\n" in header
    assert b"  role    stable  ours   any     stable_prefix  " in header
    assert main(["window", "show", run]) == 0
    text = capfdbinary.readouterr().out.decode()
    assert "call 1  one  test.first" in text
    assert "call 2  two  test.second" in text
    assert "the source text" not in text
    assert text.endswith(f"one call in full: transom window show {run} --call N\n")


def test_a_share_that_borrows_free_room_does_not_look_like_an_overrun(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    role = replace(FIRST, prompt=(Block("role", "You are first. " * 200, Tier.STABLE),))

    async def ask(stage: Stage) -> str:
        made = go_on(role, [], History(), budget=WindowBudget(total=20_000))
        return (await put(stage, made.request, role)).text

    run = asked(here, ask, ScriptedProvider(lambda request: "yes"), uses=[role])
    (call,) = windows(capsys, run)["calls"]
    share = call["shares"][0]
    assert share["used"] > share["limit"]
    assert main(["window", "show", run]) == 0
    room = f"{share['used']} (share {share['limit']}, borrowed from free room)"
    assert f"  used: stable_prefix {room}, protocols 0 of " in capsys.readouterr().out


def test_what_was_left_out_and_why(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def ask(stage: Stage) -> str:
        said = AssistantMessage((Text("before \udc80"), ToolCallPart("1", "look", {"at": "a.log"})))
        came = ToolResults(
            (
                ToolResultPart("1", "look", "a line"),
                ToolResultPart("2", "leap", "no", is_error=True),
            )
        )
        window = Window(FIRST.prompt, (said, came), (Dropped("log", 900, "over the limit"),))
        return (await put(stage, Request(FIRST.name, window), FIRST)).text

    run = asked(here, ask, ScriptedProvider(lambda request: "yes"), uses=[FIRST])
    assert main(["window", "show", run]) == 0
    text = capsys.readouterr().out
    assert "  left out: name log, tokens 900, why over the limit\n" in text
    assert re.search(
        r"  turn 1: said look, \d+ tokens\n  turn 2: came back look, leap, \d+ tokens\n", text
    )
    (call,) = windows(capsys, run)["calls"]
    assert call["dropped"] == [{"name": "log", "tokens": 900, "why": "over the limit"}]
    assert [turn["kind"] for turn in call["turns"]] == ["said", "came_back"]
    assert "<said>\nbefore \udc80\n<tool" in call["rendered"], (
        "text that is not UTF-8 survives as a JSON escape"
    )


def test_what_changed_between_two_calls(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    diff = windows(capsys, run, "--diff", "1")["diff"]
    assert (diff["from"], diff["to"], diff["changes"]["broke"]["name"]) == (1, 2, "block role")
    assert "-You are first." in diff["lines"]
    assert "+You are second." in diff["lines"]
    assert main(["window", "show", run, "--diff", "2", "--call", "1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("added: block source\ngone: block before\nchanged: block role\n")
    assert "+You are first." in text
    same = windows(capsys, run, "--diff", "1", "--call", "1")["diff"]
    assert (same["changes"]["broke"], same["lines"]) == (None, [])


def test_a_call_that_is_not_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    for option, number in (("--call", "0"), ("--diff", "3")):
        assert main(["window", "show", run, option, number]) == 2
        assert (
            capsys.readouterr().err
            == f"transom: {option}: run {run} has no call {number}; it has calls 1 to 2\n"
        )
    run = asyncio.run(opened(here, {}))
    assert main(["window", "show", run]) == 0
    assert capsys.readouterr().out == "no model was asked in this run, so it has no windows\n"
    assert main(["window", "show", run, "--diff", "1"]) == 2
    assert "no model was asked in it" in capsys.readouterr().err


def conversed(here: Path) -> str:
    """A run with a conversation of three calls; a block of the session tier changes before the
    last.
    """
    role = Role("test.talk", FIRST.prompt, frozenset({"role", "config", "log", "playbook"}))

    async def talk(stage: Stage) -> str:
        turns: list[Any] = []
        for number, config in enumerate(["same", "same", "other"]):
            blocks = [
                Block("config", config, Tier.SESSION),
                Block("log", f"log {number}", trust="untrusted"),
            ]
            request = go_on(
                role, blocks, History.of(turns), budget=WindowBudget(total=20_000)
            ).request
            reply = await put(stage, request, role)
            turns += [UserMessage(f"question {number}"), AssistantMessage(reply.parts)]
        return "done"

    def answer(request: Request) -> Reply:
        return Reply((Text("yes"),), usage=Usage(1_000, 10, 400 if request.window.turns else 0))

    return asked(
        here, talk, ScriptedProvider(answer, name="anthropic:claude-sonnet-5"), uses=[role]
    )


def test_shares_what_broke_the_cache_and_what_it_saved(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = conversed(here)
    assert main(["window", "show", run]) == 0
    text = capsys.readouterr().out
    assert "  config  session  ours       any     protocols      9 tokens\n" in text
    assert (
        "  used: stable_prefix 11 of 80, protocols 9 of 161, playbook 0 of 80, session_state 0 of"
        " 32, conversation 33 of 484, working_space 77 of 775\n" in text
    )
    assert "broke name block config, how changed" in text
    least = (
        "1 of 3 requests are below the minimum of 2048 tokens: nothing of them is kept, marked or"
        " not\n"
    )
    assert f"cache of anthropic:claude-sonnet-5: {least}" in text
    assert (
        "cache of anthropic:claude-sonnet-5: reported: 800 of 3000 input tokens read from it,"
        " 26.7%\n" in text
    )
    calls = windows(capsys, run)["calls"]
    assert [one["cache"]["broke"] for one in calls] == [
        None,
        None,
        {"name": "block config", "how": "changed"},
    ]
    assert [one["cache"]["reported_read"] for one in calls] == [0, 400, 400]
    shares = {one["name"]: (one["used"], one["limit"]) for one in calls[2]["shares"]}
    assert list(shares) == list(SHARES)
    assert shares["conversation"][0] > 0 == shares["playbook"][0]
    assert {one["name"]: one["share"] for one in calls[0]["blocks"]}["log"] == "working_space"
    assert main(["window", "show", run, "--diff", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "changed: block config, block log",
        "turns: 2 the same, 2 more",
        "a cache is of use up to block config, which is another one now",
    ]
    changes = windows(capsys, run, "--diff", "2", "--call", "3")["diff"]["changes"]
    assert (changes["changed"], changes["broke"]["name"]) == (
        ["block config", "block log"],
        "block config",
    )


def test_every_estimate_is_what_it_was_when_the_call_was_made(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server counts twice what anyone would expect, so an estimate that did not learn from
    it stands out.
    """

    def answer(request: Request) -> Reply:
        size = 2 * estimate_tokens(render(request).as_text())
        if len(request.window.turns) > 5:
            return Reply((Text("done"),), usage=Usage(size, 10))
        call = ToolCallPart(f"c{len(request.window.turns)}", "look", {"at": "here"})
        return Reply((call,), stop="tool_calls", usage=Usage(size, 10))

    async def talk() -> None:
        provider = ScriptedProvider(answer, name="anthropic:claude-sonnet-5")
        async with Agent(
            SEAT, provider=provider, tools=[tool()], at=Home(here / ".transom", "t")
        ) as agent:
            await agent.send("go")

    asyncio.run(talk())
    assert main(["runs", "list", "--format", "json"]) == 0
    (run,) = [one["run_id"] for one in json.loads(capsys.readouterr().out)["runs"]]
    calls = windows(capsys, run)["calls"]
    assert len(calls) == 4
    for call in calls:
        together = sum(share["used"] for share in call["shares"])
        assert together == pytest.approx(call["cache"]["tokens"], rel=0.02, abs=8)
        blocks = sum(block["tokens"] for block in call["blocks"])
        assert blocks < together < 2.2 * call["usage"]["input_tokens"]
    assert calls[-1]["cache"]["tokens"] == pytest.approx(
        calls[-1]["usage"]["input_tokens"], rel=0.1
    )
    assert main(["window", "show", run, "--call", "2"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"  tools: look \d+ tokens\n", told)
    assert re.search(r"  turn 2: said look, \d+ tokens\n", told)


def test_every_call_of_an_answer_has_shares_of_its_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One says nothing, and one is repaired, behind a result of a tool; the server counts twice
    the tokens.
    """
    role = replace(
        SEAT, output={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    )
    saw: dict[str, Any] = {"stop": "tool_calls"}
    replies: list[tuple[Any, dict[str, Any]]] = [
        *(
            (ToolCallPart("1", "look", {"at": "a"}), saw),
            (None, {"stop": "pause"}),
            (Text('{"n": seven}'), {}),
        ),
        *((Text('{"n": 7}'), {}), (Text('{"n": 8}'), {})),
    ]

    def answer(request: Request) -> Reply:
        part, more = replies.pop(0)
        schema = estimate_tokens(schema_text(role.schema or {}))
        return Reply(
            (part,) if part else (),
            usage=Usage(2 * (estimate_tokens(render(request).as_text()) + schema), 10),
            **more,
        )

    async def talk() -> None:
        provider = ScriptedProvider(answer)
        async with Agent(
            role, provider=provider, tools=[tool()], at=Home(here / ".transom", "t")
        ) as agent:
            await agent.send("How many are there?")
            await agent.send("And now?")

    asyncio.run(talk())
    calls = windows(capsys, "t")["calls"]
    assert [call["status"] for call in calls] == ["whole", "silent", "repair", "whole", "whole"]
    shares = [{one["name"]: one["used"] for one in call["shares"]} for call in calls]
    lasting = [share["conversation"] for share in shares]
    assert lasting[1] < lasting[2] < lasting[3], "what was said in between stands there, too"
    asked = [call["turns"][-1].get("text", "") for call in calls]
    assert ["cannot be used" in text for text in asked] == [False, False, False, True, False]
    for call in calls[1:]:
        together = sum(share["used"] for share in call["shares"])
        assert together == pytest.approx(call["usage"]["input_tokens"], rel=0.05)
    assert main(["window", "show", "t", "--call", "4"]) == 0
    assert f"working_space {shares[3]['working_space']} of " in capsys.readouterr().out
