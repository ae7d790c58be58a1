"""What the journal says of an answer after each reply counts in every later life; where it ended in an error, too."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, scripted, sent
from tests.cli.helpers import transom
from transom.agent import Agent, Caps, Home
from transom.agent.events import Event, Heard
from transom.errors import EgressError, InputError, NetworkFailed, ProviderError, ReplyError, RunError, TransomError
from transom.llm import Again, Block, Chain, Reply, ScriptedProvider, Text, Usage
from transom.runs import Run, Stage, Workspace

COUNT: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
COUNTER = replace(SEAT, output=COUNT)
GOOD = '{"n": 7}'
PAUSE = Reply((Text("I begin, "),), "pause", Usage(10, 1))
DEAD = NetworkFailed("the line is dead")
FAILURES: dict[str, tuple[list[Any], type[TransomError], str]] = {
    "in vain": (["seven", "seven again"], ReplyError, "nor does its repair"),
    "paused too often": ([PAUSE] * 11, ProviderError, "it paused 11 times"),
}


@pytest.mark.parametrize("left", ["gone on with", "left", "the last"])
@pytest.mark.parametrize("how", FAILURES)
async def test_an_answer_that_failed_is_no_end_of_the_conversation(tmp_path: Path, how: str, left: str) -> None:
    answers, error, what = FAILURES[how]
    home = Home(tmp_path, "x")
    first = scripted(*answers, GOOD, '{"n": 8}')
    async with Agent(COUNTER, provider=first, at=home) as agent:
        with pytest.raises(error, match=what):
            await agent.send("a")
        if left == "gone on with":
            assert (await agent.go_on()).text == GOOD
        if left != "the last":
            turns = (await agent.send("b")).turns
            assert len(turns) == (4 if left == "gone on with" else 3)
    for number, role in enumerate((COUNTER, SEAT, COUNTER), 1):
        provider = scripted(GOOD)
        async with Agent(role, provider=provider, at=home) as agent:
            if left == "the last" and number == 1:
                with pytest.raises(error, match=what if role is COUNTER else ""):
                    await agent.resume()
                assert provider.requests == [], "it is known"
                turns = (await (agent.go_on() if how == "in vain" else agent.send("b"))).turns
            else:
                last = await agent.resume()
                assert last and (last.turns, provider.requests) == (turns, [])
                turns = (await agent.send(f"and {number}?")).turns


async def test_a_failure_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Agent(COUNTER, provider=scripted("seven", "seven", GOOD), at=Home(tmp_path, "x")) as agent:
        with pytest.raises(ReplyError):
            await agent.send("a")
        await agent.send("b")
    async with Agent(COUNTER, provider=scripted(), at=Home(tmp_path, "x")) as agent:
        await agent.resume()
    assert sum("failed with ReplyError" in record.message for record in caplog.records) == 1


async def test_a_schema_that_leads_nowhere_loses_no_reply_and_is_no_end(tmp_path: Path) -> None:
    role = replace(SEAT, output={"$ref": "http://127.0.0.1:9/x"})
    first = scripted("{}", "{}")
    async with Agent(role, provider=first, at=Home(tmp_path, "x")) as agent:
        with pytest.raises(InputError, match="defs"):
            await agent.send("a")
    async with Agent(role, provider=scripted(), at=Home(tmp_path, "x")) as agent:
        with pytest.raises(InputError, match="defs"):
            await agent.resume()
    async with Agent(COUNTER, provider=scripted(GOOD), at=Home(tmp_path, "x")) as agent:
        with pytest.raises(ReplyError, match="does not follow"):
            await agent.resume()
        assert (await agent.go_on()).text == GOOD


async def test_a_repair_that_is_lacking_is_asked_for_by_the_schema_of_today(tmp_path: Path) -> None:
    home = Home(tmp_path, "x")
    async with Agent(COUNTER, provider=scripted("seven", DEAD), at=home) as agent:
        with pytest.raises(NetworkFailed):
            await agent.send("How many?")
    provider = scripted("Seven of them.")
    async with Agent(SEAT, provider=provider, at=home) as agent:
        last = await agent.resume()
        assert last and (last.text, len(provider.requests)) == ("Seven of them.", 1)
    told = provider.requests[0].window.text("answer_repair")
    assert "cannot be used" in told and "JSON" not in told
    async with Agent(COUNTER, provider=scripted(), at=home) as agent:
        again = await agent.resume()
        assert again and again.turns == last.turns


async def test_what_is_asked_with_other_blocks_keeps_what_came(tmp_path: Path) -> None:
    home, seven, eight = Home(tmp_path, "x"), Block("extra", "seven"), Block("extra", "eight")
    async with Agent(SEAT, provider=scripted(PAUSE, DEAD), at=home) as agent:
        with pytest.raises(NetworkFailed):
            await agent.send("a", seven)
    provider = scripted(DEAD, "the rest.")
    async with Agent(SEAT, provider=provider, at=home) as agent:
        with pytest.raises(RunError, match=r"blocks.*go_on"):
            await agent.resume()
        assert provider.requests == []
        with pytest.raises(NetworkFailed):
            await agent.go_on(seven)
        assert (await agent.go_on(eight)).text == "I begin, the rest."
    assert [request.window.text("extra") for request in provider.requests] == ["seven", "eight"]
    assert all("I begin, " in sent(request) for request in provider.requests)


async def test_what_came_of_local_text_is_as_local_when_it_is_gone_on_with(tmp_path: Path) -> None:
    home = Home(tmp_path, "x")
    async with Agent(SEAT, provider=scripted(PAUSE, DEAD), at=home) as agent:
        with pytest.raises(NetworkFailed):
            await agent.send("a", Block("extra", "seven", egress="local"))
    remote = ScriptedProvider({SEAT.name: ["the rest."]}, local=False)
    async with Agent(SEAT, provider=remote, at=home) as agent:
        with pytest.raises(RunError, match="blocks"):
            await agent.resume()
        with pytest.raises(EgressError):
            await agent.go_on()
    assert remote.requests == []


@pytest.mark.parametrize("then", ["raised", "left"])
async def test_a_cap_between_two_replies(tmp_path: Path, then: str) -> None:
    home = Home(tmp_path, "x")
    provider = scripted(replace(PAUSE, usage=Usage(100, 10)), *(["the rest."] if then == "raised" else []), "two")
    async with Agent(SEAT, provider=provider, caps=Caps(tokens=50), at=home) as agent:
        assert (await agent.send("a")).ended == "tokens"
        agent.caps = Caps()
        if then == "raised":
            assert (await agent.go_on()).text == "I begin, the rest."
        last = await agent.send("b")
        assert len(last.turns) == (4 if then == "raised" else 3)
    for caps in (Caps(), Caps(tokens=50)):
        async with Agent(SEAT, provider=scripted(), caps=caps, at=home) as agent:
            again = await agent.resume()
            assert again and (again.turns, again.text) == (last.turns, "two")


async def test_a_listener_hears_once_that_an_answer_is_void(tmp_path: Path) -> None:
    heard: list[Event] = []
    provider = scripted("seven", DEAD, GOOD)
    async with Agent(COUNTER, provider=provider, at=Home(tmp_path, "x"), on_event=heard.append) as agent:
        with pytest.raises(NetworkFailed):
            await agent.send("a")
        await agent.go_on()
    assert sum(isinstance(one, Heard) and isinstance(one.piece, Again) for one in heard) == 1


async def test_a_journal_of_before_is_judged_as_before(tmp_path: Path) -> None:
    home = Home(tmp_path, "x")
    async with Agent(COUNTER, provider=scripted("seven", GOOD, PAUSE, GOOD, GOOD), at=home) as agent:
        turns = [(await agent.send(text)).turns for text in "ab"][-1]
    with closing(sqlite3.connect(tmp_path / "state.db")) as database, database:
        for seq, text in database.execute("SELECT seq, data FROM records WHERE kind = 'reply'").fetchall():
            data = json.loads(text)
            data.pop("then", None)
            database.execute("UPDATE records SET data = ? WHERE seq = ?", [json.dumps(data), seq])
    async with Agent(COUNTER, provider=scripted(GOOD), at=home) as agent:
        last = await agent.resume()
        assert last and last.turns == turns
        more = await agent.send("c")
    async with Agent(COUNTER, provider=scripted(), at=home) as agent:
        again = await agent.resume()
        assert again and again.turns == more.turns


async def test_in_a_stage_what_came_is_gone_on_with_too(tmp_path: Path) -> None:
    """There replies count for the very same request, and are judged again."""
    texts: list[str] = []
    answers: list[Any] = ["seven", DEAD, GOOD, PAUSE, GOOD]

    async def talk(stage: Stage) -> str:
        agent = Agent(COUNTER, at=stage)
        try:
            texts.append((await agent.send("How many?")).text)
        except NetworkFailed:
            texts.append((await agent.go_on()).text)
        return ""

    for asked, given in ((3, answers), (0, [])):
        provider = scripted(*given)
        async with Workspace.at(tmp_path).open_store() as store:
            opened = Run.open(
                "t", {}, name="x", workspace=Workspace.at(tmp_path), store=store, chain=Chain((provider,))
            )
            async with await opened as run:
                stage = Stage(run, "a", attempt=1, epoch="")
                await talk(stage)
        assert len(provider.requests) == asked
    assert texts == [GOOD, GOOD]


@pytest.mark.slow
async def test_people_see_how_an_answer_stood(tmp_path: Path) -> None:
    async with Agent(COUNTER, provider=scripted("seven", GOOD), at=Home(tmp_path / ".transom", "x")) as agent:
        await agent.send("How many?")
        assert [message.metadata.get("then") for message in agent.history()[1:]] == ["mend", None]
    seen = transom("window", "show", "x", "--call", "1", cwd=tmp_path)
    assert seen.returncode == 0 and "to be repaired" in seen.stdout, seen
