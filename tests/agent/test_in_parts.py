"""Answers that take several replies, whose second request fails or is stopped: each life goes on as the others do."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
from collections.abc import Awaitable, Coroutine, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.helpers import SEAT, asks, look, scripted, tool
from tests.forked import attempt
from transom.agent import Agent, Home
from transom.agent.views import Response
from transom.errors import NetworkFailed, TransomError
from transom.llm import Reply, Request, ScriptedProvider, Text, Usage
from transom.runs import Workspace
from transom.store import Record, SqliteStore, Store

COUNT: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
COUNTER = replace(SEAT, output=COUNT)
OTHER = replace(SEAT, output={"type": "object", "required": ["m"]})
ROLES = {"the same": COUNTER, "another schema": OTHER, "no schema": SEAT}
SUITS_ALL = '{"n": 7, "m": 7}'

Came = Literal["any", "good", "bad", "pause", "rest", "silent", "call", "net", "stop"]
CAME: dict[str, Reply] = {
    "any": Reply((Text(SUITS_ALL),), usage=Usage(10, 7)),
    "good": Reply((Text('{"n": 7}'),), usage=Usage(10, 1)),
    "bad": Reply((Text("seven"),), usage=Usage(10, 2)),
    "pause": Reply((Text('{"n":'),), "pause", Usage(10, 3)),
    "rest": Reply((Text(" 7}"),), usage=Usage(10, 4)),
    "silent": Reply((), "pause", Usage(10, 5)),
    "call": replace(asks(look("a")), usage=Usage(10, 6)),
}


class Model:
    """Answers with what is to come, then with what follows every schema here."""

    def __init__(self, come: Iterable[Came]) -> None:
        self._come = iter(come)
        self.gave = 0
        self.provider = ScriptedProvider(self._answer)

    async def _answer(self, _request: Request) -> Reply:
        what = next(self._come, "any")
        if what == "net":
            raise NetworkFailed("the line is dead")
        if what == "stop":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        self.gave += 1
        return CAME[what]


async def tried(work: Awaitable[Response | None]) -> Response | None:
    """What came of it; None where it failed or was stopped."""

    async def do() -> Response | None:
        return await work

    try:
        return await asyncio.create_task(do())
    except (TransomError, asyncio.CancelledError):
        return None


Move = Literal["go on", "next", "life"]


async def talk(agents: Iterator[Agent], messages: list[str], moves: Iterator[Move]) -> Response:
    """Say them all. What fails is gone on with, left, or resumed by the next agent, the last one to its end."""
    agent = next(agents)
    for message in messages:
        response = await tried(agent.send(message))
        while response is None:
            move = next(moves, "next")
            if move == "life":
                await agent.close()
                agent = next(agents)
                response = await tried(agent.resume())
            elif move == "go on" or message == messages[-1]:
                response = await tried(agent.go_on())
            else:
                break
    assert response is not None
    await agent.close()
    return response


def replies(store: Store, home: Home) -> list[Any]:
    runs = {str(row["inputs"]["name"]): row["id"] for row in store.items("runs").values()}  # type: ignore[call-overload,index]  # a row is a table of texts
    return [record.data for record in store.read(f"run/{runs[home.name]}") if record.kind == "reply"]


NUMBERS = itertools.count()


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    come=st.lists(st.sampled_from([*CAME, "net", "stop"]), max_size=9),
    moves=st.lists(st.sampled_from(["go on", "next", "life"]), max_size=6),
    roles=st.lists(st.sampled_from(sorted(ROLES)), min_size=2, max_size=2),
)
def test_later_lives_have_the_same_turns_and_ask_nobody(
    tmp_path_factory: pytest.TempPathFactory, come: list[Came], moves: list[Move], roles: list[str]
) -> None:
    """Whatever came, failed, was stopped, was gone on with or left, in one life or over several, with any schema."""
    folder, name = tmp_path_factory.getbasetemp() / "parts", f"talk-{next(NUMBERS)}"

    async def lives() -> None:
        async with Workspace.at(folder).open_store() as store:
            home, model = Home(folder, name, store), Model(come)
            others = itertools.chain([COUNTER], map(ROLES.__getitem__, itertools.cycle(roles)))
            agents = (Agent(role, provider=model.provider, tools=[tool()], at=home) for role in others)
            first = await talk(agents, ["m1", "m2", "m3"], iter(moves))
            kept = replies(store, home)
            assert [one["ordinal"] for one in kept] == list(range(model.gave)), "what was paid for is in its place"
            nobody, other = scripted(), ScriptedProvider({SEAT.name: [SUITS_ALL]})
            async with Agent(ROLES[roles[0]], provider=nobody, tools=[tool()], at=home) as agent:
                second = await agent.resume()
                assert second is not None and nobody.requests == []
                assert (second.turns, second.text, second.usage) == (first.turns, first.text, first.usage)
            async with Agent(ROLES[roles[1]], provider=other, tools=[tool()], at=home) as agent:
                await agent.resume()
                more = await agent.send("more")
                assert (more.text, len(other.requests)) == (SUITS_ALL, 1)
                assert other.requests[0].window.turns == (*first.turns, more.turns[-2])
            async with Agent(SEAT, provider=nobody, tools=[tool()], at=home) as agent:
                last = await agent.resume()
                assert last is not None and (last.turns, last.usage, nobody.requests) == (more.turns, more.usage, [])

    asyncio.run(lives())


async def journaled(folder: Path) -> list[Record]:
    async with Workspace.at(folder).open_store() as store:
        (stream,) = store.streams("run/")
        return list(store.read(stream))


@pytest.mark.parametrize("how", ["net", "stop"])
@pytest.mark.parametrize(
    ("come", "then", "answer", "seen"),
    [
        (["pause", "rest"], ["more", None], '{"n": 7}', '{"n":'),
        (["bad", "good"], ["mend", None], '{"n": 7}', "seven"),
        (["silent", "good"], ["more", None], '{"n": 7}', "You have said nothing"),
        (["pause", "bad", "pause", "rest"], ["more", "mend", "more", None], '{"n": 7}', '{"n":'),
    ],
)
async def test_the_same_life_goes_on_as_the_next_one_would(
    tmp_path: Path, how: Came, come: list[Came], then: list[str | None], answer: str, seen: str
) -> None:
    asked = []
    for number, lives in enumerate((1, 2)):
        home = Home(tmp_path / str(number), "x")
        model = Model([*come[:-1], how, *come[-1:]])
        agent = Agent(COUNTER, provider=model.provider, at=home)
        assert await tried(agent.send("How many?")) is None
        if lives == 2:
            await agent.close()
            assert [one.name for one in await Home.unfinished(home.workspace, COUNTER)] == ["x"], (
                "somebody waits for it"
            )
            agent = Agent(COUNTER, provider=model.provider, at=home)
        response = await (agent.go_on() if lives == 1 else agent.resume())
        await agent.close()
        assert response and (response.text, len(response.turns)) == (answer, 2)
        assert [record.data.get("then") for record in await journaled(home.workspace) if record.kind == "reply"] == then  # type: ignore[union-attr]  # a record's data is a table
        asked.append([request.to_json() for request in model.provider.requests])
    assert asked[0] == asked[1] and asked[0][-1] == asked[0][-2] and seen in json.dumps(asked[0][-1])


SEQUENCE: list[Came] = ["pause", "bad", "pause", "rest", "good"]


async def stopped(folder: Path, at: int, how: str) -> None:
    """Two messages; killed as that record is written, or cancelled if it is a reply, and gone on with."""
    loop, working = asyncio.get_running_loop(), list[asyncio.Task[Response]]()

    def after(number: int) -> None:
        if number == at and how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if number == at:
            loop.call_soon_threadsafe(stop)

    def stop() -> None:
        """While the reply that was written last is on its way back, and the next one is not asked for yet."""
        (stream,) = store.streams("run/")
        kinds = [record.kind for record in store.read(stream)]
        asked = (folder / "log").read_text().count("asked") if (folder / "log").exists() else 0
        if working and kinds[-1] == "reply" and kinds.count("reply") == asked:
            working[-1].cancel()

    def answer(_request: Request) -> Reply:
        with (folder / "log").open("a") as log:
            log.write("asked\n")
        return CAME[SEQUENCE[len(replies(store, home))]]

    async def answered(work: Coroutine[Any, Any, Response]) -> Response:
        working.append(asyncio.create_task(work))
        try:
            return await working[-1]
        except asyncio.CancelledError:
            return await answered(agent.go_on())

    async with SqliteStore.open(folder / "state.db", after_append=after) as store:
        home = Home(folder, "x", store)
        async with Agent(COUNTER, provider=ScriptedProvider(answer), at=home) as agent:
            turns = [(await answered(agent.send(message))).turns for message in ("m1", "m2")][-1]
        assert [one["ordinal"] for one in replies(store, home)] == list(range(5))
        async with Agent(SEAT, provider=scripted(), at=home) as agent:
            again = await agent.resume()
            assert again and again.turns == turns
    (folder / "turns").write_text(json.dumps([turn.to_json() for turn in turns]))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "cancel"])
def test_stopped_at_any_record_each_reply_is_asked_once(tmp_path: Path, how: str) -> None:
    """The reply that a request is answered with follows from how many the journal has."""
    seen = set()
    for at in range(1, 12):
        folder = tmp_path / str(at)
        folder.mkdir()

        def life(at: int, folder: Path = folder) -> int:
            return attempt(lambda: asyncio.run(stopped(folder, at, how)))

        if life(at):
            assert how == "kill"
            assert life(0) == 0
        seen.add((folder / "turns").read_text())
        assert (folder / "log").read_text().count("asked") == 5, "what was paid for is not asked again"
    assert len(seen) == 1
