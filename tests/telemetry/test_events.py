"""What is logged of a run, with which ids; and what is nowhere: keys, and what is marked local."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.telemetry.walked import walk
from transom.agent import Agent, Home
from transom.agent.call import RETRY, call
from transom.config.hosted import Retry
from transom.errors import NetworkFailed, ProviderError, RateLimited, ReplyError, TransomError
from transom.llm import (
    AssistantMessage,
    Block,
    Chain,
    Request,
    ScriptedProvider,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    UserMessage,
    Window,
)
from transom.llm.egress import EgressPolicy, unquote
from transom.llm.retrying import RetryingProvider
from transom.telemetry import configure, read_trace

KEY = "hunter2-hunter2-hunter2"
LOCAL = "the-netlist-of-block-zeta"


EVENTS: dict[str, list[str]] = {
    "errors": ["call * failed with *"],
    "retries": ["scripted:model-1: attempt 1 failed with RateLimited; asked again in 0.01 s"],
    "pruning": ["conversation main: * events folded, * tokens became *"],
    "sub-conversations": [
        "sub-conversation main/sub-*: opened by main",
        "sub-conversation main/sub-*: completed, *",
    ],
    "tools": [
        "tool look, call c1: succeeded, *",
        "tool look, call c2: failed with ToolExecutionError, *",
    ],
}
"""Memory is the sixth kind."""


def test_each_kind_of_event_is_logged_with_its_trace(tmp_path: Path) -> None:
    configure("info", tmp_path / "log")
    run, spans = asyncio.run(walk(tmp_path))
    broken = Agent(SEAT, provider=ScriptedProvider({SEAT.name: [ProviderError("it is down")]}))

    async def fail() -> None:
        async with broken:
            with pytest.raises(ProviderError):
                await broken.send("hi")

    asyncio.run(fail())
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    ids = {span.span_id for span in spans}
    for kind, patterns in EVENTS.items():
        for pattern in patterns:
            found = [
                line
                for line in lines
                if Path(line["message"].replace("/", "|")).match(pattern.replace("/", "|"))
            ]
            assert found, (kind, pattern)
            if kind != "errors":
                assert all(
                    (line["trace_id"], line["span_id"] in ids) == (run.telemetry.trace_id, True)
                    for line in found
                )
            assert all(line["trace_id"] for line in found)


async def test_what_a_program_opens_and_completes_is_logged_within_its_span(tmp_path: Path) -> None:
    configure("info", tmp_path / "log")
    provider = ScriptedProvider({f"{SEAT.name}.sub": ["there", "summed up"]})
    async with Agent(SEAT, provider=provider, at=Home(tmp_path / "w", "t")) as agent:
        sub = await agent.open_sub("what is there")
        await sub.send("Look.")
        await agent.close_sub(sub)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (trace,) = (tmp_path / "w" / "traces").iterdir()
    spans = {span.span_id: span.name for span in read_trace(trace)}
    assert {line["trace_id"] for line in lines} == {trace.stem}
    told = [
        spans[line["span_id"]]
        for line in lines
        if line["message"].startswith(f"sub-conversation {sub.id}: ")
    ]
    assert told == [f"{does} sub_conversation {SEAT.name}.sub" for does in ("open", "complete")]


@pytest.mark.parametrize("told", [True, False])
async def test_a_call_that_failed_is_an_error_and_one_that_is_made_again_a_warning(
    tmp_path: Path, told: bool
) -> None:
    configure("warning", tmp_path / "log")
    words = "the words of a prompt"
    down = [
        RateLimited(words, retryable=True),
        NetworkFailed(words, place="one:a"),
        NetworkFailed(words, place="two"),
    ]
    policy = Retry(max_attempts=2, initial_delay=0.001)
    one = RetryingProvider(ScriptedProvider({SEAT.name: down[:2]}, name="one:a"), policy)
    two = ScriptedProvider({SEAT.name: down[2:]}, name="two")
    async with Agent(SEAT, provider=Chain((one, two)), at=Home(tmp_path / "w", "t")) as agent:
        talk = await agent._open()
        talk.log.host.log_calls = told
        with pytest.raises(NetworkFailed):
            await agent.send(words)
        trace = talk.log.host.telemetry.trace_id
    text = (tmp_path / "log").read_text()
    again, fallback, failed = [json.loads(line) for line in text.splitlines()]
    assert words not in text
    assert (again["level"], fallback["level"], failed["level"]) == ("warning", "warning", "error")
    assert "one:a: attempt 1 failed with RateLimited; asked again in" in again["message"]
    assert fallback["message"] == "one:a failed with NetworkFailed; two is asked next"
    assert "failed with NetworkFailed, provider two, attempts 3" in failed["message"]
    about = {name: failed[name] for name in ("error_type", "provider", "attempts", "trace_id")}
    assert about == {
        "error_type": "NetworkFailed",
        "provider": "two",
        "attempts": 3,
        "trace_id": trace,
    }
    assert failed["span_id"]


@pytest.mark.parametrize("how", ["schema", "read", "read once"])
async def test_answers_that_cannot_be_read_are_a_call_that_failed(tmp_path: Path, how: str) -> None:
    configure("warning", tmp_path / "log")
    words, answers = "the words of an answer", 1 if how == "read once" else 2
    chain = Chain((ScriptedProvider({SEAT.name: [words] * answers}, name="one:a"),))
    if how == "schema":
        async with Agent(replace(SEAT, output={"type": "object"}), provider=chain) as agent:
            with pytest.raises(ReplyError):
                await agent.send("hi")
    else:
        role = SEAT if how == "read once" else replace(SEAT, sees=SEAT.sees | {RETRY})
        async with Agent(SEAT, provider=chain) as agent:
            stage = (await agent._open()).log.stage

            def read(text: str) -> str:
                raise ReplyError(f"cannot be read: {text}")

            with pytest.raises(ReplyError, match="cannot be read"):
                await call(stage, role, [Block("extra", "hi")], read)
    (failed,) = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    about = {name: failed[name] for name in ("level", "error_type", "provider", "attempts")}
    assert about == {
        "level": "error",
        "error_type": "ReplyError",
        "provider": "one:a",
        "attempts": answers,
    }
    assert words not in (tmp_path / "log").read_text()


def everything(folder: Path) -> dict[Path, bytes]:
    """All files of a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_key_and_what_is_local_are_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", KEY)
    configure("debug", tmp_path / "w" / "logs" / "log")

    def answer(request: Request) -> Any:
        turns = len(request.window.turns)
        if turns == 1:
            return asks(look("a", "c1"), look("break", "c2"))
        raise ProviderError(
            f"400 for key {KEY}: the prompt said {LOCAL}", retryable=len(provider.requests) < 3
        )

    async def run(at: str) -> str:
        if at == "break":
            raise ValueError(f"no luck with {KEY} and {LOCAL}")
        return f"{LOCAL} at {at}"

    provider = ScriptedProvider(answer)
    chain = Chain((RetryingProvider(provider, Retry(initial_delay=0.001)),))
    role = replace(SEAT, name="t.seat")
    local = Block("extra", f"secret: {LOCAL}", egress="local")
    agent = Agent(
        role, provider=chain, tools=[tool(run, egress="local")], at=Home(tmp_path / "w", "t")
    )
    async with agent:
        with pytest.raises(TransomError) as caught:
            await agent.send("go", local)
    logging.getLogger("transom").error("it ended with %s", caught.value)
    captured = capfd.readouterr()
    found = everything(tmp_path / "w")
    assert any("traces" in path.parts for path in found) and any(
        "logs" in path.parts for path in found
    )
    for path, data in found.items():
        # windows are kept, to be shown; this machine is where they may be
        journal = path.name.startswith("state.db")
        assert journal or LOCAL.encode() not in data, path
        assert KEY.encode() not in data, path
    for text in (captured.out, captured.err, str(caught.value)):
        assert LOCAL not in text
    assert KEY not in captured.out + captured.err


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ("400: what anybody may read", "400: what anybody may read"),
        ("400: 'netlist of zeta has' is odd", "400: '[local]' is odd"),
        ("the netlist of zeta has 412 nets", "[local]"),
        ("412 nets", "412 nets"),
    ],
)
def test_an_error_loses_what_it_quotes_and_nothing_else(what: str, left: str) -> None:
    local = Block("extra", "the netlist of zeta has 412 nets", egress="local")
    request = Request("r", Window((local, Block("open", "what anybody may read"))))
    error = ProviderError(what, hint=what)
    unquote(error, request, EgressPolicy())
    assert (error.problem, error.hint, str(error)) == (left, left, f"{left}; {left}")


@pytest.mark.parametrize(
    ("local", "what", "left"),
    [
        ("AB-94713", "400: 'AB-94713' is odd", "400: '[local]' is odd"),
        ("pin is\n  9471  \nof ann", "400: 9471 of ann", "400: [local] [local]"),
        ("the pin of the door is HUSH-9471.", "400: (HUSH-9471)", "400: ([local])"),
        ("the door", "400: doors", "400: doors"),
        ("no", "400: no luck", "400: no luck"),
    ],
)
def test_an_error_loses_short_texts_lines_and_names_too(local: str, what: str, left: str) -> None:
    error = ProviderError(what)
    came = ToolResults((ToolResultPart("1", "look", local, egress="local"),))
    unquote(error, Request("r", Window((), turns=(UserMessage("doors"), came))), EgressPolicy())
    assert error.problem == left
    said = AssistantMessage((ToolCallPart("1", "look", {"at": [local]}),))
    error = ProviderError(what)
    unquote(
        error,
        Request("r", Window((), turns=(UserMessage("go"), said), egress="local")),
        EgressPolicy(),
    )
    assert error.problem == left


OUTPUT: Any = {"type": "object", "properties": {"pin": {"type": "integer"}}}


async def test_what_is_made_of_local_text_stands_in_no_error_trace_or_log(tmp_path: Path) -> None:
    """A short text is the hard case: nothing of an answer that does not fit, of a name that
    there is not.
    """
    configure("debug", tmp_path / "logs" / "log")
    pin = "HUSH-9471"

    async def run(at: str) -> str:
        return f"The pin is {pin}."

    wrong = json.dumps({"pin": pin})
    script: list[Any] = [asks(look("a")), asks(ToolCallPart("2", pin, {})), wrong, wrong]
    role, provider = replace(SEAT, output=OUTPUT), ScriptedProvider({SEAT.name: script})
    async with Agent(
        role, provider=provider, tools=[tool(run, egress="local")], at=Home(tmp_path, "t")
    ) as agent:
        with pytest.raises(ReplyError, match="it breaks #/properties/pin/type") as caught:
            await agent.send("go")
    assert pin not in f"{caught.value!r} {caught.value} {caught.value.__cause__}"
    found = {
        path: data
        for path, data in everything(tmp_path).items()
        if not path.name.startswith("state.db")
    }
    assert any(b"execute_tool unknown" in data for data in found.values())
    assert not [path for path, data in found.items() if pin.encode() in data]


async def test_an_error_of_a_reader_quotes_no_reply_that_was_answered_from_local_text() -> None:
    words = "the words of an answer"
    for local, told in ((True, "cannot be read: [local]"), (False, f"cannot be read: {words}")):
        async with Agent(SEAT, provider=ScriptedProvider({SEAT.name: [words]})) as agent:
            stage = (await agent._open()).log.stage

            def read(text: str) -> str:
                raise ReplyError(f"cannot be read: {text}")

            with pytest.raises(ReplyError) as caught:
                await call(
                    stage, SEAT, [Block("extra", "hi", egress="local" if local else "any")], read
                )
        assert caught.value.problem == told


def test_an_error_loses_what_it_quotes_of_a_block_that_a_user_keeps() -> None:
    kept = ProviderError("no: what anybody may read")
    unquote(
        kept,
        Request("r", Window((Block("open", "what anybody may read"),))),
        EgressPolicy(("open",)),
    )
    assert kept.problem == "no: [local]"
