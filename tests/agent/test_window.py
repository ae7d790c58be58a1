"""The content of an agent's windows: as its settings and its model have it; estimates that usage
corrects.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, share_of_window, tool
from tests.llm.conformance.dialects import DIALECTS
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent, Home, Setup
from transom.config import OpenAISettings, Settings
from transom.errors import ContextOverflow
from transom.llm import (
    Block,
    CallSettings,
    Capabilities,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    ToolCallPart,
    ToolResults,
    UserMessage,
    Window,
)
from transom.llm.hosted import connect
from transom.runs import Workspace

(OPENAI,) = [dialect for dialect in DIALECTS if dialect.name == "openai"]


def numbered(count: int, *last: Any) -> ScriptedProvider:
    """A model that calls so many times, each time something else, and then answers."""
    return ScriptedProvider(
        {SEAT.name: [*(asks(look(str(n), f"c{n}")) for n in range(count)), *(last or ("done",))]}
    )


async def windows(calls: int, **window: int) -> list[Request]:
    """The requests of one message that takes so many calls."""
    provider = numbered(calls)
    setup = Setup(provider, Settings.model_validate({"window": window}))
    async with Agent(SEAT, provider=setup, tools=[tool()]) as agent:
        assert (await agent.send("go")).text == "done"
    return provider.requests


async def test_an_overflow_names_the_setting_that_heals_it(tmp_path: Path) -> None:
    """Windows stay as they are in a life, so that a later one makes the same; the setting goes
    before what is known.
    """
    # more than is guessed of such a server, and less than a window has where nobody knows
    most = 9_000

    def answer(wire: Wire, seen: Seen) -> None:
        if (size := len(json.dumps(seen.body["messages"])) // 4) <= most:
            wire.answer(
                200,
                json.dumps(type(OPENAI)(size).whole((Text("noted. " + "word " * 100),))).encode(),
            )
            return
        said = {
            "message": "the request exceeds the available context size",
            "n_prompt_tokens": size,
            "n_ctx": most,
        }
        wire.answer(
            400,
            json.dumps(
                {"error": {"code": 400, "type": "exceed_context_size_error", **said}}
            ).encode(),
        )

    def life(server: LocalServer, context_tokens: int | None = None) -> Agent:
        settings = OpenAISettings(base_url=f"{server.url}/v1", context_tokens=context_tokens)
        setup = Setup(connect("openai:small", settings, stream=False, environ={}), Settings())
        return Agent(
            replace(SEAT, settings=CallSettings(256)), provider=setup, at=Home(tmp_path, "t")
        )

    with LocalServer(answer) as server:
        async with life(server) as agent:
            with pytest.raises(ContextOverflow) as caught:
                for number in range(40):
                    await agent.send(f"{number} " + "lorem ipsum " * 200)
            assert caught.value.limit == most
            assert "set llm.openai.context_tokens: 9000 " in str(caught.value)
        async with life(server, context_tokens=most) as agent:
            assert await agent.resume(), "what was left is answered"
            assert (await agent.send("And now?")).text.startswith("noted.")


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        (
            "prompt is too long: 9000 tokens > 8000 maximum",
            "set llm.anthropic.context_tokens: 8000 ",
        ),
        (
            "prompt is too long: 210000 tokens > 200000 maximum",
            "set llm.anthropic.context_tokens to less than 200000",
        ),
        ("prompt is too long", "set llm.anthropic.context_tokens to the size of its window"),
    ],
)
async def test_the_hint_of_an_overflow_fits_what_is_known_of_the_window(
    told: str, hint: str
) -> None:
    (dialect,) = [one for one in DIALECTS if one.name == "anthropic"]
    with LocalServer(
        lambda wire, _: wire.answer(400, json.dumps(dialect.error("x", told)).encode())
    ) as server:
        provider = dialect.provider(server.url, seconds=20, stream=False)
        with pytest.raises(ContextOverflow) as caught:
            await provider.complete(Request("r", Window((Block("ask", "Look."),))))
        await provider.aclose()
    assert caught.value.hint is not None and hint in caught.value.hint


def folds(requests: list[Request]) -> list[int]:
    """The requests, by number, whose window begins otherwise than the one before it."""
    pairs = itertools.pairwise(requests)
    return [
        number
        for number, (one, two) in enumerate(pairs, 1)
        if two.window.turns[: len(one.window.turns)] != one.window.turns
    ]


def note(request: Request) -> str:
    first = request.window.turns[0]
    assert isinstance(first, UserMessage)
    return first.text


async def test_events_beyond_compact_at_are_folded() -> None:
    for most in (5, 9):
        requests = await windows(12, compact_at=most, keep_recent=3)
        first, *_ = folds(requests)
        # The first event is the message and the call that it led to; each later call is one more.
        assert first == most + 1
        assert f"events 1 to {most - 2} of this conversation are folded" in note(requests[first])
    assert folds(await windows(12)) == [], "50 is usual"


async def test_keep_recent_of_them_stay() -> None:
    for keep in (2, 6):
        requests = await windows(9, compact_at=8, keep_recent=keep)
        (first,) = folds(requests)[:1]
        window = requests[first].window.turns
        assert sum(isinstance(turn, ToolResults) for turn in window) == keep


async def test_what_was_folded_can_be_read_back_word_for_word(tmp_path: Path) -> None:
    def read(ident: str, source: str) -> Reply:
        return asks(ToolCallPart(ident, "read_slice", {"source": source}))

    setup = {"window": {"compact_at": 5, "keep_recent": 2}}

    async def program(provider: ScriptedProvider) -> list[Any]:
        given = Setup(provider, Settings.model_validate(setup))
        async with Agent(SEAT, provider=given, tools=[tool()], at=Home(tmp_path, "t")) as agent:
            assert (await agent.send("go")).text == "done"
            return agent.history()

    provider = numbered(
        8, read("r1", "event 2"), read("r2", "event 8"), read("r3", "event 99"), "done"
    )
    told = await program(provider)
    assert "read as event and its number" in note(provider.requests[7])
    gone, live, none = (
        message.tool_results[0]
        for message in told
        if message.tool_calls == () and message.tool_results
        if message.tool_results[0].metadata["name"] == "read_slice"
    )
    assert "saw 1" in gone.content and "saw 2" not in gone.content, (
        "event 1 is the message with its call"
    )
    assert "saw 7" in live.content
    assert not none.success and "event 1 to event 10" in none.content
    assert await program(ScriptedProvider({})) == told, "a resumed conversation reads the same"


async def test_the_shares_are_settings() -> None:
    async def limits(**shares: int) -> dict[str, int]:
        setup = Setup(numbered(0), Settings.model_validate({"window": {"shares": shares}}))
        async with Agent(SEAT, provider=setup) as agent:
            window = (await agent.send("hi")).window
        assert window is not None
        return {share.name: share.limit for share in window.shares}

    usual, other = await limits(), await limits(conversation=100_000)
    assert other["conversation"] > 1.5 * usual["conversation"]
    assert all(other[name] < usual[name] for name in usual if name != "conversation")


async def test_a_window_that_is_only_guessed_refuses_nothing() -> None:
    provider = ScriptedProvider(
        {SEAT.name: ["done"]}, caps=Capabilities(8_000, context_known=False)
    )
    async with Agent(SEAT, provider=provider) as agent:
        assert share_of_window(await agent.send("hi"))[1] == pytest.approx(90_000 - 16_384, abs=9)


@pytest.mark.parametrize("window", [8_000, 40_000])
async def test_a_models_window_is_the_budget_and_the_reply_leaves_room_in_it(window: int) -> None:
    provider = ScriptedProvider({SEAT.name: ["done"]}, caps=Capabilities(window))
    async with Agent(SEAT, provider=provider) as agent:
        limit = share_of_window(await agent.send("hi"))[1]
    reply = min(16_384, window // 2)
    assert limit == pytest.approx(int(window * 0.9) - reply, abs=9)
    assert provider.requests[0].settings.max_tokens == reply


async def test_a_setting_of_the_window_goes_before_what_the_model_says(tmp_path: Path) -> None:
    provider = ScriptedProvider({SEAT.name: ["done"]}, caps=Capabilities(8_000))
    setup = Setup(provider, Settings.model_validate({"window": {"tokens": 50_000}}))
    async with Agent(SEAT, provider=setup, at=Home(tmp_path, "t")) as agent:
        assert share_of_window(await agent.send("hi"))[1] == pytest.approx(45_000 - 16_384, abs=9)


TEXTS = (
    (
        "The run of the corner slow_0v72 ended with 14 warnings and no error; see the summary of"
        " the day. "
    ),
    "endpoint core/alu/reg_q[31] slack -0.132 clock main 1.250 derate 0.05 path 4711 violated\n",
    '{"corner": "ss_0p72v_m40c", "count": 128, "worst": -0.0715, "met": false},\n',
)


def counted(body: Any) -> int:
    """The tokens that the server counts in a request: half as much again as usual, more for
    numbers and marks.
    """
    said = [message["content"] or "" for message in body["messages"]]
    called = [json.dumps(message.get("tool_calls", "")) for message in body["messages"]]
    whole = "".join([*said, *called, json.dumps(body["tools"])])
    words = sum(character.isalpha() or character == " " for character in whole)
    return int(1.5 * (words * 0.22 + (len(whole) - words) * 0.55)) + 6 * len(body["messages"])


async def test_over_a_real_server_estimates_are_within_a_tenth_after_five_turns(
    tmp_path: Path,
) -> None:
    reported: list[int] = []

    def answer(wire: Wire, seen: Seen) -> None:
        reported.append(counted(seen.body))
        number = len(reported)
        parts = (
            [ToolCallPart(f"c{number}", "look", {"at": str(number)})]
            if number < 14
            else [Text("done")]
        )
        body = {
            **OPENAI.whole(parts),
            "usage": {"prompt_tokens": reported[-1], "completion_tokens": 5},
        }
        wire.answer(200, json.dumps(body).encode())

    async def found(at: str) -> str:
        return TEXTS[int(at) % len(TEXTS)] * (8 + 5 * int(at))

    with LocalServer(answer) as server:
        settings = OpenAISettings(base_url=f"{server.url}/v1", context_tokens=200_000)
        provider = connect("openai:m", settings, stream=False)
        async with Agent(
            SEAT, provider=provider, tools=[tool(found)], at=Home(tmp_path, "t")
        ) as agent:
            assert (await agent.send("go")).text == "done"
        await provider.aclose()
    async with Workspace.at(tmp_path).open_store() as store:
        (stream,) = store.streams("run/")
        kept: list[Any] = [
            record.data for record in store.read(stream) if record.kind == "model_reply"
        ]
    estimates = [sum(used for used, _limit in record["shares"].values()) for record in kept]
    off = [abs(estimate / real - 1) for estimate, real in zip(estimates, reported, strict=True)]
    assert len(off) == 14 and max(off[5:]) <= 0.10, off
    assert off[0] > 0.10, "else there was nothing to learn"


async def test_a_message_s_own_blocks_stand_in_its_windows_alone(tmp_path: Path) -> None:
    """The frame around a conversation is found once a message, not once for good."""
    seat = replace(SEAT, sees=SEAT.sees | {"config"})
    provider = ScriptedProvider(lambda request: request.window.text("config") or "nothing")
    async with Agent(seat, provider=provider, at=Home(tmp_path, "t")) as agent:
        texts = [
            (await agent.send("So?", *blocks)).text
            for blocks in ([], [Block("config", "one")], [Block("config", "two")], [])
        ]
    assert texts == ["nothing", "one", "two", "nothing"]
