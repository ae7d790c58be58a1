"""A message as a stream of events: while it is answered, resumed after a kill, and replayed."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any, assert_type

import pytest
from pydantic import BaseModel

from tests.agent.agent_driver import _kill_after
from tests.agent.helpers import SEAT, approve, asks, look, scripted, tool
from tests.forked import attempt
from tests.llm.conformance.dialects import OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom import (
    Agent,
    Event,
    Home,
    MessageEnded,
    ReplyDelta,
    ReplyReceived,
    Role,
    SubAgent,
    SyncAgent,
    ToolCallFinished,
    ToolCallStarted,
)
from transom import (
    tool as tool_of,
)
from transom.errors import Paused, ProviderError, RunError
from transom.llm import Again, Request, ScriptedProvider, Text, ToolCallPart
from transom.testing import asks as asks_for


class Item(BaseModel):
    left: int


def lines(events: list[Event]) -> list[str]:
    """The events as text; pieces of one reply are joined, and void ones left out."""
    told: list[str] = []
    pieces = ""
    for event in events:
        match event:
            case ReplyDelta(piece=Again()):
                pieces = ""
            case ReplyDelta(piece=ToolCallPart()):
                pass
            case ReplyDelta():
                pieces += event.text
            case ReplyReceived(name, reply):
                told.append(f"{name} said {reply.text!r}, in pieces {pieces!r}")
                pieces = ""
            case ToolCallStarted(name, call):
                told.append(f"{name} calls {call.name} {call.arguments}")
            case ToolCallFinished(name, call, result):
                told.append(f"{name} got {result.content}")
            case MessageEnded(name, response):
                told.append(f"{name} ended {response.ended}: {response.text}")
    return told


async def heard(agent: Agent[Any, Any], text: str = "go") -> list[Event]:
    events = []
    async with agent, agent.stream(text) as answer:
        async for event in answer:
            events.append(event)
    return events


READER = SubAgent(Role("reader", "You read."), "read", "Have it read.", [tool(name="peek")])


def story(folder: Path, *answers: Any, reader: tuple[Any, ...] = ()) -> Agent[Any, Any]:
    """An agent with a tool and a sub-agent, whose conversation is kept."""
    script = ScriptedProvider({SEAT.name: [*answers], "reader": [*reader]})
    return Agent(SEAT, provider=script, tools=[tool(), READER], at=Home(folder, "t"))


ANSWERS = (
    asks(look("a"), look("b", "2"), text="I look."),
    asks_for("read", task="the log"),
    "All is well.",
)
SUB = (asks(look("c", name="peek")), "no errors")


async def test_a_stream_tells_pieces_calls_results_and_the_end(tmp_path: Path) -> None:
    fresh = lines(await heard(story(tmp_path, *ANSWERS, reader=SUB)))
    assert fresh == [
        "main said 'I look.', in pieces 'I look.'",
        "main calls look {'at': 'a'}",
        "main got saw a",
        "main calls look {'at': 'b'}",
        "main got saw b",
        "main said '', in pieces ''",
        "main calls read {'task': 'the log'}",
        "main/1.0 said '', in pieces ''",
        "main/1.0 calls peek {'at': 'c'}",
        "main/1.0 got saw c",
        "main/1.0 said 'no errors', in pieces 'no errors'",
        "main got no errors",
        "main said 'All is well.', in pieces 'All is well.'",
        "main ended answered: All is well.",
    ]
    assert lines(await heard(story(tmp_path))) == fresh


async def test_an_answer_that_was_corrected_is_told_the_same_way_again(tmp_path: Path) -> None:
    async def told(*answers: Any) -> list[Event]:
        provider = ScriptedProvider({"agent": [*answers]})
        home = Home(tmp_path, "t")
        return await heard(Agent("Count.", output=Item, provider=provider, at=home))

    fresh, replayed = await told("seven", '{"left": 7}'), await told()
    assert lines(replayed) == lines(fresh)
    for events in (fresh, replayed):
        voids = [e for e in events if isinstance(e, ReplyDelta) and isinstance(e.piece, Again)]
        assert len(voids) == 1


async def test_the_response_is_there_with_and_without_iterating() -> None:
    agent = Agent("Count.", output=Item, provider=ScriptedProvider({"agent": ['{"left": 7}'] * 2}))
    async with agent:
        async with agent.stream("go") as answer:
            async for event in answer:
                if isinstance(event, MessageEnded):
                    assert event.response is await answer.response()
            async for _ in answer:
                pytest.fail("it is over")
            assert_type((await answer.response()).value, Item)
        async with agent.stream("and nuts?") as answer:
            assert (await answer.response()).value.left == 7


async def test_the_agents_own_listener_hears_what_goes_on_too() -> None:
    events: list[Event] = []
    provider = scripted(asks(look("a")), "done", "again")
    agent = Agent(SEAT, provider=provider, tools=[tool()], on_event=events.append)
    async with agent:
        async with agent.stream("go") as answer:
            streamed = [event async for event in answer]
        *before_the_end, end = streamed
        assert before_the_end == events and isinstance(end, MessageEnded)
        await agent.send("again")
    assert isinstance(events[-1], ReplyReceived) and events[-1].reply.text == "again"


async def test_an_error_is_raised_by_the_iteration_and_the_message_can_be_resumed() -> None:
    async with Agent(SEAT, provider=scripted(ProviderError("away"), "done")) as agent:
        with pytest.raises(ProviderError, match="away"):
            async with agent.stream("go") as answer:
                async for _ in answer:
                    pass
        response = await agent.resume()
        assert response is not None and response.text == "done"
        with pytest.raises(RunError, match="write async with"):
            await agent.stream("again").response()


async def test_a_pause_ends_the_stream_and_resuming_tells_the_whole_message(
    tmp_path: Path,
) -> None:
    events: list[Event] = []
    agent = Agent(
        SEAT,
        provider=scripted(asks(look("a"), text="May I?"), "done"),
        tools=[tool(needs_approval=True)],
        at=Home(tmp_path, "t"),
    )
    async with agent:
        with pytest.raises(Paused) as paused:
            async with agent.stream("go") as answer:
                async for event in answer:
                    events.append(event)
        assert lines(events) == ["main said 'May I?', in pieces 'May I?'"]
        await approve(agent, paused.value)
    again = Agent(
        SEAT,
        provider=scripted("done"),
        tools=[tool(needs_approval=True)],
        at=Home(tmp_path, "t"),
    )
    assert lines(await heard(again)) == [
        "main said 'May I?', in pieces 'May I?'",
        "main calls look {'at': 'a'}",
        "main got saw a",
        "main said 'done', in pieces 'done'",
        "main ended answered: done",
    ]


async def test_a_stream_that_was_not_entered_says_so_instead_of_waiting_for_ever() -> None:
    script = ScriptedProvider({SEAT.name: ["First."]})
    async with Agent(SEAT, provider=script) as agent:
        with pytest.raises(RunError, match="it is not begun; write async with"):
            async for _ in agent.stream("go"):
                pass
    assert script.requests == []


def test_a_stream_without_asyncio_that_was_not_entered_says_so() -> None:
    with SyncAgent(Agent(SEAT, provider=ScriptedProvider({SEAT.name: ["First."]}))) as agent:
        answer = agent.stream("go")
        with pytest.raises(RunError, match="it is not begun"):
            next(answer)


async def test_a_stream_that_is_entered_twice_sends_nothing_again() -> None:
    script = ScriptedProvider({SEAT.name: ["First.", "Second."]})
    async with Agent(SEAT, provider=script) as agent:
        answer = agent.stream("go")
        async with answer:
            assert (await answer.response()).text == "First."
            with pytest.raises(RunError, match="stream: it was begun before; make another"):
                await answer.__aenter__()
        with pytest.raises(RunError, match="it was begun before"):
            async with answer:
                pass
        assert (await answer.response()).text == "First.", "the answer is still there"
        assert len(agent.history()) == 2
    assert len(script.requests) == 1


def test_a_stream_without_asyncio_is_entered_once_as_well() -> None:
    script = ScriptedProvider({SEAT.name: ["First.", "Second."]})
    with SyncAgent(Agent(SEAT, provider=script)) as agent:
        answer = agent.stream("go")
        with answer:
            assert answer.response().text == "First."
        with pytest.raises(RunError, match="it was begun before"), answer:
            pass
    assert len(script.requests) == 1


async def test_leaving_the_block_stops_the_message_and_resume_goes_on() -> None:
    began, forever = asyncio.Event(), asyncio.Event()

    async def run(at: str) -> str:
        began.set()
        if not forever.is_set():
            await forever.wait()
        return f"saw {at}"

    provider = scripted(asks(look("a")), "done", "next")
    async with Agent(SEAT, provider=provider, tools=[tool(run)]) as agent:
        async with agent.stream("go") as answer:
            async for event in answer:
                if isinstance(event, ToolCallStarted):
                    await began.wait()
                    break
        forever.set()
        response = await agent.resume()
        assert response is not None and response.text == "done"
        assert (await agent.send("next")).text == "next"


def test_code_without_asyncio_streams_as_well() -> None:
    events: list[Event] = []
    provider = scripted(asks(look("a")), "done", "more")
    with SyncAgent(Agent(SEAT, provider=provider, tools=[tool()])) as agent:
        with agent.stream("go") as answer:
            for event in answer:
                events.append(event)
            assert answer.response().text == "done"
        assert lines(events) == [
            "main said '', in pieces ''",
            "main calls look {'at': 'a'}",
            "main got saw a",
            "main said 'done', in pieces 'done'",
            "main ended answered: done",
        ]
        with agent.stream("more") as answer:
            next(answer)
        response = agent.resume()
        assert response is not None and response.text == "more"


# -- a real server, and a real SDK -----------------------------------------------------------------


async def test_the_first_piece_is_there_before_the_server_sends_the_second() -> None:
    dialect, received = OpenAI(), threading.Event()
    waited: list[bool] = []

    def answer(wire: Wire, _: Seen) -> None:
        wire.begin(dialect.stream_type)
        for frame in dialect.pieces([Text("The stock is low.")]):
            wire.chunk(frame)
            # After the first words, the server waits until the program has them.
            if b'"content": "The' in frame.replace(b'":"', b'": "'):
                waited.append(received.wait(20))
        wire.end()

    with LocalServer(answer) as server:
        provider = dialect.provider(server.url, seconds=30, stream=True)
        agent = Agent("You know the stock.", provider=provider)
        async with agent, agent.stream("How is the stock?") as stream:
            pieces = []
            async for event in stream:
                if isinstance(event, ReplyDelta) and event.text:
                    pieces.append(event.text)
                    received.set()
            response = await stream.response()
    assert waited == [True], "the server got no sign within 20 s"
    assert len(pieces) > 1 and "".join(pieces) == response.text == "The stock is low."


@pytest.mark.fence
def test_a_kill_in_the_middle_of_a_stream_costs_nothing_twice(tmp_path: Path) -> None:
    """The server holds its second reply back in the middle: there the process is killed."""
    dialect, bodies = OpenAI(), []
    log = tmp_path / "log.txt"

    def answer(wire: Wire, seen: Seen) -> None:
        bodies.append(seen.body)
        is_first = seen.body["messages"][-1]["role"] == "user"
        parts: list[Any] = [Text("There are 7 bolts.")]
        if is_first:
            parts = [ToolCallPart("c1", "count", {"item": "bolts"})]
        wire.begin(dialect.stream_type)
        for frame in dialect.pieces(parts):
            wire.chunk(frame)
            if not is_first and len(bodies) == 2 and b"There" in frame:
                wire.wait(20)
        wire.end()

    @tool_of(effect="once")
    def count(item: str) -> str:
        """Count."""
        with log.open("a") as out:
            out.write(f"counted {item}\n")
        return f"{item}: 7 left"

    async def program(url: str, *, kill: bool) -> None:
        provider = dialect.provider(url, seconds=30, stream=True)
        events = []
        home = Home(tmp_path / "w", "t")
        agent = Agent("Count.", provider=provider, tools=[count], at=home)
        async with agent, agent.stream("How many?") as stream:
            async for event in stream:
                events.append(event)
                if kill and isinstance(event, ReplyDelta) and event.text:
                    os.kill(os.getpid(), signal.SIGKILL)
        (tmp_path / "told.txt").write_text("\n".join(lines(events)))

    with LocalServer(answer) as server:
        url = server.url
        status = attempt(lambda: asyncio.run(program(url, kill=True)))
        assert os.WIFSIGNALED(status) and len(bodies) == 2
        assert attempt(lambda: asyncio.run(program(url, kill=False))) == 0
        resumed = (tmp_path / "told.txt").read_text()
        assert len(bodies) == 3, "only the reply that broke off is requested again"
        assert attempt(lambda: asyncio.run(program(url, kill=False))) == 0
    assert len(bodies) == 3, "what the journal has is not requested"
    assert log.read_text() == "counted bolts\n"
    assert (tmp_path / "told.txt").read_text() == resumed
    assert resumed.splitlines() == [
        "main said '', in pieces ''",
        "main calls count {'item': 'bolts'}",
        "main got bolts: 7 left",
        "main said 'There are 7 bolts.', in pieces 'There are 7 bolts.'",
        "main ended answered: There are 7 bolts.",
    ]


@pytest.mark.slow
@pytest.mark.fence
def test_after_a_kill_behind_any_record_the_stream_tells_the_same(tmp_path: Path) -> None:
    def program(folder: Path, failpoint: int) -> int:
        async def talk() -> None:
            _kill_after(failpoint)

            def reply(request: Request) -> Any:
                answers = SUB if request.role == "reader" else ANSWERS
                return answers[len(request.window.turns) // 2]

            agent = Agent(
                SEAT,
                provider=ScriptedProvider(reply),
                tools=[tool(), READER],
                at=Home(folder / "w", "t"),
            )
            (folder / "told.txt").write_text("\n".join(lines(await heard(agent))))

        return attempt(lambda: asyncio.run(talk()))

    def told(folder: Path) -> list[str]:
        return (folder / "told.txt").read_text().splitlines()

    whole = tmp_path / "whole"
    whole.mkdir()
    assert program(whole, 0) == 0
    failpoint, status = 0, 1
    while status != 0:
        failpoint += 1
        folder = tmp_path / str(failpoint)
        folder.mkdir()
        status = program(folder, failpoint)
        assert program(folder, 0) == 0
        assert told(folder) == told(whole), failpoint
    assert failpoint > 10
