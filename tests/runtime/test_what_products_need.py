"""What a product asks of the runtime: conversations kept in a run, sub-agents, sources, ids of
messages, refusals.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, resumed, scripted, tool
from transom.agent import Agent, Budget, Home, SubAgent
from transom.canonical import Json
from transom.errors import ProviderError, RunError, Unanswered
from transom.llm import (
    Block,
    Chain,
    Reply,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    ToolResults,
    Usage,
)
from transom.runs import Run, Stage, Workspace, text_file
from transom.tools import Arguments, ToolDefinition

READER = Role("t.reader", (Block("reader", "You read.", Tier.STABLE),), frozenset({"reader"}))


@asynccontextmanager
async def opened(folder: Path, *providers: Any) -> AsyncIterator[Run]:
    workspace = Workspace.at(folder / ".transom")
    async with workspace.open_store() as store:
        chain = Chain(providers)
        async with await Run.open(
            "test", {}, name="t", workspace=workspace, store=store, chain=chain
        ) as run:
            yield run


# -- kept in a run


async def test_a_conversation_is_kept_inside_a_run_beside_its_stages(tmp_path: Path) -> None:
    async def step(stage: Stage) -> str:
        async with Agent(SEAT, at=stage) as inner:
            return (await inner.send("in the stage")).text

    async def program(*answers: Any, more: str = "") -> tuple[list[str], int]:
        provider = scripted(*answers)
        async with opened(tmp_path, provider) as run:
            main, second = Agent(SEAT, at=run), Agent(SEAT, at=run.named("second"))
            await main.resume()
            said = [(await main.send("one", id="1")).text, (await second.send("two")).text]
            said.append((await run.stage("step", step, out=text_file("s.md"), uses=[SEAT])).value)
            said += [(await main.send(more, id=more)).text] if more else []
        return said, len(provider.requests)

    assert await program("a", "b", "c") == (["a", "b", "c"], 3)
    assert await program() == (["a", "b", "c"], 0)
    assert await program("d", more="again") == (["a", "b", "c", "d"], 1)


async def test_what_a_run_keeps_is_not_used_inside_a_stage(tmp_path: Path) -> None:
    async with opened(tmp_path, scripted("a")) as run, Agent(SEAT, at=run) as main:

        async def step(stage: Stage) -> str:
            del stage
            return (await main.send("one")).text

        with pytest.raises(RunError, match=r"cannot be used inside a stage.*at=stage"):
            await run.stage("step", step, out=text_file("s.md"))
        with pytest.raises(
            RunError, match=r"the second conversation of the run needs a name.*run\.named"
        ):
            Agent(SEAT, at=run)
        with pytest.raises(RunError, match="a stage cannot be called 'conversation'"):
            await run.stage("conversation", step, out=text_file("s.md"))


async def test_the_second_conversation_of_a_stage_needs_a_name(tmp_path: Path) -> None:
    async def step(stage: Stage) -> str:
        Agent(SEAT, at=stage)
        with pytest.raises(
            RunError, match=r"the second conversation of stage step needs a name, .*stage\.named"
        ):
            Agent(SEAT, at=stage)
        return "refused"

    async with opened(tmp_path, scripted()) as run:
        assert (await run.stage("step", step, out=text_file("s.md"))).value == "refused"


async def test_a_stage_that_says_something_else_begins_there_anew(tmp_path: Path) -> None:
    async def program(words: Sequence[str], *answers: Any) -> tuple[list[str], int]:
        provider = scripted(*answers)

        async def step(stage: Stage) -> str:
            async with Agent(SEAT, at=stage) as agent:
                return " ".join([(await agent.send(one)).text for one in words])

        async with opened(tmp_path, provider) as run:
            made = await run.stage("step", step, out=text_file("s.md"), reuse=False)
        return made.value.split(), len(provider.requests)

    assert await program("ab", "1", "2") == (["1", "2"], 2)
    assert await program("aBc", "3", "4") == (["1", "3", "4"], 2)
    assert await program("aBc") == (["1", "3", "4"], 0)


# -- messages


async def test_a_message_with_an_id_is_sent_once_whatever_was_said_since(tmp_path: Path) -> None:
    async def program(*answers: Any) -> tuple[list[str], int]:
        provider = scripted(*answers)
        async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t")) as agent:
            await agent.resume()
            texts = [(await agent.send(text, id=text)).text for text in ("one", "two")]
        return texts, len(provider.requests)

    assert await program("a", "b") == (["a", "b"], 2)
    assert await program() == (["a", "b"], 0)


async def test_a_failed_message_that_was_passed_by_stays_without_an_answer(tmp_path: Path) -> None:
    async def program(*answers: Any) -> list[str]:
        ended = []
        async with Agent(SEAT, provider=scripted(*answers), at=Home(tmp_path, "t")) as agent:
            for text in ("one", "two", "three"):
                try:
                    ended.append((await agent.send(text)).text)
                except (ProviderError, Unanswered) as error:
                    ended.append(f"{type(error).__name__}: {error}")
        return ended

    first = await program("a", ProviderError("the line is dead"), "c")
    assert first[0::2] == ["a", "c"] and "the line is dead" in first[1]
    again = await program()
    assert again[0::2] == ["a", "c"]
    assert again[1].startswith("Unanswered") and "the line is dead" in again[1]


async def test_an_open_message_is_answered_from_its_blocks_and_what_was_recalled_then(
    tmp_path: Path,
) -> None:
    class Source:
        def __init__(self, text: str) -> None:
            self.text, self.asked = text, list[tuple[str, int]]()

        async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
            self.asked.append((query, tokens))
            return [Block("playbook", self.text, Tier.SESSION)]

    role = Role(SEAT.name, SEAT.prompt, SEAT.sees | {"playbook"})
    first, second = (
        Source("[str-00001] Look at the clock. [mis-00002] Trust no name."),
        Source("something else"),
    )
    async with Agent(
        role, provider=scripted(ProviderError("away")), at=Home(tmp_path, "t"), sources=[first]
    ) as agent:
        with pytest.raises(ProviderError):
            await agent.send("when?", Block("extra", "seven"), id="q")
    assert first.asked[0][0] == "when?" and first.asked[0][1] > 1_000
    provider = scripted("At noon, by [str-00001].", "more")
    async with Agent(role, provider=provider, at=Home(tmp_path, "t"), sources=[second]) as agent:
        await agent.resume()
        response = await agent.send("when?", Block("extra", "seven"), id="q")
        assert second.asked == [], "what was recalled stands in the message"
        await agent.send("and now?")
    assert [request.window.text("playbook")[:11] for request in provider.requests] == [
        "[str-00001]",
        "something e",
    ]
    assert provider.requests[0].window.text("extra") == "seven"
    assert (response.shown, response.cited) == (("str-00001", "mis-00002"), ("str-00001",))
    async with Agent(role, provider=scripted(), at=Home(tmp_path, "t")) as agent:
        again = await agent.send("when?", Block("extra", "seven"))
    assert (again.text, again.shown, again.cited) == (response.text, response.shown, response.cited)


# -- sub-agents


async def test_a_declared_sub_agent_does_a_task_in_a_conversation_of_its_own(
    tmp_path: Path,
) -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return f"saw {at}"

    task = ToolCallPart("1", "read", {"task": "What is in a.log?"})
    script = {
        SEAT.name: [asks(task), "So it is."],
        READER.name: [asks(look("a.log")), "It says 7."],
    }
    sub = SubAgent(READER, "read", "Has a file read.", [tool(run)])

    async def program(script: dict[str, list[Any]]) -> tuple[str, ScriptedProvider, Usage]:
        provider = ScriptedProvider(script)
        async with Agent(SEAT, provider=provider, tools=[sub], at=Home(tmp_path, "t")) as agent:
            response = await agent.send("go")
            view = agent.conversation()
            assert view is not None
            inner = agent.conversation(view.sub_conversations[0])
            assert inner is not None and inner.messages[0].content == "What is in a.log?"
            assert view.sub_conversations == ("main/0.0",)
        return response.text, provider, response.usage

    text, provider, usage = await program(script)
    assert text == "So it is." and did == ["a.log"]
    result = provider.requests[-1].window.turns[-1]
    assert isinstance(result, ToolResults) and result.results[0].content == "It says 7."
    assert usage.output_tokens >= 4, "what it used is part of the agent's"
    assert (await program({}))[0] == "So it is."
    assert did == ["a.log"]


async def test_one_budget_holds_for_an_agent_and_all_below_it() -> None:
    task = ToolCallPart("1", "read", {"task": "go"})
    spent = Usage(100, 10)
    script = {
        SEAT.name: [Reply((task,), stop="tool_calls", usage=spent)],
        READER.name: [Reply((Text("It says 7."),), usage=spent)],
    }
    provider = ScriptedProvider(script)
    tools = [SubAgent(READER, "read", "Reads.")]
    async with Agent(SEAT, provider=provider, tools=tools, budget=Budget(tokens=200)) as agent:
        response = await agent.send("go")
    assert (response.ended, response.usage.input_tokens, len(provider.requests)) == (
        "tokens",
        200,
        2,
    )


async def test_a_name_taken_by_a_sub_conversation_says_what_to_write() -> None:
    async with Agent(SEAT, provider=ScriptedProvider({f"{SEAT.name}.sub": ["1", "2"]})) as agent:
        first = await agent.open_sub("look into it")
        with pytest.raises(RunError, match=r"opened already.*name="):
            await agent.open_sub("look into it")
        second = await agent.open_sub("look into it", name="second")
        assert (first.id != second.id, second.id) == (True, "main/second")


# -- undeclared effects


async def test_a_tool_of_unknown_effect_is_never_repeated_and_asks_nobody(tmp_path: Path) -> None:
    did: list[str] = []

    async def act(arguments: Arguments) -> Json:
        did.append(str(arguments["at"]))
        task = asyncio.current_task()
        if arguments["at"] == "b" and task:
            task.cancel()  # as Ctrl-C does
            await asyncio.sleep(0)
        return "done"

    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"at": {"type": "string"}},
        "required": ["at"],
    }
    tools = [ToolDefinition("act", "Acts.", schema, act)]
    calls = [ToolCallPart(str(n), "act", {"at": at}) for n, at in enumerate("aab")]
    with pytest.raises(asyncio.CancelledError):
        async with Agent(
            SEAT, provider=scripted(asks(*calls)), tools=tools, at=Home(tmp_path, "t")
        ) as agent:
            await agent.send("go")
    provider = scripted("ok")
    async with Agent(SEAT, provider=provider, tools=tools, at=Home(tmp_path, "t")) as agent:
        assert (await agent.send("go")).text == "ok"
    assert sorted(did) == ["a", "a", "b"], (
        "equal calls are each carried out, and the one that was cut off is not again"
    )
    result = provider.requests[-1].window.turns[-1]
    assert isinstance(result, ToolResults)
    assert [one.is_error for one in result.results] == [False, False, True]
    assert "it may have taken effect" in result.results[2].content


# -- journals of earlier versions


async def test_a_run_of_an_earlier_version_is_one_clear_error(tmp_path: Path) -> None:
    async with Agent(SEAT, provider=scripted("a"), at=Home(tmp_path, "t")) as agent:
        await agent.send("one")
    workspace = Workspace.at(tmp_path)
    async with workspace.open_store() as store:
        (stream,) = store.streams("run/")
        records = store.read(stream)
        await store.forget(stream)
        for record in records:
            data: Any = {key: value for key, value in dict(record.data).items() if key != "journal"}  # type: ignore[arg-type]  # a mapping
            await store.append(stream, record.kind, data)
    with pytest.raises(
        RunError,
        match=r"another version of transom made the run.*; finish it with that version",
    ):
        async with Agent(SEAT, provider=scripted("b"), at=Home(tmp_path, "t")):
            pass


async def test_repairs_are_ordinary_turns_and_bounded() -> None:
    role = Role(SEAT.name, SEAT.prompt, SEAT.sees, output={"type": "object"})
    provider = scripted("no", "nor this", "{}")
    async with Agent(role, provider=provider) as agent:
        with pytest.raises(Exception, match="nor does its repair"):
            await agent.send("go")
        last = await resumed(agent)
    assert (last.text, [len(request.window.turns) for request in provider.requests]) == (
        "{}",
        [1, 3, 1],
    )
