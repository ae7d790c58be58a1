"""What the handler of a tool opens is its call's: a call that comes to no outcome finds it when it is tried again."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.agent.world import ORDER, PAY, World, came, rounds, text
from transom.agent import Agent, Home, Response
from transom.errors import ApprovalNeeded, NetworkFailed, Paused, ToolExecutionError
from transom.llm import Chain, Request, ScriptedProvider, Usage, UserMessage
from transom.llm.codec import reply_from_json
from transom.runs import ApprovalRequest, Run, Stage, Workspace, text_file
from transom.tools import ToolLimits


async def test_an_approval_inside_goes_on_where_it_was(tmp_path: Path) -> None:
    world = World()
    answer = world.answers(asks(look("it")), text("end"), sub=[asks(PAY), asks(ORDER), text("found it")])
    tools = [tool(world.look), *world.tools(needs_approval=True)]
    async with world.live(tmp_path, answer, tools) as talking:
        with pytest.raises(ApprovalNeeded) as waits:
            await talking.send("go")
        assert world.done == {"pay rent": 1}
        assert isinstance(waits.value.request, ApprovalRequest)
        await talking.decide(waits.value.request.approve(by="ann"))
        response = await talking.go_on()
        assert response.text == "end"
        assert world.done == {"pay rent": 1, "order bolts": 1}
        assert len(world.requests) == 6  # the sub-conversation is asked twice before its approval, twice behind it
    async with world.live(tmp_path, answer, tools) as talking:
        resumed = await talking.resume()
        assert resumed is not None
        assert (resumed.text, resumed.turns, resumed.usage) == ("end", response.turns, response.usage)
    assert (world.done, len(world.requests)) == ({"pay rent": 1, "order bolts": 1}, 6)


async def test_a_stop_inside_goes_on_where_it_was_and_what_it_used_counts_once(tmp_path: Path) -> None:
    world, waiting = World(), asyncio.Event()
    answers = world.answers(asks(look("it")), text("end"), sub=[asks(PAY), text("found it")])

    async def answer(request: Request) -> Any:
        if request.role.endswith(".sub") and rounds(request) == 1 and not waiting.is_set():
            waiting.set()
            await asyncio.sleep(3_600)
        return answers(request)

    provider = ScriptedProvider(answer)
    world.agent = Agent(SEAT, provider=provider, tools=[tool(world.look), *world.tools()], at=Home(tmp_path, "t"))
    async with world.agent as talking:
        sending = asyncio.create_task(talking.send("go"))
        await waiting.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        response = await talking.go_on()
        assert (response.text, world.tries, world.done) == ("end", 2, {"pay rent": 1})
        assert len(world.requests) == 5
        mine = [request.role for request in provider.requests]
        assert mine.count("t.seat.sub") == 4, mine  # one of them was stopped
    async with world.live(tmp_path, answers, [tool(world.look), *world.tools()]) as talking:
        resumed = await talking.resume()
        assert resumed is not None
        assert resumed.usage == response.usage
        assert resumed.usage.input_tokens > 0


async def test_calls_at_once_with_one_purpose_keep_their_own(tmp_path: Path) -> None:
    """One of them comes to its end, and the other one fails until the next life."""
    world, down = World(), [True]

    def answer(request: Request) -> Any:
        if request.role == SEAT.name:
            return text("end") if rounds(request) else asks(look("bolts", "1"), look("nuts", "2"))
        asked = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)]
        if "nuts" in asked[0] and rounds(request) and down[0]:
            raise NetworkFailed("the line is dead", where="t")
        if not rounds(request):
            return asks(look(asked[0], name="pay"))
        return text(f"saw {asked[0]}")

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        try:
            return (await sub.send(f"Look at {at}.")).text
        except NetworkFailed as error:
            raise Paused("later", run_id="t") from error  # what leaves a handler, and is no result

    tools = [tool(handler), *world.tools()]
    async with world.live(tmp_path, answer, tools) as talking:
        with pytest.raises(Paused):
            await talking.send("go")
        with pytest.raises(Paused):  # nuts' call alone is tried again
            await talking.go_on()
    down[0] = False
    async with world.live(tmp_path, answer, tools) as talking:
        response = await talking.resume()
        assert response is not None
        assert came(response.turns) == ["saw Look at bolts.", "saw Look at nuts."]
    assert world.done == {"pay Look at bolts.": 1, "pay Look at nuts.": 1}


async def test_an_equal_call_goes_on_with_what_ran_out_of_its_time(tmp_path: Path) -> None:
    world, slow = World(), [True]
    answers = world.answers(asks(look("it")), asks(look("it")), text("end"), sub=[asks(PAY), text("found it")])

    async def answer(request: Request) -> Any:
        if request.role.endswith(".sub") and rounds(request) and slow[0]:
            slow[0] = False
            await asyncio.sleep(3_600)
        return answers(request)

    tools = [tool(world.look, limits=ToolLimits(seconds=0.5)), *world.tools()]
    async with world.live(tmp_path, answer, tools) as talking:
        response = await talking.send("go")
        assert response.text == "end"
        assert came(response.turns)[1] == "found it"
        assert len(talking.conversation().sub_conversations) == 1  # type: ignore[union-attr]  # something was said
    assert world.done == {"pay rent": 1}
    async with world.live(tmp_path, answer, tools) as talking:
        resumed = await talking.resume()
        assert resumed is not None and resumed.turns == response.turns


@pytest.mark.parametrize("where", ["a handler that fails", "another conversation"])
async def test_what_was_done_in_what_was_left_is_in_doubt_everywhere(where: str, tmp_path: Path) -> None:
    world = World()

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        await sub.send(f"Look at {at}.")
        raise ToolExecutionError("it cannot be read")

    then = asks(look("it", "2")) if where == "a handler that fails" else asks(PAY)
    answer = world.answers(asks(look("it")), then, text("end"), sub=[asks(PAY), text("found it")])
    tools = [tool(handler), *world.tools()]
    async with world.live(tmp_path, answer, tools) as talking:
        with pytest.raises(Paused, match="tool pay was carried out before"):
            await talking.send("go")
    async with world.live(tmp_path, answer, tools) as talking:
        with pytest.raises(Paused, match="tool pay was carried out before"):
            await talking.resume()
    assert world.done == {"pay rent": 1}


async def test_what_ran_out_of_its_time_in_a_sub_conversation_is_in_doubt_everywhere(tmp_path: Path) -> None:
    world = World()

    async def pay(at: str) -> str:
        world.done[f"pay {at}"] += 1
        await asyncio.sleep(3_600)
        return at

    answer = world.answers(asks(look("it")), asks(PAY), text("end"), sub=[asks(PAY), text("found it")])
    slow = tool(pay, name="pay", effect="once", limits=ToolLimits(seconds=0.05))
    for begin in ("send", "resume"):
        async with world.live(tmp_path, answer, [tool(world.look), slow]) as talking:
            with pytest.raises(Paused, match="tool pay was begun"):
                await (talking.send("go") if begin == "send" else talking.resume())
    assert world.done == {"pay rent": 1}


async def test_a_handler_that_says_something_else_the_second_time_is_no_dead_end(tmp_path: Path) -> None:
    """What was done by what is void now is in doubt, and a person is asked."""
    world, stopped = World(), [True]

    async def handler(at: str) -> str:
        world.tries += 1
        sub = await world.agent.create_sub_conversation("Look into it.")
        said = await sub.send(f"Look at {at}, for the {world.tries}. time.")
        if stopped[0]:
            raise Paused("later", run_id="t")
        return said.text

    answer = world.answers(asks(look("it")), text("end"), sub=[asks(PAY), text("found it")])
    tools = [tool(handler), *world.tools()]
    async with world.live(tmp_path, answer, tools) as talking:
        with pytest.raises(Paused, match="later"):
            await talking.send("go")
        stopped[0] = False
        with pytest.raises(Paused, match="tool pay was carried out before"):
            await talking.go_on()
    assert world.done == {"pay rent": 1}


async def test_a_handler_may_talk_in_what_the_program_opened(tmp_path: Path) -> None:
    """What it said before it was stopped is not said again, in this life or in the next one."""
    for lives in (1, 2):
        world, folder = World(), tmp_path / str(lives)
        said = [asks(PAY), asks(ORDER), text("found it")]
        answer = world.answers(asks(look("it")), text("end"), sub=said)
        other: list[Agent] = []

        async def handler(at: str, other: list[Agent] = other) -> str:
            return (await other[0].send(f"Look at {at}.")).text

        tools = [tool(handler), *world.tools(needs_approval=True)]
        async with world.live(folder, answer, tools) as talking:
            other[:] = [await talking.create_sub_conversation("Know things.")]
            with pytest.raises(ApprovalNeeded) as waits:
                await talking.send("go")
            assert isinstance(waits.value.request, ApprovalRequest)
            await talking.decide(waits.value.request.approve(by="ann"))
            response: Response | None = await talking.go_on() if lives == 1 else None
        if lives == 2:
            async with world.live(folder, answer, tools) as talking:
                other[:] = [await talking.create_sub_conversation("Know things.")]
                await other[0].resume()
                response = await talking.resume()
        assert response is not None
        assert (response.text, came(response.turns)) == ("end", ["found it"])
        assert (world.done, len(world.requests)) == ({"pay rent": 1, "order bolts": 1}, 5)


async def test_a_handler_may_say_the_same_twice(tmp_path: Path) -> None:
    world = World()
    answer = world.answers(asks(look("it")), text("end"), sub=[text("found it")])
    other: list[Agent] = []

    async def handler(at: str) -> str:
        first, second = await other[0].send(at), await other[0].send(at)
        return f"{len(first.turns)}, then {len(second.turns)}"

    async with world.live(tmp_path, answer, [tool(handler)]) as talking:
        other.append(await talking.create_sub_conversation("Know things."))
        assert came((await talking.send("go")).turns) == ["2, then 4"]


async def test_in_a_stage_calls_at_once_keep_their_own_whichever_comes_first(tmp_path: Path) -> None:
    """The code runs again with the other order of events; what was used counts once."""
    world = World()
    stopped, used = [True], list[tuple[Usage, Usage]]()

    def answer(request: Request) -> Any:
        world.requests.append(request.role)
        if request.role == SEAT.name:
            return text("end") if rounds(request) else asks(look("bolts", "1"), look("nuts", "2"))
        asked = next(turn.text for turn in request.window.turns if isinstance(turn, UserMessage))
        return text(f"saw {asked}") if rounds(request) else asks(look(asked, name="pay"))

    async def work(at: Stage) -> str:
        later = asyncio.Event()

        async def handler(what: str) -> str:
            if what == ("nuts" if stopped[0] else "bolts"):
                await later.wait()
            sub = await world.agent.create_sub_conversation("Look into it.")
            later.set()
            said = await sub.send(what)
            if stopped[0]:
                raise Paused("later", run_id=at.host.id)
            return said.text

        async with Agent(SEAT, at=at, tools=[tool(handler), *world.tools()]) as world.agent:
            if not stopped[0]:
                response = await world.agent.send("go")
            else:
                with pytest.raises(Paused):
                    await world.agent.send("go")
                stopped[0] = False
                later.clear()
                response = await world.agent.go_on()
                stopped[0] = True
            replies = [reply_from_json(reply) for _, reply in at.replies_within("main")]
            used.append((at.usage, sum((reply.usage for reply in replies), Usage())))
        if stopped[0]:
            stopped[0] = False
            raise Paused("later", run_id=at.host.id)
        return ", ".join(came(response.turns))

    workspace = Workspace.at(tmp_path)
    for _ in range(2):
        async with workspace.open_store() as store:
            chain = Chain((ScriptedProvider(answer),))
            run = await Run.open("test", {}, name="x", workspace=workspace, store=store, chain=chain)
            async with run:
                with contextlib.suppress(Paused):
                    left = await run.stage("talk", work, out=text_file("talk.md"), reuse=False)
    assert left.value == "saw bolts, saw nuts"
    assert (world.done, len(world.requests)) == ({"pay bolts": 1, "pay nuts": 1}, 6)
    assert used[0][0] == used[0][1]


async def test_what_a_call_left_open_is_waited_for_no_longer_than_the_call(tmp_path: Path) -> None:
    world = World()

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        try:
            await sub.send(f"Look at {at}.")
        except NetworkFailed:
            return "nothing"
        raise AssertionError

    answer = world.answers(asks(look("it")), text("end"), sub=[NetworkFailed("the line is dead", where="t")])
    async with world.live(tmp_path, answer, [tool(handler)]) as talking:
        assert (await talking.send("go")).text == "end"
    assert await Home.unfinished(tmp_path, SEAT) == []
