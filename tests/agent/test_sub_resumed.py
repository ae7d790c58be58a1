"""Sub-conversations that a program opened are found again, and gone on with, whatever cut them off."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.forked import attempt
from transom.agent import Agent, Home, SyncAgent
from transom.agent.models import SubConversation
from transom.errors import NetworkFailed, RunError
from transom.llm import Reply, Request, ScriptedProvider


def both(main: list[object], sub: list[object]) -> ScriptedProvider:
    return ScriptedProvider({SEAT.name: main, f"{SEAT.name}.sub": sub})  # type: ignore[dict-item]  # what it takes


async def unfinished(root: Path) -> list[str]:
    return [home.name for home in await Home.unfinished(root, SEAT)]


async def test_resuming_one_in_which_nothing_was_said_says_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        async with Agent(SEAT, provider=both(["a"], []), at=Home(tmp_path, "t")) as agent:
            await agent.send("Well?")
            sub = await agent.create_sub_conversation("what is there")
            assert await sub.resume() is None
        assert await unfinished(tmp_path) == []


def test_one_that_a_kill_cut_off_is_found_and_goes_on(tmp_path: Path) -> None:
    did: list[str] = []

    async def note(at: str) -> str:
        did.append(at)
        return at

    kept = tool(note, effect="once")

    def answer(request: Request) -> Reply | str:
        if request.role == SEAT.name:
            return "yes"
        if len(request.window.turns) > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return asks(look("a"))

    async def begin() -> None:
        async with Agent(SEAT, provider=ScriptedProvider(answer), tools=[kept], at=Home(tmp_path, "t")) as agent:
            await agent.send("Well?")
            await (await agent.create_sub_conversation("what is there")).send("Look.")

    async def go_on() -> None:
        assert await unfinished(tmp_path) == ["t"]
        provider = both([], ["it is there", "summed up"])
        async with Agent(SEAT, provider=provider, tools=[kept], at=Home(tmp_path, "t")) as agent:
            await agent.resume()
            sub = await agent.create_sub_conversation("what is there")
            last = await sub.resume()
            assert last is not None
            assert last.text == "it is there"
            assert [message.role for message in sub.history()] == ["user", "assistant", "user", "assistant"]
            assert (await agent.complete_sub_conversation(sub.id)).text == "summed up"
        assert (len(provider.requests), did) == (2, []), "nothing journaled is asked for or done again"
        assert await unfinished(tmp_path) == []

    assert os.WIFSIGNALED(attempt(lambda: asyncio.run(begin())))
    asyncio.run(go_on())


async def test_those_that_are_open_are_opened_again_and_the_completed_are_not(tmp_path: Path) -> None:
    home = Home(tmp_path, "t")
    async with Agent(SEAT, provider=both(["a"], ["one", "two", "three", "sum"]), at=home) as agent:
        await agent.send("Well?")
        subs = [await agent.create_sub_conversation(purpose) for purpose in ("same", "same", "other")]
        for sub in subs:
            await sub.send(f"Look, {sub.id}.")
        await agent.complete_sub_conversation(subs[1].id)
    async with Agent(SEAT, provider=both([], []), at=home) as agent:
        await agent.resume()
        again = [await agent.create_sub_conversation(purpose) for purpose in ("same", "new", "other")]
        said = [await sub.resume() for sub in again]
    assert [response and response.text for response in said] == ["one", None, "three"]
    assert [sub.id for sub in again[::2]] == [subs[0].id, subs[2].id]
    assert subs[1].id == f"{subs[0].id}#2"
    async with Agent(SEAT, provider=both([], []), at=home) as agent:
        await agent.resume()
        again = [await agent.create_sub_conversation(purpose) for purpose in ("same", "other")]
        said = [await sub.resume() for sub in again]
    assert [response and response.text for response in said] == ["one", "three"]


@pytest.mark.parametrize("replies", [["sum"], [NetworkFailed("cut")]], ids=["a summary", "lines"])
async def test_one_that_is_completed_stays_as_it_is(tmp_path: Path, replies: list[object]) -> None:
    found: list[object] = []
    home = Home(tmp_path, "t")
    for life, sub_says in enumerate((["one", *replies], [])):
        provider = both(["a", "b"] if life == 0 else [], sub_says)
        async with Agent(SEAT, provider=provider, at=home) as agent:
            await agent.send("Well?")
            sub = await agent.create_sub_conversation("what is there")
            if life == 0:
                await sub.send("Look.")
            else:
                assert await sub.resume()
                with pytest.raises(
                    RunError,
                    match=r"it is completed, .*complete_sub_conversation hands back its summary",
                ):
                    await sub.send("More.")
            found.append(await agent.complete_sub_conversation(sub.id))
            assert (await agent.send("So?")).text == "b"
            assert isinstance(agent.conversation(sub.id), SubConversation)
    assert found[0] == found[1]


async def test_one_that_was_cut_off_while_it_summed_up_has_its_summary_asked_for_once(tmp_path: Path) -> None:
    class Stopped(BaseException):
        pass

    def stop(request: Request) -> Reply | str:
        if len(request.window.turns) > 1:
            raise Stopped
        return "one"

    with pytest.raises(Stopped):
        async with Agent(SEAT, provider=ScriptedProvider(stop), at=Home(tmp_path, "t")) as agent:
            sub = await agent.create_sub_conversation("what is there")
            await sub.send("Look.")
            await agent.complete_sub_conversation(sub.id)
    assert await unfinished(tmp_path) == ["t"]
    provider = both([], ["sum"])
    async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t")) as agent:
        sub = await agent.create_sub_conversation("what is there")
        await sub.resume()
        assert (await agent.complete_sub_conversation(sub.id)).text == "sum"
    assert len(provider.requests) == 1


def test_the_plain_door_resumes_one_too(tmp_path: Path) -> None:
    for says in (["one"], []):
        with SyncAgent(Agent(SEAT, provider=both([], [*says]), at=Home(tmp_path, "t"))) as agent:
            sub = agent.create_sub_conversation("what is there")
            last = sub.send("Look.") if says else sub.resume()
            assert last is not None
            assert last.text == "one"
