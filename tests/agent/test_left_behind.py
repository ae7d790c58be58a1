"""What one call left in the middle, and what the next one makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.agent.world import PAY, World, came, rounds, text
from transom.agent import Agent, Home, Response
from transom.errors import ApprovalNeeded, Paused, RunError, ToolExecutionError
from transom.llm import Reply, Request, ScriptedProvider, ToolResults, UserMessage
from transom.runs import ApprovalRequest
from transom.tools import ToolLimits


def background(request: Request) -> str:
    return next(block.text for block in request.window.blocks if block.name == "background")


async def test_an_equal_call_finds_each_of_several_by_what_it_knew(tmp_path: Path) -> None:
    """One of them was completed before the time ran out: it is neither asked nor told again."""
    world, slow = World(), [True]

    async def handler(at: str) -> str:
        found = []
        for item in at.split():
            sub = await world.agent.create_sub_conversation("Look into it.", f"the item is {item}")
            await sub.send("Go on.")
            found.append((await world.agent.complete_sub_conversation(sub.id)).text)
        return "; ".join(found)

    async def answer(request: Request) -> Any:
        world.requests.append(request.role)
        if request.role == SEAT.name:
            return text("end") if rounds(request) == 2 else asks(look("bolts nuts"))
        item = background(request).removeprefix("the item is ")
        if str(request.window.turns[-1]).find("sum up") >= 0:
            if item == "nuts" and slow[0]:
                slow[0] = False
                await asyncio.sleep(3_600)
            return text(f"paid {item}")
        return text("well") if rounds(request) else asks(look(item, name="pay"))

    tools = [tool(handler, limits=ToolLimits(seconds=0.6)), *world.tools()]
    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(tmp_path, "t")) as world.agent:
        response = await world.agent.send("go")
        assert came(response.turns)[1] == "paid bolts; paid nuts"
    assert (world.done, len(world.requests)) == ({"pay bolts": 1, "pay nuts": 1}, 10)
    said = [turn.text for turn in response.turns if isinstance(turn, UserMessage)]
    assert [sum(f"paid {item}" in one for one in said) for item in ("bolts", "nuts")] == [1, 1]
    for again in ("the same program", "one that resumes"):
        async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(tmp_path, "t")) as world.agent:
            resumed = await (world.agent.resume() if again == "one that resumes" else world.agent.send("go"))
            assert resumed is not None
            assert resumed.turns == response.turns, again
    assert len(world.requests) == 10


async def test_what_was_taken_over_is_done_with(tmp_path: Path) -> None:
    """Of a tool whose equal calls are each carried out: only the first one goes on with what was left."""
    world, slow = World(), [True]

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        return (await sub.send(at)).text

    async def answer(request: Request) -> Any:
        if request.role == SEAT.name:
            asked = sum(isinstance(turn, UserMessage) for turn in request.window.turns)
            return text("end") if rounds(request) > asked else asks(look("it"))
        world.requests.append(request.role)
        if slow[0]:
            slow[0] = False
            await asyncio.sleep(3_600)
        return text(f"status {len(world.requests)}")

    tools = [tool(handler, fresh=True, limits=ToolLimits(seconds=0.6))]
    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(tmp_path, "t")) as world.agent:
        for number in range(3):
            response = await world.agent.send(f"go {number}")
    assert came(response.turns)[1:] == ["status 2", "status 3", "status 4"]


@pytest.mark.parametrize("lives", [1, 2])
async def test_what_was_begun_and_stopped_elsewhere_is_in_doubt(lives: int, tmp_path: Path) -> None:
    world, begun = World(), asyncio.Event()

    async def pay(at: str) -> str:
        world.done[f"pay {at}"] += 1
        begun.set()
        await asyncio.sleep(3_600)
        return at

    answer = world.answers(asks(PAY), text("end"), sub=[asks(PAY), text("found it")])
    tools = [tool(pay, name="pay", effect="once")]
    async with world.live(tmp_path, answer, tools) as talking:
        sub = await talking.create_sub_conversation("Pay it.")
        sending = asyncio.create_task(sub.send("Pay."))
        await begun.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        if lives == 1:
            with pytest.raises(Paused, match="tool pay was begun"):
                await talking.send("then you pay it")
    if lives == 2:
        async with world.live(tmp_path, answer, tools) as talking:
            with pytest.raises(Paused, match="tool pay was begun"):
                await talking.send("then you pay it")
    assert world.done == {"pay rent": 1}


async def test_equal_calls_that_are_under_way_at_once_are_no_doubt(tmp_path: Path) -> None:
    world, both = World(), asyncio.Barrier(2)

    async def pay(at: str) -> str:
        world.done[f"pay {at}"] += 1
        await both.wait()
        return f"paid {at}"

    def answer(request: Request) -> Reply:
        return text("end") if rounds(request) else asks(PAY)

    async with world.live(tmp_path, answer, [tool(pay, name="pay", effect="once")]) as talking:
        subs = [await talking.create_sub_conversation(f"Pay part {number}.") for number in range(2)]
        assert [one.text for one in await asyncio.gather(*(sub.send("Pay.") for sub in subs))] == ["end", "end"]
    assert world.done == {"pay rent": 2}


async def test_a_person_who_has_it_done_again_settles_the_doubt(tmp_path: Path) -> None:
    world, slow = World(), [True]

    async def pay(at: str) -> str:
        world.done[f"pay {at}"] += 1
        if slow[0]:
            slow[0] = False
            await asyncio.sleep(3_600)
        return f"paid {at}"

    def answer(request: Request) -> Reply:
        return text("end") if rounds(request) % 2 else asks(PAY)

    tools = [tool(pay, name="pay", effect="once", fresh=True, limits=ToolLimits(seconds=0.1))]
    async with world.live(tmp_path, answer, tools) as talking:
        sub = await talking.create_sub_conversation("Pay it.")
        await sub.send("Pay.")
        with pytest.raises(Paused):
            await talking.send("Pay.")
        run = talking._life.desk.run  # type: ignore[union-attr]  # it is open
        assert run is not None
        await run.decide("redo")
        assert (await talking.go_on()).text == "end"
        other = await talking.create_sub_conversation("Pay once more.")
        assert (await other.send("Pay.")).text == "end"
    assert world.done == {"pay rent": 3}


def both(request: Request) -> Any:
    """A sub-conversation pays for what it was asked for, and orders it; the conversation itself makes one call."""
    if request.role == SEAT.name:
        return text("end") if rounds(request) else asks(look("bolts nuts"))
    item = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1]
    return [asks(look(item, name="pay")), asks(look(item, name="order")), text(f"{item} well")][min(rounds(request), 2)]


async def test_two_of_one_purpose_are_found_again_in_their_order(tmp_path: Path) -> None:
    world = World()

    async def handler(at: str) -> str:
        subs = [await world.agent.create_sub_conversation("Look into it.") for _ in at.split()]
        return ", ".join([(await sub.send(item)).text for sub, item in zip(subs, at.split(), strict=True)])

    tools = [tool(handler), *world.tools(needs_approval=True)]
    async with world.live(tmp_path, both, tools) as talking:
        response = await approving(talking, talking.send("go"))
    assert came(response.turns) == ["bolts well, nuts well"]
    assert world.done == {f"{does} {item}": 1 for does in ("pay", "order") for item in ("bolts", "nuts")}


async def approving(agent: Agent, work: Awaitable[Response]) -> Response:
    for _ in range(4):
        try:
            return await work
        except ApprovalNeeded as waits:
            assert isinstance(waits.request, ApprovalRequest)
            await agent.decide(waits.request.approve(by="ann"))
            work = agent.go_on()
    raise AssertionError("it comes to no end")


@pytest.mark.parametrize("at_once", ["gather", "group"])
async def test_what_a_handler_does_at_once_is_stopped_with_its_call(at_once: str, tmp_path: Path) -> None:
    """One of two waits for a person; the other one, which is under way, is neither asked nor done twice."""
    world = World()

    async def one(item: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.", item)
        return (await sub.send(item)).text

    async def handler(at: str) -> str:
        if at_once == "gather":
            return ", ".join(await asyncio.gather(*map(one, at.split())))
        async with asyncio.TaskGroup() as group:
            found = [group.create_task(one(item)) for item in at.split()]
        return ", ".join(task.result() for task in found)

    tools = [tool(handler), *world.tools(needs_approval=True)]
    async with world.live(tmp_path, both, tools) as talking:
        response = await approving(talking, talking.send("go"))
    assert came(response.turns) == ["bolts well, nuts well"]
    assert world.done == {f"{does} {item}": 1 for does in ("pay", "order") for item in ("bolts", "nuts")}


@pytest.mark.parametrize("how", ["fails", "runs out of its time", "is stopped"])
async def test_what_a_failed_call_began_ends_with_it_whatever_stood_open_in_it(how: str, tmp_path: Path) -> None:
    """A task has a floor, and had a second one; another waits for the first; a third comes when the call is over."""
    world, tasks, asking = World(), list[asyncio.Task[Any]](), asyncio.Event()

    async def later(sub: Agent) -> Any:
        await asyncio.sleep(0.4)
        return await sub.send("later")

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        begun = [asyncio.create_task(one) for one in (sub.send(at), sub.send("next"), later(sub))]
        tasks.extend(begun)
        if how == "fails":
            await asking.wait()
            raise ValueError("no")
        await asyncio.wait(begun)
        return str(begun[0].result().text)

    async def deeper(at: str) -> str:
        inner = await (await world.agent.create_sub_conversation("Dig.")).send(at)
        return inner.text

    async def answer(request: Request) -> Any:
        world.requests.append(request.role)
        if request.role == SEAT.name:
            return text("end") if rounds(request) or "stopped" in str(request.window.turns) else asks(look("bolts"))
        said = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1]
        if said == "deep":
            return text("dug")
        if rounds(request) == 0:
            return asks(look("deep", name="dig"))
        asking.set()
        await asyncio.sleep(0.2)
        return asks(look(said, ident=f"fresh{len(world.requests)}", name="pay"))

    tools = [tool(handler, limits=ToolLimits(seconds=0.1)), tool(deeper, name="dig"), *world.tools()]
    if how != "runs out of its time":
        tools[0] = tool(handler)
    async with world.live(tmp_path, answer, tools) as talking:
        sending = asyncio.create_task(talking.send("go"))
        if how == "is stopped":
            await asking.wait()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            usage = (await talking.send("stopped")).usage
        else:
            usage = (await sending).usage
        count = len(world.requests)
        await asyncio.wait(tasks)
        assert all(one.cancelled() or one.exception() for one in tasks)
        with pytest.raises(RunError, match="what it began ends with it"):
            await tasks[2]
        assert (world.done, len(world.requests)) == ({}, count), "nothing is paid for behind it"
        assert talking.context().input_tokens == usage.input_tokens


async def test_what_has_said_its_say_is_let_be_when_the_call_fails(tmp_path: Path) -> None:
    """Only what is said ends with a failed call: who has the answer already writes it down."""
    world, written, tasks = World(), list[str](), list[asyncio.Task[None]]()

    async def writes(sub: Agent, said: asyncio.Event) -> None:
        found = (await sub.send("What is it?")).text
        said.set()
        await asyncio.sleep(0.05)
        written.append(found)

    async def handler(at: str) -> str:
        del at
        sub, said = await world.agent.create_sub_conversation("Look into it."), asyncio.Event()
        tasks.append(asyncio.create_task(writes(sub, said)))
        await said.wait()
        raise ValueError("no")

    answer = world.answers(asks(look("bolts")), text("end"), sub=[text("found it")])
    async with world.live(tmp_path, answer, [tool(handler)]) as talking:
        assert (await talking.send("go")).text == "end"
        await asyncio.wait(tasks)
    assert written == ["found it"]


@pytest.mark.parametrize("whose", ["the program's", "kept from the first call"])
async def test_a_handler_says_two_things_in_what_it_did_not_open(whose: str, tmp_path: Path) -> None:
    world, kept = World(), list[Agent]()

    async def handler(at: str) -> str:
        if not kept:
            kept.append(await world.agent.create_sub_conversation("Know things."))
        return ", ".join([(await kept[0].send(item)).text for item in at.split()])

    def answer(request: Request) -> Any:
        if request.role == SEAT.name:
            return [asks(look("screws")), asks(look("bolts nuts")), text("end")][rounds(request)]
        asked = [number for number, turn in enumerate(request.window.turns) if isinstance(turn, UserMessage)]
        item = request.window.turns[asked[-1]]
        done = sum(isinstance(turn, ToolResults) for turn in request.window.turns[asked[-1] :])
        assert isinstance(item, UserMessage)
        calls = [asks(look(item.text, name="pay")), asks(look(item.text, name="order"))]
        return calls[done] if done < len(calls) else text(f"{item.text} well")

    tools = [tool(handler), *world.tools(needs_approval=True)]
    async with world.live(tmp_path, answer, tools) as talking:
        if whose == "the program's":
            kept.append(await talking.create_sub_conversation("Know things."))
        response = await approving(talking, talking.send("go"))
    assert came(response.turns) == ["screws well", "bolts well, nuts well"]
    assert world.done == {f"{does} {item}": 1 for does in ("pay", "order") for item in ("screws", "bolts", "nuts")}


async def test_what_is_known_to_be_done_or_to_have_failed_is_no_doubt(tmp_path: Path) -> None:
    """An equal call went on with what one left; and in what a failed call opened a tool had failed by itself."""
    world, slow = World(), [True]

    async def pay(at: str) -> str:
        world.done[f"pay {at}"] += 1
        if at == "declined":
            raise ToolExecutionError("the bank declined, nothing was paid")
        return "paid"

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.", at)
        said = (await sub.send(at)).text
        if at == "declined":
            raise ToolExecutionError("it cannot be read")
        return said

    async def answer(request: Request) -> Any:
        turns = request.window.turns
        asked = [turn.text for turn in turns if isinstance(turn, UserMessage)]
        since = sum(isinstance(turn, ToolResults) for turn in turns)
        if request.role == SEAT.name:
            if len(asked) == 2:
                return text("end") if since == 4 else asks(look("rent", name="pay"), look("declined", "2", "pay"))
            return [asks(look("rent")), asks(look("rent")), asks(look("declined")), text("end")][since]
        if since and asked[0] == "rent" and slow[0]:
            slow[0] = False
            await asyncio.sleep(3_600)
        return text("well") if since else asks(look(asked[0], name="pay"))

    tools = [tool(handler, limits=ToolLimits(seconds=0.6)), tool(pay, name="pay", effect="once")]
    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(tmp_path, "t")) as world.agent:
        await world.agent.send("go")
        assert (await world.agent.send("and the same for the next month")).text == "end"
    assert world.done == {"pay rent": 2, "pay declined": 2}


async def test_doubt_goes_through_what_calls_inside_opened_elsewhere(tmp_path: Path) -> None:
    world = World()

    async def outer(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        await sub.send(at)
        raise ToolExecutionError("it cannot be read")

    async def inner(at: str) -> str:
        return (await (await world.agent.create_sub_conversation("Look deeper.")).send(at)).text  # of the main agent

    def answer(request: Request) -> Any:
        purposes = [block.text for block in request.window.blocks if block.name == "purpose"]
        if not purposes:
            return [asks(look("it", name="outer")), asks(PAY), text("end")][rounds(request)]
        first = asks(look("it", name="inner")) if purposes == ["Look into it."] else asks(PAY)
        return text("well") if rounds(request) else first

    tools = [tool(outer, name="outer"), tool(inner, name="inner"), *world.tools()]
    async with world.live(tmp_path, answer, tools) as talking:
        with pytest.raises(Paused, match="tool pay was carried out before"):
            await talking.send("go")
    assert world.done == {"pay rent": 1}


async def test_calls_that_are_tried_again_side_by_side_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """What another one paid for in an earlier life is no doubt, though that one is slower today to find it again."""
    world, first = World(), [True]
    down, found = asyncio.Event(), asyncio.Event()

    async def handler(at: str) -> str:
        if at == "a" and not first[0]:
            await found.wait()
        sub = await world.agent.create_sub_conversation("Look into it.")
        return (await sub.send(at)).text

    async def answer(request: Request) -> Any:
        if request.role == SEAT.name:
            return text("end") if rounds(request) else asks(look("a", "1"), look("b", "2"))
        asked = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)][-1]
        if first[0] and (asked == "b" or rounds(request)):
            if asked == "a":
                down.set()
            await asyncio.sleep(3_600)
        if asked == "b" and rounds(request):
            found.set()
        return text("well") if rounds(request) else asks(PAY)

    tools = [tool(handler), *world.tools()]
    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(tmp_path, "t")) as world.agent:
        sending = asyncio.create_task(world.agent.send("go"))
        await down.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    first[0] = False
    async with Agent(SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(tmp_path, "t")) as world.agent:
        response = await world.agent.resume()
        assert response and came(response.turns) == ["well", "well"]
    assert world.done == {"pay rent": 2}
