"""An agent: messages, tools, caps, events; one way for fresh, resumed and streamed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, resumed, scripted, sent, tool
from transom.agent import Agent, Budget, Home, SyncAgent
from transom.agent.models import Event, ReplyDelta, ReplyReceived, ToolCallFinished, ToolCallStarted
from transom.context.cache import CacheMonitor
from transom.errors import (
    InputError,
    NetworkFailed,
    ProviderError,
    RunError,
    ToolError,
    TransomError,
)
from transom.llm import (
    AssistantMessage,
    Block,
    Chain,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    ToolCallPart,
    ToolResults,
    Usage,
    UserMessage,
)
from transom.runs import Run, Stage, Workspace, text_file
from transom.tools import ToolDefinition, ToolLimits


def results(request: Request) -> list[str]:
    """The results that came back last before a request."""
    turn = request.window.turns[-1]
    assert isinstance(turn, ToolResults)
    return [result.content for result in turn.results]


async def test_a_conversation_goes_on_from_message_to_message() -> None:
    provider = scripted(asks(look("a"), text="First."), "It is a.", "Still a.")
    async with Agent(SEAT, provider=provider, tools=[tool()]) as agent:
        first = await agent.send("What is it?")
        second = await agent.send("Sure?", Block("extra", "only now"))
    assert (first.text, first.ended, second.text) == ("It is a.", "answered", "Still a.")
    assert [type(turn) for turn in second.turns] == [
        UserMessage,
        AssistantMessage,
        ToolResults,
        AssistantMessage,
        UserMessage,
        AssistantMessage,
    ]
    texts = [sent(request) for request in provider.requests]
    assert texts[1].startswith(texts[0]), "what was sent is the beginning of what is sent next"
    assert texts[2].startswith(texts[1])
    assert texts[2].endswith("<extra>\nonly now\n</extra>"), (
        "a block of one message follows the conversation"
    )
    assert second.usage.input_tokens > first.usage.input_tokens > 0


async def test_without_a_home_nothing_stays_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with Agent(SEAT, provider=scripted("hello")) as agent:
        await agent.send("hi")
        assert [path.name for path in tmp_path.glob("*/.transom")] == [".transom"]
    assert list(tmp_path.iterdir()) == []


async def test_the_same_code_run_again_asks_and_does_nothing_again(tmp_path: Path) -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return f"saw {at}"

    async def program(*answers: Any) -> tuple[list[str], int]:
        provider = scripted(*answers)
        async with Agent(
            SEAT, provider=provider, tools=[tool(run)], at=Home(tmp_path, "talk")
        ) as agent:
            texts = [(await agent.send("one")).text, (await agent.send("two")).text]
        return texts, len(provider.requests)

    fresh = await program(asks(look("a"), look("b")), "first", "second")
    assert fresh == (["first", "second"], 3)
    assert await program() == (["first", "second"], 0)
    assert did == ["a", "b"]


async def test_a_chat_is_found_again_by_its_name(tmp_path: Path) -> None:
    async with Agent(
        SEAT, provider=scripted("first", ProviderError("away")), at=Home(tmp_path, "talk")
    ) as agent:
        assert await agent.resume() is None
        await agent.send("one")
        with pytest.raises(ProviderError, match="away"):
            await agent.send("two")
    provider = scripted("second", "third")
    async with Agent(SEAT, provider=provider, at=Home(tmp_path, "talk")) as agent:
        last = await agent.resume()
        assert last is not None and last.text == "second", (
            "the message that was cut off is answered now"
        )
        assert (await agent.send("three")).text == "third"
        assert [message.content for message in agent.history()] == [
            "one",
            "first",
            "two",
            "second",
            "three",
            "third",
        ]
        assert [message.content for message in agent.history(2)] == ["three", "third"]
        assert agent.history(0) == []
        again = await agent.resume()
        assert again is not None and again.text == "third", (
            "nothing is open: what was said last is said again"
        )


async def test_after_an_error_it_goes_on_where_it_was() -> None:
    provider = scripted(asks(look("a")), ProviderError("away"), "there")
    async with Agent(SEAT, provider=provider, tools=[tool()]) as agent:
        with pytest.raises(ProviderError):
            await agent.send("go")
        assert (await resumed(agent)).text == "there"
        assert (await resumed(agent)).text == "there"
    assert [len(request.window.turns) for request in provider.requests] == [1, 3, 3]


@pytest.mark.parametrize("caps", [Budget(), Budget(seconds=3_600)])
async def test_a_provider_that_gives_up_waiting_is_no_cap(caps: Budget) -> None:
    provider = scripted(TimeoutError("no answer from the far side"), "at last")
    async with Agent(SEAT, provider=provider, budget=caps) as agent:
        with pytest.raises(NetworkFailed, match="it gave up waiting: no answer from the far side"):
            await agent.send("go")
        assert (await resumed(agent)).text == "at last"


async def test_a_text_is_a_path_too(tmp_path: Path) -> None:
    folder = str(tmp_path / ".transom")
    assert Home(folder, "x") == Home(Path(folder), "x")
    async with Agent(SEAT, provider=scripted("so"), at=Home(folder, "x")) as agent:
        assert (await agent.send("go")).text == "so"
    assert await Home.unfinished(folder, SEAT) == []


@pytest.mark.parametrize(
    ("slip", "told"),
    [
        # Each is of another type on purpose: no type checker has looked at what a newcomer writes.
        (
            lambda: Agent(3, provider=scripted()),  # type: ignore[arg-type]  # on purpose
            'role is of type int; write "You know the stock.", or Role("clerk"',
        ),
        (lambda: Agent(SEAT, provider=scripted(), at="x"), "at is of type str; pass at=Home"),  # type: ignore[arg-type]  # on purpose
        (
            lambda: Agent(SEAT, provider=scripted(), tools=[len]),
            "this is <built-in function len>; give the function",
        ),
        (
            lambda: Agent(SEAT, provider=scripted(), tools=3),  # type: ignore[arg-type]  # on purpose
            "tools is of type int; pass tools=[...]",
        ),
        (lambda: Home(".transom", 3), "the value of name is of type int"),  # type: ignore[arg-type]  # on purpose
        (lambda: Budget(tokens="5"), "tokens must be a number from 0 on, and is '5'"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_a_slip_is_one_line_that_says_what_to_write(slip: Callable[[], object], told: str) -> None:
    with pytest.raises(TransomError) as caught:
        slip()
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_listener_hears_what_goes_on_and_nothing_of_the_journal(tmp_path: Path) -> None:
    async def heard(*answers: Any) -> list[Event]:
        events: list[Event] = []
        provider = scripted(*answers)
        agent = Agent(
            SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t"), on_event=events.append
        )
        async with agent:
            await agent.send("go")
        return events

    fresh = await heard(asks(look("a"), text="I look."), "done")
    assert [type(event) for event in fresh if not isinstance(event, ReplyDelta)] == [
        ReplyReceived,
        ToolCallStarted,
        ToolCallFinished,
        ReplyReceived,
    ]
    pieces = [event.piece for event in fresh if isinstance(event, ReplyDelta)]
    assert "".join(piece.text for piece in pieces if isinstance(piece, Text)) == "I look.done"
    assert await heard() == [], "what the journal has is answered from it, and nothing goes on"


async def test_a_tool_is_told_when_it_begins_and_when_it_is_over_not_when_the_slowest_is(
    tmp_path: Path,
) -> None:
    async def heard(*answers: Any) -> list[str]:
        told: list[str] = []
        fast = asyncio.Event()

        def hear(event: Event) -> None:
            if isinstance(event, ToolCallStarted | ToolCallFinished):
                told.append(f"{type(event).__name__} {event.call.id}")
            if isinstance(event, ToolCallFinished) and event.call.id == "fast":
                fast.set()

        async def run(at: str) -> str:
            if at == "slow":
                # it is over only once the other one was told
                await asyncio.wait_for(fast.wait(), 60)
            return at

        home = Home(tmp_path, "t")
        async with Agent(
            SEAT, provider=scripted(*answers), tools=[tool(run)], at=home, on_event=hear
        ) as agent:
            await agent.send("go")
        return told

    calls = asks(look("slow", "slow"), look("fast", "fast"), ToolCallPart("none", "leap", {}))
    fresh = await heard(calls, "done")
    assert fresh.index("ToolCallFinished fast") < fresh.index("ToolCallFinished slow")
    assert all(
        fresh.index(f"ToolCallStarted {one}") < fresh.index(f"ToolCallFinished {one}")
        for one in ("slow", "fast", "none")
    )


async def test_a_tool_that_a_role_names_has_to_be_given() -> None:
    named = replace(SEAT, tools=(tool().spec,))
    with pytest.raises(ToolError, match="it names look among its tools, and no such tool is given"):
        Agent(named, provider=scripted())
    async with Agent(named, provider=scripted(asks(look("a")), "ok"), tools=[tool()]) as agent:
        assert (await agent.send("go")).text == "ok"
    with pytest.raises(
        InputError,
        match=r"its strategy is 'bogus'; write 'truncate' or 'sub_conversation' or 'memory'",
    ):
        replace(SEAT, strategy="bogus")  # type: ignore[arg-type]  # that is the test


@pytest.mark.slow
async def test_the_four_errors_of_tools_say_what_to_do_next() -> None:
    async def run(at: str) -> str:
        if at == "slow":
            await asyncio.sleep(60)
        raise ValueError("it broke")

    calls = asks(
        ToolCallPart("1", "leap", {}),
        ToolCallPart("2", "look", {"on": 1}),
        look("break", "3"),
        look("slow", "4"),
        text="x",
    )
    provider = scripted(calls, "ok")
    async with Agent(
        SEAT, provider=provider, tools=[tool(run, limits=ToolLimits(seconds=1))]
    ) as agent:
        await agent.send("go")
        came = agent.history()[2].tool_results
    assert [(one.success, one.metadata["error"]) for one in came] == [
        (False, "ToolNotFoundError"),
        (False, "InvalidArgumentsError"),
        (False, "ToolExecutionError"),
        (False, "ToolTimeoutError"),
    ]
    took = [float(str(one.metadata["seconds"])) for one in came]
    assert min(took) >= 0 and took[3] >= 1
    told = [json.loads(content) for content in results(provider.requests[1])]
    assert [one["error"] for one in told] == [
        "there is no such tool",
        "$: 'at' is a required property",
        "the tool failed: ValueError: it broke",
        "the tool took longer than the 1 s that it may",
    ]
    assert [one["hint"].split(";")[0].split(":")[0] for one in told] == [
        "call one of look",
        "correct the arguments and call it again",
        "try other arguments or go on without it",
        "ask for less at once, or go on without it",
    ]


@pytest.mark.slow
async def test_a_plain_function_runs_beside_the_loop_and_may_take_too_long() -> None:
    gate = threading.Event()

    def handler(arguments: Any) -> str:
        gate.wait(60)
        return f"saw {arguments['at']}"

    slow = ToolDefinition(
        "look", "Looks.", tool().parameters, handler, limits=ToolLimits(seconds=1)
    )
    provider = scripted(asks(look("a")), asks(look("b")), "ok")

    def listen(event: Event) -> None:
        if isinstance(event, ToolCallFinished):
            gate.set()

    async with Agent(SEAT, provider=provider, tools=[slow], on_event=listen) as agent:
        await agent.send("go")
    assert "took longer" in results(provider.requests[1])[0]
    assert results(provider.requests[2]) == ["saw b"]


async def test_a_quota_holds_over_a_restart(tmp_path: Path) -> None:
    async def program(*answers: Any) -> ScriptedProvider:
        provider = scripted(*answers)
        few = tool(limits=ToolLimits(calls=2))
        async with Agent(SEAT, provider=provider, tools=[few], at=Home(tmp_path, "t")) as agent:
            await agent.send("go")
        return provider

    with pytest.raises(ProviderError, match="no further answer"):
        await program(asks(look("a")), asks(look("b")))
    last = (await program(asks(look("c")), "ok")).requests[-1]
    assert "called 2 times, which is all that is allowed" in results(last)[0]


BESIDE = "[The same call stands in this reply as '1'; it is made once. Its result is there.]"


async def test_an_identical_call_is_answered_from_before_with_a_remark() -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return f"saw {at} {len(did)}"

    calls = [
        asks(look("a", "1"), look("a", "2")),
        asks(look("a", "3"), look("now", "4", "clock")),
        "ok",
    ]
    calls.insert(2, asks(look("now", "5", "clock")))
    provider = scripted(*calls)
    async with Agent(
        SEAT, provider=provider, tools=[tool(run), tool(run, name="clock", fresh=True)]
    ) as agent:
        await agent.send("go")
    assert did == ["a", "now", "now"]
    assert results(provider.requests[1]) == ["saw a 1", BESIDE]
    repeated, clock = results(provider.requests[2])
    assert (
        repeated
        == "[The same call was made before, as '1'; it is not made again. Its result was:]\nsaw a 1"
    )
    assert (clock, results(provider.requests[3])) == ("saw now 2", ["saw now 3"])


async def test_a_repeated_call_is_answered_with_the_summary_that_the_first_was(
    tmp_path: Path,
) -> None:
    big = "\n".join(f"line {number} has AB-{number}" for number in range(12_000))

    async def run(at: str) -> str:
        return big

    async def program(*answers: Any) -> list[str]:
        script = {SEAT.name: list(answers), f"{SEAT.name}.sub": ["AB-1 stands in line 1"]}
        role, at = replace(SEAT, strategy="sub_conversation"), Home(tmp_path, "t")
        async with Agent(
            role, provider=ScriptedProvider(script), tools=[tool(run)], at=at
        ) as agent:
            response = await agent.send("go")
        return [
            one.content
            for turn in response.turns
            if isinstance(turn, ToolResults)
            for one in turn.results
        ]

    equal = asks(look("a", "1"), look("a", "2"))
    with pytest.raises(ProviderError, match="no further answer"):
        await program(equal)
    first, *repeated = await program(asks(look("a", "3")), "ok")
    assert "AB-1 stands in line 1" in first and len(repeated) == 2
    beside, later = repeated
    assert beside == BESIDE
    assert (
        later == "[The same call was made before, as '1'; it is not made again. Its result"
        f" was:]\n{first}"
    )


async def test_a_repeated_result_is_as_local_and_as_little_trusted_as_the_first() -> None:
    provider = scripted(asks(look("a")), asks(look("a", "2")), "ok")
    async with Agent(
        SEAT, provider=provider, tools=[tool(egress="local", trust="untrusted")]
    ) as agent:
        await agent.send("go")
    came = [
        turn.results[0]
        for turn in provider.requests[-1].window.turns
        if isinstance(turn, ToolResults)
    ]
    assert ["not made again" in one.content for one in came] == [False, True]
    assert [(one.egress, one.trust) for one in came] == [("local", "untrusted")] * 2


async def test_a_call_that_failed_may_be_made_again() -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        if len(did) == 1:
            raise ValueError("busy")
        return f"saw {at}"

    provider = scripted(asks(look("a")), asks(look("a", "2")), "ok")
    async with Agent(SEAT, provider=provider, tools=[tool(run)]) as agent:
        await agent.send("go")
    assert (did, results(provider.requests[-1])) == (["a", "a"], ["saw a"])


async def test_an_identical_call_is_answered_from_the_journal_after_a_restart_too(
    tmp_path: Path,
) -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return f"saw {at}"

    async def program(*answers: Any) -> ScriptedProvider:
        provider = scripted(*answers)
        async with Agent(
            SEAT, provider=provider, tools=[tool(run)], at=Home(tmp_path, "t")
        ) as agent:
            await agent.send("go")
        return provider

    with pytest.raises(ProviderError, match="away"):
        await program(asks(look("a", "1")), ProviderError("away"))
    last = (await program(asks(look("a", "2")), "ok")).requests[-1]
    assert (did, results(last)[0].splitlines()[-1]) == (["a"], "saw a")
    assert "was made before, as '1'" in results(last)[0]


async def test_a_tool_registered_under_way_is_there_from_the_next_call_on() -> None:
    agents: list[Agent] = []

    async def run(at: str) -> str:
        agents[0].register_tool(tool(name="more"))
        return at

    provider = scripted(asks(look("a")), asks(look("b", "2", "more")), "ok")
    async with Agent(SEAT, provider=provider, tools=[tool(run)]) as agent:
        agents.append(agent)
        await agent.send("go")
        agent.register_tool(tool(name="more"))
        with pytest.raises(ToolError, match="a tool of that name"):
            agent.register_tool(tool(name="more", effect="once"))
        with pytest.raises(ToolError, match="no JSON Schema of an object"):
            agent.register_tool(
                ToolDefinition("bad", "", {"type": "array"}, lambda arguments: None)
            )
    assert [[spec.name for spec in request.tools] for request in provider.requests] == [
        ["look"],
        ["look", "more"],
        ["look", "more"],
    ]
    assert results(provider.requests[2]) == ["saw b"]
    one, two = (Request("r", request.window, request.tools) for request in provider.requests[:2])
    assert Request("r", one.window, two.tools).digest != one.digest
    monitor = CacheMonitor()
    seen = [monitor.watch(request) for request in provider.requests]
    assert [one.first_difference.to_json() if one.first_difference else None for one in seen] == [
        None,
        {"name": "tool more", "how": "added"},
        None,
    ], "whoever reads a cache is told what broke it"


CAPPED: list[tuple[Budget, str, int]] = [
    (Budget(turns=2), "turns", 4),
    (Budget(tokens=300), "tokens", 3),
    (Budget(seconds=1), "seconds", 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("caps", "ended", "requests"), CAPPED, ids=[row[1] for row in CAPPED])
async def test_a_cap_ends_with_the_work_so_far_and_can_be_raised(
    tmp_path: Path, caps: Budget, ended: str, requests: int
) -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return at

    async def answer(request: Request) -> Reply:
        number = len(request.window.turns) // 2
        if number == 1 and ended == "seconds" and not did[1:]:
            await asyncio.sleep(1.5 if len(provider.requests) == 2 else 0)
        usage = Usage(100, 0)
        return (
            Reply((Text("done"),), usage=usage)
            if number == 5
            else Reply(asks(look(str(number))).parts, usage=usage)
        )

    async def program(caps: Budget) -> Any:
        async with Agent(
            SEAT, provider=provider, tools=[tool(run)], at=Home(tmp_path, "t"), budget=caps
        ) as agent:
            return await agent.send("go")

    provider = ScriptedProvider(answer)
    stopped = await program(caps)
    assert stopped.ended == ended
    assert len(provider.requests) == requests
    assert len(stopped.turns) >= 3 and isinstance(stopped.turns[-1], ToolResults), (
        "no call without its result"
    )
    whole = await program(Budget(turns=50))
    assert (whole.text, whole.ended) == ("done", "answered")
    assert did == [*dict.fromkeys(did)], "nothing is done twice"
    assert sorted(did) == (["0", "1", "3", "4"] if ended == "turns" else ["0", "1", "2", "3", "4"])


async def test_no_tool_is_begun_once_the_time_is_over() -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return at

    def linger(event: Event) -> None:
        if isinstance(event, ReplyReceived):
            time.sleep(0.12)

    def answer(request: Request) -> Reply:
        return Reply((Text("done"),)) if request.window.turns[1:] else asks(look("a"))

    provider = ScriptedProvider(answer)
    agent = Agent(
        SEAT, provider=provider, tools=[tool(run)], budget=Budget(seconds=0.1), on_event=linger
    )
    async with agent:
        assert ((await agent.send("go")).ended, did) == ("seconds", [])
        agent.budget = Budget()
        assert ((await resumed(agent)).text, did) == ("done", ["a"])


async def test_a_raised_cap_goes_on_in_the_same_conversation() -> None:
    provider = scripted(*(asks(look(at)) for at in "abc"), asks(look("d"), text="so far"), "done")
    async with Agent(SEAT, provider=provider, tools=[tool()], budget=Budget(turns=2)) as agent:
        stopped = await agent.send("go")
        assert (stopped.ended, stopped.text) == ("turns", "so far")
        agent.budget = Budget(turns=9)
        assert (await resumed(agent)).text == "done"
    assert results(provider.requests[-1]) == ["saw d"]


async def test_who_calls_no_tool_is_not_capped_and_a_cut_reply_says_so() -> None:
    provider = scripted(
        Reply((Text("ha"), look("a")), stop="length"), Reply((Text("no"),), stop="refusal")
    )
    async with Agent(SEAT, provider=provider, tools=[tool()]) as agent:
        cut, refused = await agent.send("one"), await agent.send("two")
    assert (cut.text, cut.ended, refused.ended) == ("ha", "length", "refusal")


async def test_in_a_stage_of_a_run_the_run_says_who_answers(tmp_path: Path) -> None:
    workspace = Workspace.at(tmp_path / ".transom")
    provider = scripted("one", "two")

    async def stage(at: Stage) -> str:
        agents = [Agent(SEAT, at=at), Agent(SEAT, at=at.named("second"))]
        return " ".join([(await agent.send("hi")).text for agent in agents])

    for _ in range(2):
        async with workspace.open_store() as store:
            chain = Chain((provider,))
            run = await Run.open(
                "test", {}, name="x", workspace=workspace, store=store, chain=chain
            )
            async with run:
                left = await run.stage("talk", stage, out=text_file("talk.md"), reuse=False)
        assert left.value == "one two"
    assert len(provider.requests) == 2
    with pytest.raises(InputError, match="run's own providers"):
        Agent(SEAT, provider=provider, at=Stage(run, "s", attempt=1, epoch=""))
    with pytest.raises(InputError, match="no provider is configured"):
        Agent(SEAT)


def test_the_door_has_sub_conversations_an_end_and_no_place_in_a_loop() -> None:
    provider = ScriptedProvider({SEAT.name: ["so"], f"{SEAT.name}.sub": ["7", "seven"]})
    with SyncAgent(Agent(SEAT, provider=provider)) as on:
        sub = on.wait(on.agent.open_sub("look"))
        assert on.wait(sub.send("go")).text == "7"
        assert on.wait(on.agent.close_sub(sub)).text.startswith("seven")
        assert on.send("and?").text == "so"
    on.close()
    with pytest.raises(RunError, match="it is closed"):
        on.send("more")

    async def in_a_loop() -> None:
        with SyncAgent(Agent(SEAT, provider=provider)) as door:
            door.send("hi")

    with pytest.raises(RunError, match=r"an event loop runs here.*use Agent"):
        asyncio.run(in_a_loop())


def test_the_door_for_code_without_asyncio(tmp_path: Path) -> None:
    with SyncAgent(
        Agent(
            SEAT, provider=scripted(asks(look("a")), "one"), tools=[tool()], at=Home(tmp_path, "t")
        )
    ) as on:
        assert on.send("hi").text == "one"
    with SyncAgent(
        Agent(SEAT, provider=scripted("two"), tools=[tool()], at=Home(tmp_path, "t"))
    ) as on:
        last = on.resume()
        assert last is not None and last.text == "one"
        assert on.send("and").text == "two"
        context = on.agent.context()
    assert (context.message_count, context.tool_calls, context.provider) == (6, 1, "scripted")
    assert context.trace_id and context.usage.input_tokens > 0


async def test_two_messages_at_once_wait_for_each_other() -> None:
    async def answer(request: Request) -> Reply:
        await asyncio.sleep(0)
        return Reply((Text(str(len(request.window.turns))),))

    async with Agent(SEAT, provider=ScriptedProvider(answer)) as agent:
        both = await asyncio.gather(agent.send("a"), agent.send("b"))
    assert [one.text for one in both] == ["1", "3"]
