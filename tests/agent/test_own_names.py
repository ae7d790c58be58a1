"""Agents that the handler of a tool makes in a stage, under names of its own, and whose call does not go well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.agent.world import came, rounds, text
from transom.agent import Agent
from transom.errors import Paused
from transom.llm import Chain, Request, ScriptedProvider, UserMessage
from transom.runs import Run, Stage, Workspace, text_file


class House:
    """A stage, in which a handler talks with an agent of its own that pays; the model calls it until all is well."""

    def __init__(self, folder: Path, says: Callable[[int], list[str]], fails: Callable[[int], None]) -> None:
        self.workspace = Workspace.at(folder)
        self.says, self.fails = says, fails
        self.tries, self.asked = 0, list[str]()
        self.paid: Counter[str] = Counter()
        self.results = list[list[str]]()

    def answer(self, request: Request) -> Any:
        said = [turn.text for turn in request.window.turns if isinstance(turn, UserMessage)]
        self.asked.append(said[-1])
        if said[-1] == "go":
            last = "" if not rounds(request) else came(request.window.turns)[-1]
            return text("end") if last.startswith(("it is", "paid")) else asks(look("it", str(rounds(request))))
        if said[-1] == "you pay":
            return text("end") if rounds(request) == 2 else asks(look("rent", name="pay"))
        return text(f"it is {said[-1]}") if rounds(request) or said[-1] == "look" else asks(look("rent", name="pay"))

    async def pay(self, at: str) -> str:
        self.paid[at] += 1
        return f"paid {at}"

    async def work(self, stage: Stage) -> str:
        async def handler(at: str) -> str:
            self.tries += 1
            number = self.tries
            async with Agent(SEAT, at=stage.named(f"own-{at}"), tools=[pay]) as own:
                for said in self.says(number):
                    found = (await own.send(said)).text
            self.fails(number)
            return found

        pay = tool(self.pay, name="pay", effect="once")
        async with Agent(SEAT, at=stage, tools=[tool(handler), pay]) as agent:
            self.results.append([])
            try:
                response = await agent.send("go")
            except Paused as paused:
                self.results[-1].append(str(paused.reason))
                if "begun" in paused.reason or "carried out" in paused.reason:
                    raise
                response = await agent.go_on()
            self.results[-1] += came((await agent.send("you pay")).turns if self.more else response.turns)
        return "done"

    more = False

    async def life(self) -> list[str]:
        async with self.workspace.open_store() as store:
            chain = Chain((ScriptedProvider(self.answer),))
            run = await Run.open("test", {}, name="x", workspace=self.workspace, store=store, chain=chain)
            async with run:
                await run.stage("talk", self.work, out=text_file("talk.md"), reuse=False)
        return self.results[-1]


def once(number: int) -> None:
    if number == 1:
        raise ValueError("not now")


async def test_an_equal_call_finds_what_a_failed_one_said_under_the_same_name(tmp_path: Path) -> None:
    house = House(tmp_path, lambda number: ["look", "look well"], once)
    first = await house.life()
    assert ("ValueError: not now" in first[0], first[1:]) == (True, ["it is look well"])
    assert (house.asked.count("look"), house.asked.count("look well"), house.tries) == (1, 2, 2)
    for _ in range(2):
        assert await house.life() == first
    assert (len(house.asked), house.tries, house.paid) == (6, 2, {"rent": 1})


@pytest.mark.parametrize("says", [["another"], ["look", "another"]])
async def test_where_it_says_something_else_then_a_person_is_asked(says: list[str], tmp_path: Path) -> None:
    house = House(tmp_path, lambda number: ["look", "look well"] if number == 1 else says, once)
    for _ in range(2):
        with pytest.raises(Paused, match="tool pay was carried out before"):
            await house.life()
    assert house.paid == {"rent": 1}


async def test_what_it_says_again_when_it_is_tried_again_is_no_doubt(tmp_path: Path) -> None:
    def later(number: int) -> None:
        if number == 1:
            raise Paused("later", run_id="x")

    house = House(tmp_path, lambda number: ["look well"], later)
    house.more = True
    assert (await house.life())[-1] == "paid rent"
    assert (house.asked.count("look well"), house.paid) == (2, {"rent": 2})
