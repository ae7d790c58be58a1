"""A program that goes on after an error is the same program when it runs again."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import Agent, Caps, Home
from transom.agent.left import left_from_json, left_to_json
from transom.errors import (
    AuthenticationFailed,
    ContextOverflow,
    NetworkFailed,
    Paused,
    ProviderError,
    RateLimited,
    RequestRefused,
    StoreError,
    TransomError,
    Unanswered,
)
from transom.llm import AssistantMessage, Request, ScriptedProvider, ToolResults, Turn, UserMessage
from transom.runs import Run, Workspace
from transom.store import SqliteStore, writer

STOP = "a stop while another one is answered"
DEAD = NetworkFailed("the line is dead", where="t", hint="look at the line")


class Line:
    """Answers what it is asked, but not while it is down."""

    def __init__(self, *down: str) -> None:
        self.down, self.asked = down, 0

    def __call__(self, request: Request) -> Any:
        said = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1]
        wants = said == "with a tool" and isinstance(request.window.turns[-1], UserMessage)
        if said in self.down and not wants:
            raise DEAD
        self.asked += 1
        return asks(look("it")) if wants else f"so {said}"


async def program(folder: Path, line: Line, *messages: str) -> tuple[list[str], list[Turn]]:
    """Says one thing after the other, whatever fails."""
    ended, turns = [], list[Turn]()
    async with Agent(SEAT, provider=ScriptedProvider(line), tools=[tool()], at=Home(folder, "t")) as agent:
        for message in messages:
            try:
                response = await agent.send(message)
                turns = list(response.turns)
                ended.append(response.text)
            except TransomError as error:
                ended.append(f"{type(error).__name__}: {error}")
    return ended, turns


@pytest.mark.parametrize("left", ["two", "with a tool"])
async def test_what_was_left_and_passed_by_stays_so(left: str, tmp_path: Path) -> None:
    first = await program(tmp_path, Line(left), "one", left, "three")
    assert first[0] == ["so one", f"NetworkFailed: {DEAD}", "so three"]
    for more in ([], ["four"], ["four", "five"]):
        line = Line()
        ended, turns = await program(tmp_path, line, "one", left, "three", *more)
        assert (ended[:3], turns[: len(first[1])], line.asked) == (*first, min(len(more), 1)), more


async def test_what_was_left_last_is_asked_again(tmp_path: Path) -> None:
    assert (await program(tmp_path, Line("two"), "one", "two"))[0][1] == f"NetworkFailed: {DEAD}"
    line = Line()
    assert (await program(tmp_path, line, "one", "two"))[0] == ["so one", "so two"]
    assert line.asked == 1


async def test_what_was_asked_again_and_answered_is_so(tmp_path: Path) -> None:
    line = Line("two")
    for life in range(2):
        async with Agent(SEAT, provider=ScriptedProvider(line), at=Home(tmp_path, "t")) as agent:
            if life == 0:
                with pytest.raises(NetworkFailed):
                    await agent.send("two")
                line.down = ()
                assert (await agent.go_on()).text == "so two"
            else:
                assert (await agent.send("two")).text == "so two"
            assert (await agent.send("three")).text == "so three"
    assert line.asked == 2


@pytest.mark.parametrize(
    "error",
    [
        DEAD,
        ProviderError("it broke", where="t", retryable=True),
        AuthenticationFailed("no key", where="t", hint="set it"),
        RateLimited("too much", where="t", retry_after=3.0, retryable=True),
        RequestRefused("no such model"),
        Unanswered("CancelledError", where="main"),
    ],
)
async def test_an_error_is_the_same_when_it_is_read_back(error: TransomError, tmp_path: Path) -> None:
    async with Agent(SEAT, provider=ScriptedProvider(Line()), at=Home(tmp_path, "t")) as agent:
        talk = await agent._life.open()
        again = left_from_json(left_to_json(error), talk)
        assert (type(again), str(again)) == (type(error), str(error))
        assert getattr(again, "retryable", None) == getattr(error, "retryable", None)
        assert left_to_json(again) == left_to_json(error)
        long = left_from_json(left_to_json(ContextOverflow("too long", needed=9, limit=3)), talk)
        assert (type(long), long.what) == (RequestRefused, "too long")


@pytest.mark.parametrize("left", ["a stop", "a cap", "an approval"])
async def test_whatever_left_it_it_stays_so(left: str, tmp_path: Path) -> None:
    """And what was done behind it is not done again."""
    done: list[str] = []
    slow = [left != "an approval"]

    async def answer(request: Request) -> Any:
        said = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1]
        if said == "one" and slow[0]:
            await asyncio.sleep(3_600)
        if said == "one":
            return asks(look("it", name="order"))
        return "two is done" if isinstance(request.window.turns[-1], ToolResults) else asks(look("it", name="pay"))

    async def pay(at: str) -> str:
        done.append(at)
        return "paid"

    async def life() -> list[str]:
        ended = list[str]()
        tools = [tool(pay, name="pay", effect="once"), tool(name="order", needs_approval=True)]
        caps = Caps(seconds=0.2) if left == "a cap" else Caps()
        provider = ScriptedProvider(answer)
        async with Agent(SEAT, provider=provider, tools=tools, at=Home(tmp_path, "t"), caps=caps) as agent:
            try:
                ended.append((await asyncio.wait_for(agent.send("one"), 0.3 if left == "a stop" else None)).ended)
            except (TimeoutError, Paused) as error:
                ended.append("late" if isinstance(error, TimeoutError) else "paused")
            agent.caps = Caps()
            response = await agent.send("two")
            ended.append(response.text)
            return [*ended, str(len(response.turns)), str(len(provider.requests))]

    first = await life()
    slow[0] = False  # today the server is quick
    assert first[:2] == [{"a stop": "late", "a cap": "seconds", "an approval": "paused"}[left], "two is done"]
    assert (await life())[:3] == first[:3]
    assert done == ["it"]


@pytest.mark.parametrize("by", [STOP, "a database that is full"])
async def test_what_was_kept_from_being_said_stays_without_an_answer(by: str, tmp_path: Path) -> None:
    """It is said before whatever comes next, in the order of the program."""
    asked, lives = list[str](), 0

    async def answer(request: Request) -> Any:
        asked.append([turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1])
        await asyncio.sleep(0.3 if asked == ["slow"] else 0)
        return f"so {asked[-1]}"

    async def life() -> tuple[list[str], list[Turn]]:
        ended = []
        async with Agent(SEAT, provider=ScriptedProvider(answer), at=Home(tmp_path, "t")) as agent:
            slow = asyncio.create_task(agent.send("slow"))
            await asyncio.sleep(0.05)
            talk = agent._life.talk
            assert talk is not None
            tell = talk.stage.tell

            async def full(conversation: str, told: Any) -> None:
                raise StoreError(f"the disk is full: {conversation}, {told}")

            for message in ("one", "one", "two", "three"):
                talk.stage.tell = full if message == "one" and by != STOP and lives == 1 else tell  # type: ignore[method-assign]  # the store is full then
                try:
                    seconds = 0.05 if message == "one" and by == STOP else 60
                    ended.append((await asyncio.wait_for(agent.send(message), seconds)).text)
                except (TimeoutError, StoreError):
                    ended.append("left")
            await slow
            turns = (await agent.send("end")).turns
        return ended, list(turns)

    for lives in (1, 2, 3):
        ended, turns = await life()
        assert ended == ["left", "left", "so two", "so three"], lives
        said = [turn.text for turn in turns if isinstance(turn, UserMessage)]
        assert said == ["slow", "one", "one", "two", "three", "end"], lives
    assert asked == ["slow", "two", "three", "end"]


async def test_what_is_gone_on_with_or_said_again_was_not_given_up(tmp_path: Path) -> None:
    asked = list[str]()

    async def answer(request: Request) -> Any:
        asked.append([turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1])
        await asyncio.sleep(0.2 if asked == ["slow"] else 0)
        return f"so {asked[-1]}"

    async with Agent(SEAT, provider=ScriptedProvider(answer), at=Home(tmp_path, "t")) as agent:
        slow = asyncio.create_task(agent.send("slow"))
        await asyncio.sleep(0.05)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(agent.send("one"), 0.02)
        assert (await agent.send("one")).text == "so one"
        again = asyncio.create_task(agent.send("two"))
        await asyncio.sleep(0)
        again.cancel()
        await slow
        with pytest.raises(asyncio.CancelledError):
            await again
        response = await agent.go_on()
    assert response.text == "so two"
    assert [turn.text for turn in response.turns if isinstance(turn, UserMessage)] == ["slow", "one", "two"]


async def test_an_answer_that_came_together_with_a_stop_counts_and_is_not_handed_out_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for, and stands in the conversation; the message ends as it did."""
    monkeypatch.setattr(writer, "PROVEN", math.inf)  # the thread commits, while the task waits
    asked = list[str]()

    def answer(request: Request) -> str:
        asked.append([turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1])
        return f"so {asked[-1]}"

    lives, loop = list[tuple[list[str], list[Turn], int]](), asyncio.get_running_loop()
    for life in range(3):
        ended = []
        task: list[asyncio.Task[Any] | None] = [None]

        def hear(record: int, task: list[asyncio.Task[Any] | None] = task) -> None:
            if record == 3 and task[0]:  # the reply
                loop.call_soon_threadsafe(task[0].cancel)

        store = SqliteStore.open(Workspace.at(tmp_path).database, after_append=hear)
        async with store:
            home = Home(tmp_path, "t", store)
            async with Agent(SEAT, provider=ScriptedProvider(answer), at=home) as agent:
                for message in ("one", "two"):
                    task[0] = asyncio.create_task(agent.send(message)) if life == 0 and message == "one" else None
                    try:
                        ended.append((await (task[0] or agent.send(message))).text)
                    except (asyncio.CancelledError, Unanswered):
                        ended.append("left")
                    task[0] = None
                talk = agent._life.talk
                assert talk is not None
                lives.append((ended, list(talk.turns), agent.context().input_tokens))
    assert lives[0][0] == ["left", "so two"]
    assert [type(turn) for turn in lives[0][1]] == [UserMessage, AssistantMessage, UserMessage, AssistantMessage]
    assert lives[1:] == lives[:1] * 2
    assert asked == ["one", "two"]


@pytest.mark.parametrize("caps", [Caps(), Caps(seconds=60)], ids=["no cap", "seconds"])
async def test_a_stop_that_comes_together_with_a_reply_is_heard(caps: Caps) -> None:
    """Nothing that the reply asks for is done."""
    paid, loop = list[str](), asyncio.get_running_loop()

    async def answer(_: Request) -> Any:
        await asyncio.sleep(0.01)
        loop.call_soon(going.cancel)
        return asks(look("rent", name="pay"))

    async def pay(at: str) -> str:
        paid.append(at)
        return "paid"

    tools = [tool(pay, name="pay", effect="once")]
    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, caps=caps) as agent:
        going = asyncio.create_task(agent.send("pay the rent"))
        with pytest.raises(asyncio.CancelledError):
            await going
    assert not paid


@pytest.mark.parametrize("ends", ["with an answer", "with a pause"])
async def test_a_stop_that_comes_as_a_message_is_over_is_its_end_in_later_lives(
    ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had its answer, or waited for a person, and its last records were on their way to the journal."""
    asked, settle = list[str](), Run.settle

    def answer(request: Request) -> Any:
        asked.append([turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1])
        return asks(look("it", name="order")) if (asked[-1], ends) == ("one", "with a pause") else f"so {asked[-1]}"

    async def slow(run: Run) -> None:
        await asyncio.sleep(3_600 if asked == ["one"] else 0)
        await settle(run)

    monkeypatch.setattr(Run, "settle", slow)
    lives = []
    for life in range(3):
        ended, tools = list[str](), [tool(name="order", needs_approval=True)]
        async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(tmp_path, "t")) as agent:
            for message in ("one", "two"):
                try:
                    ended.append((await asyncio.wait_for(agent.send(message), 60 if life else 0.3)).text)
                except TimeoutError:
                    ended.append("late")
            talk = agent._life.talk
            assert talk is not None
            lives.append((ended, list(talk.turns)))
    assert lives[0][0] == ["late", "so two"]
    assert lives[1:] == lives[:1] * 2
    assert asked == ["one", "two"]
