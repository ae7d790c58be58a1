"""Caps and tools of sub-conversations: what bounds them is their agent's, and a call that is tried again goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from tests.agent.world import ORDER, PAY, World, came, rounds, text
from transom.agent import Agent, Caps, Home
from transom.agent.events import Event, Replied
from transom.errors import ApprovalNeeded, InputError, Paused, ToolError
from transom.llm import Block, Chain, Reply, Request, Role, ScriptedProvider, Tier, Usage
from transom.runs import ApprovalRequest, Run, Stage, Workspace, text_file


async def test_a_sub_conversation_may_have_other_turns_and_nothing_else(tmp_path: Path) -> None:
    async with Agent(SEAT, provider=scripted(), at=Home(tmp_path, "t"), caps=Caps(tokens=3_500)) as agent:
        sub = await agent.create_sub_conversation("Look into it.")
        sub.caps = replace(sub.caps, turns=2)
        assert (sub.caps, agent.caps) == (Caps(2, tokens=3_500), Caps(tokens=3_500))
        with pytest.raises(InputError, match="shares the caps of its agent"):
            sub.caps = Caps(turns=2)
        assert agent.caps == Caps(tokens=3_500)
        agent.caps = Caps(turns=30)
        assert sub.caps == Caps(turns=30)


async def test_an_agent_that_is_used_again_counts_anew(tmp_path: Path) -> None:
    agent = Agent(SEAT, provider=scripted("one"), at=Home(tmp_path, "t"), caps=Caps(tokens=10_000))
    used = []
    for _ in range(2):
        used.append((await agent.send("go")).usage)
        await agent.close()
    assert used[0] == used[1]
    assert used[0].input_tokens > 0
    assert agent.caps == Caps(tokens=10_000)


def costly(reply: Reply) -> Reply:
    return replace(reply, usage=Usage(100, 10))


@pytest.mark.parametrize("completes", [True, False])
async def test_a_cap_that_is_reached_in_a_handler_is_gone_on_with_inside(completes: bool, tmp_path: Path) -> None:
    """The handler is not told of half a finding: its call is tried again with a higher cap, and finds what was paid."""
    world = World()

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        said = (await sub.send(at)).text
        return (await world.agent.complete_sub_conversation(sub.id)).text if completes else said

    sub = [costly(asks(PAY)), costly(asks(ORDER)), costly(text("found it"))]
    answer = world.answers(costly(asks(look("it"))), costly(text("end")), sub=sub)
    tools = [tool(handler), *world.tools()]
    async with world.live(tmp_path, answer, tools) as talking:
        talking.caps = Caps(tokens=300)
        response = await talking.send("go")
        assert (response.ended, world.done, len(world.requests)) == ("tokens", {"pay rent": 1}, 3)
        talking.caps = Caps()
        response = await talking.go_on()
        assert (response.text, came(response.turns)) == ("end", ["found it"])
        asked = len(world.requests)
        assert response.usage == Usage(100 * asked, 10 * asked)
    async with world.live(tmp_path, answer, tools) as talking:
        resumed = await talking.resume()
        assert resumed and resumed.turns == response.turns
    assert (world.done, len(world.requests)) == ({"pay rent": 1, "order bolts": 1}, asked)


@pytest.mark.slow
async def test_the_time_of_a_message_that_ends_in_a_handler_is_a_cap(tmp_path: Path) -> None:
    """It is not the tool that took too long: what the handler found is there when the message is gone on with."""
    world, slow = World(), [3_600.0]

    async def handler(at: str) -> str:
        sub = await world.agent.create_sub_conversation("Look into it.")
        said = (await sub.send(at)).text
        await asyncio.sleep(slow.pop() if slow else 0)
        return said

    answer = world.answers(asks(look("it")), text("end"), sub=[asks(PAY), text("found it")])
    async with world.live(tmp_path, answer, [tool(handler), *world.tools()]) as talking:
        talking.caps = Caps(seconds=2)
        response = await talking.send("go")
        assert (response.ended, slow, len(world.requests)) == ("seconds", [], 3)
        response = await talking.go_on()
        assert (response.text, came(response.turns)) == ("end", ["found it"])
    assert (world.done, len(world.requests)) == ({"pay rent": 1}, 4)


async def test_a_handler_that_is_tried_again_registers_its_tool_again(tmp_path: Path) -> None:
    world = World()

    async def handler(at: str) -> str:
        world.agent.register_tool(tool(name="find"))
        sub = await world.agent.create_sub_conversation("Look into it.")
        return (await sub.send(at)).text

    answer = world.answers(
        asks(look("it")), asks(look("it", name="find")), text("end"), sub=[asks(ORDER), text("well")]
    )
    tools = [tool(handler), *world.tools(needs_approval=True)]
    async with world.live(tmp_path, answer, tools) as talking:
        with pytest.raises(ApprovalNeeded) as waits:
            await talking.send("go")
        assert isinstance(waits.value.request, ApprovalRequest)
        await talking.decide(waits.value.request.approve(by="ann"))
        assert came((await talking.go_on()).turns) == ["well", "saw it"]
    assert world.done == {"order bolts": 1}


def test_a_program_registers_a_tool_once(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="a tool of that name already"):
        Agent(SEAT, provider=scripted(), tools=[tool()], at=Home(tmp_path, "t")).register_tool(tool())


async def test_a_listener_s_error_inside_is_the_program_s(tmp_path: Path) -> None:
    """It costs nothing that was paid for, and the model is not told of it."""
    world, fired = World(), list[str]()

    def hear(event: Event) -> None:
        if isinstance(event, Replied) and "/" in event.conversation and not fired:
            fired.append(event.conversation)
            raise ValueError("the listener's bug")

    answer = world.answers(asks(look("it")), text("end"), sub=[asks(PAY), text("found it")])
    async with world.live(tmp_path, answer, [tool(world.look), *world.tools()]) as talking:
        talking.on_event = hear
        with pytest.raises(ValueError, match="the listener's bug"):
            await talking.send("go")
        response = await talking.go_on()
    assert (came(response.turns), world.done, len(world.requests)) == (["found it"], {"pay rent": 1}, 5)


@pytest.mark.parametrize("purpose", [None, 5, "", " "])
async def test_a_purpose_is_a_text(purpose: Any, tmp_path: Path) -> None:
    async with Agent(SEAT, provider=scripted(), at=Home(tmp_path, "t")) as agent:
        with pytest.raises(InputError, match="a purpose and a context_summary are texts"):
            await agent.create_sub_conversation(purpose)
        background: Any = 7
        with pytest.raises(InputError, match="a purpose and a context_summary are texts"):
            await agent.create_sub_conversation("Look into it.", background)
        assert agent.conversation() is None


async def test_in_a_stage_whose_prompt_was_mended_a_person_is_asked(tmp_path: Path) -> None:
    """Its replies are asked anew, since they follow from the prompt; what was carried out on their word is not."""
    world = World()

    def answer(request: Request) -> Any:
        return text("end") if rounds(request) else asks(PAY)

    async def life(prompt: str) -> None:
        async def work(at: Stage) -> str:
            role = Role(SEAT.name, (Block("role", prompt, Tier.STABLE),), SEAT.sees)
            async with Agent(role, at=at, tools=world.tools()) as agent:
                await agent.send("go")
                raise Paused("later", run_id=at.host.id)

        async with Workspace.at(tmp_path).open_store() as store:
            chain = Chain((ScriptedProvider(answer),))
            run = await Run.open("test", {}, name="x", workspace=Workspace.at(tmp_path), store=store, chain=chain)
            async with run:
                await run.stage("talk", work, out=text_file("talk.md"), reuse=False)

    for prompt, why in (("You pay.", "later"), ("You pay.", "later"), ("You pay well.", "pay was carried out before")):
        with pytest.raises(Paused, match=why):
            await life(prompt)
    assert world.done == {"pay rent": 1}


async def test_who_closes_waits_for_the_message_that_is_under_way(tmp_path: Path) -> None:
    """Its reply is paid for, and its tool is carried out: both are kept."""
    world, begun = World(), asyncio.Event()

    async def pay(at: str) -> str:
        begun.set()
        await asyncio.sleep(0.2)
        return await world.pay(at)

    answer = world.answers(asks(PAY), text("end"), sub=[])
    async with world.live(tmp_path, answer, [tool(pay, name="pay", effect="once")]) as talking:
        sending = asyncio.create_task(talking.send("go"))
        await begun.wait()
    assert sending.done()
    async with world.live(tmp_path, answer, [tool(pay, name="pay", effect="once")]) as talking:
        resumed = await talking.resume()
        assert resumed and resumed.turns == (await sending).turns
    assert (world.done, len(world.requests)) == ({"pay rent": 1}, 2)


async def test_slips_are_told_in_a_line(tmp_path: Path) -> None:
    wrong: Any = "no such thing"
    async with Agent(SEAT, provider=scripted("well"), at=Home(tmp_path, "t")) as agent:
        with pytest.raises(InputError, match="a message comes with Blocks"):
            await agent.send("go", wrong)
        await agent.send("go")
        with pytest.raises(InputError, match="a Mark"):
            await agent.mark(wrong)
        with pytest.raises(InputError, match="Caps"):
            agent.caps = wrong
        with pytest.raises(InputError, match="no open sub-conversation"):
            await agent.complete_sub_conversation([wrong])  # type: ignore[arg-type]  # that is the slip


async def test_a_tool_that_comes_later_is_there_in_open_sub_conversations_too(tmp_path: Path) -> None:
    world = World()
    answer = world.answers(text("well"), sub=[asks(look("it")), text("found it")])
    async with world.live(tmp_path, answer, world.tools()) as talking:
        sub = await talking.create_sub_conversation("Look into it.")
        talking.register_tool(tool())
        assert came((await sub.send("go")).turns) == ["saw it"]
