"""What a call was answered with stays, also where it was not run: no other cap, life or journal changes it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from transom.agent import Agent, Caps, Home
from transom.agent.events import CameOf, Event, Replied
from transom.llm import Chain, Reply, ScriptedProvider, Text, Turn
from transom.runs import Run, Stage, Workspace, text_file

ORDERS = [asks(look(at, at)) for at in "abc"]


class Lives:
    """One program, run again and again at the same place: a home, or a stage of a run."""

    def __init__(self, folder: Path, messages: list[str], at: str = "home") -> None:
        self.folder, self.messages, self.at = folder, messages, at
        self.did: list[str] = []

    async def life(self, caps: Caps, answers: list[Any], *, resume: bool = False) -> tuple[list[Any], list[Turn], Any]:
        """What was said of it, with turns and history; nobody but `answers` is asked."""

        async def run(at: str) -> str:
            self.did.append(at)
            return f"ordered {at}"

        provider = scripted(*answers)
        more: dict[str, Any] = {"tools": [tool(run, effect="once")], "caps": caps}

        async def talk(agent: Agent) -> tuple[list[Any], list[Turn], Any]:
            async with agent:
                said = [await agent.resume()] if resume else [await agent.send(one) for one in self.messages]
                told = [(message.content, len(message.tool_results)) for message in agent.history()]
                return [(one.text, one.ended) for one in said if one], list(said[-1].turns) if said[-1] else [], told

        if self.at == "home":
            found = await talk(Agent(SEAT, provider=provider, at=Home(self.folder, "x"), **more))
        else:
            found = await self.staged(provider, lambda stage: talk(Agent(SEAT, at=stage, **more)))
        assert len(provider.requests) == len(answers)
        return found

    async def staged(self, provider: ScriptedProvider, talk: Callable[[Stage], Any]) -> Any:
        found: list[Any] = []

        async def stage(at: Stage) -> str:
            found.append(await talk(at))
            return ""

        workspace = Workspace.at(self.folder)
        async with workspace.open_store() as store:
            chain = Chain((provider,))
            async with await Run.open("test", {}, name="x", workspace=workspace, store=store, chain=chain) as run:
                await run.stage("talk", stage, out=text_file("talk.md"), reuse=False)
        return found[0]

    def forget(self, words: str) -> None:
        """Make the journal one of those that had what was not run in the window of the next reply, and nowhere else."""
        with closing(sqlite3.connect(self.folder / "state.db")) as database, database:
            rows = database.execute("SELECT seq, kind, data FROM records ORDER BY seq").fetchall()
            (at,) = [seq for seq, kind, data in rows if kind == "tool" and words in data]
            refused = [json.loads(data)["outcome"]["result"] for seq, _, data in rows if seq == at]
            seq, data = next((seq, data) for seq, kind, data in rows if kind == "reply" and seq > at)
            reply = json.loads(data)
            (turn,) = [turn for turn in reply["window"]["more"] if turn["kind"] == "came_back"]
            turn["results"] = refused
            del turn["journaled"]
            database.execute("UPDATE records SET data = ? WHERE seq = ?", [json.dumps(reply), seq])
            database.execute("DELETE FROM records WHERE seq = ?", [at])


@pytest.mark.slow
@pytest.mark.parametrize("turns", [0, 1, 2, 9])
@pytest.mark.parametrize("how", ["home", "stage", "resume"])
@pytest.mark.parametrize("old", [False, True], ids=["journaled", "old journal"])
async def test_what_was_refused_for_want_of_turns_is_never_run_later(
    tmp_path: Path, turns: int, how: str, *, old: bool
) -> None:
    lives = Lives(tmp_path, ["go"], "stage" if how == "stage" else "home")
    first = await lives.life(Caps(turns=1), [*ORDERS[:2], "One alone."])
    assert (first[0], lives.did) == ([("One alone.", "answered")], ["a"])
    assert [results for _, results in first[2]] == [0, 0, 1, 0, 1, 0], "the refusal is in the history"
    if old:
        lives.forget("are used up")
    again = await lives.life(Caps(turns=turns), [], resume=how == "resume")
    assert (again, lives.did) == (first, ["a"])


@pytest.mark.parametrize("turns", [1, 9])
@pytest.mark.parametrize("how", ["home", "stage", "resume"])
async def test_a_message_that_ended_for_want_of_turns_ends_so_once_another_one_was_said(
    tmp_path: Path, turns: int, how: str
) -> None:
    lives = Lives(tmp_path, ["go", "and?"], "stage" if how == "stage" else "home")
    first = await lives.life(Caps(turns=1), [*ORDERS, "One alone."])
    assert (first[0], lives.did) == ([("", "turns"), ("One alone.", "answered")], ["a"])
    assert [results for _, results in first[2]] == [0, 0, 1, 0, 1, 0, 1, 0, 0]
    again = await lives.life(Caps(turns=turns), [], resume=how == "resume")
    assert (again[1:], lives.did) == (first[1:], ["a"])
    assert again[0] == (first[0][-1:] if how == "resume" else first[0])


async def test_it_ends_so_where_nobody_could_say_that_its_turns_were_used_up(tmp_path: Path) -> None:
    """A listener broke the message off at the very reply that calls a tool although it may not."""

    def hear(event: Event) -> None:
        if isinstance(event, Replied) and event.reply.calls and event.reply.calls[0].id == "c":
            raise RuntimeError("no listener any more")

    first = scripted(*ORDERS, "One alone.")
    more: dict[str, Any] = {"tools": [tool()], "at": Home(tmp_path, "x"), "caps": Caps(turns=1)}
    async with Agent(SEAT, provider=first, on_event=hear, **more) as agent:
        with pytest.raises(RuntimeError, match="no listener"):
            await agent.send("go")
        last = await agent.send("and?")
    nobody = scripted()
    async with Agent(SEAT, provider=nobody, **more) as agent:
        assert (await agent.send("go")).ended == "turns"
        assert (await agent.send("and?")).turns == last.turns
    assert nobody.requests == []


async def test_a_raised_cap_still_goes_on_where_nothing_else_was_said(tmp_path: Path) -> None:
    lives = Lives(tmp_path, ["go"])
    assert (await lives.life(Caps(turns=1), ORDERS))[0] == [("", "turns")]
    assert (await lives.life(Caps(turns=1), []))[0] == [("", "turns")]
    assert (await lives.life(Caps(turns=9), ["Two."]))[0] == [("Two.", "answered")]
    assert lives.did == ["a", "c"]


@pytest.mark.parametrize("caps", [Caps(tokens=0), Caps(tokens=9), Caps(seconds=0)])
async def test_a_lower_cap_leaves_out_nothing_that_was_answered(tmp_path: Path, caps: Caps) -> None:
    lives = Lives(tmp_path, ["go", "and?"])
    first = await lives.life(Caps(), [*ORDERS, "Three.", "So it is."])
    assert await lives.life(caps, []) == first
    again = await lives.life(caps, [], resume=True)
    assert (again[1:], lives.did) == (first[1:], ["a", "b", "c"])


async def test_a_call_that_was_cut_short_has_its_answer_in_the_history(tmp_path: Path) -> None:
    lives = Lives(tmp_path, ["go", "and?"])
    first = await lives.life(Caps(), [Reply((Text("I look"), look("a")), stop="length"), "Nothing."])
    assert lives.did == [] and "reached its limit" in first[2][2][0] and first[2][2][1] == 1
    assert await lives.life(Caps(), []) == first


async def test_a_listener_hears_of_what_is_not_run(tmp_path: Path) -> None:
    heard: list[Event] = []
    agent = Agent(
        SEAT, provider=scripted(*ORDERS[:1], "No."), tools=[tool()], caps=Caps(turns=0), on_event=heard.append
    )
    async with agent:
        await agent.send("go")
    assert [event.result.is_error for event in heard if isinstance(event, CameOf)] == [True]


@pytest.mark.slow
async def test_a_sub_conversation_that_had_no_turns_left_runs_nothing_later(tmp_path: Path) -> None:
    seat = replace(SEAT, strategy="sub_conversation")
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return f"row {at}\n" * (30_000 if at == "large" else 1)

    async def program(caps: Caps, main: list[Any], sub: list[Any]) -> list[Turn]:
        provider = ScriptedProvider({SEAT.name: main, f"{SEAT.name}.sub": sub})
        async with Agent(seat, provider=provider, tools=[tool(run)], at=Home(tmp_path, "x"), caps=caps) as agent:
            return list((await agent.send("go")).turns)

    first = await program(Caps(turns=1), [asks(look("large")), "ok"], ORDERS)
    assert did == ["large", "a"]
    assert (await program(Caps(turns=9), [], []), did) == (first, ["large", "a"])
