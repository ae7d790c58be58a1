"""Programs that give up a message which was stopped, and say the next one: run again they are the same programs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT
from tests.agent.stopped.course import NEVER, live
from tests.agent.stopped.life import Life
from tests.agent.stopped.scenes import DELEGATE, ONCE, PLAIN, came
from tests.agent.stopped.world import Scene, Stop, What, World
from transom.agent import Agent, Home
from transom.errors import TransomError
from transom.llm import Chain, Reply, Request
from transom.runs import Run, Stage, Workspace, text_file

END = "end"


async def passes_by(life: Life, agent: Agent) -> None:
    """Says one thing after the other, whatever stops it; what is left last would be asked again, and is not stopped."""
    ended = []
    for message in (*life.scene.messages, END):
        life.stop = NEVER if message == END else life.stop
        work = asyncio.ensure_future(agent.send(message))
        await asyncio.sleep(0)  # what never began was not said
        life.under_way = None if message == END else work
        try:
            ended.append((await work).text)
        except (asyncio.CancelledError, TransomError):
            ended.append("left")
        finally:
            life.under_way = None
    talk: Any = agent._life.talk
    turns = [turn.to_json() for turn in talk.turns]
    life.answers["main"] = {"ended": ended, "turns": turns, "usage": agent._made.meter.usage}


async def kept(life: Life) -> None:
    home = Home(life.world.folder / "w", life.world.name, life.store)
    async with life.agent_at(home, provider=life.provider()) as agent:
        await passes_by(life, agent)


async def staged(life: Life) -> None:
    workspace, chain = Workspace.at(life.world.folder / "w"), Chain((life.provider(),))
    run = await Run.open("test", {}, name=life.world.name, workspace=workspace, store=life.store, chain=chain)

    async def work(stage: Stage) -> str:
        async with life.agent_at(stage) as agent:
            await passes_by(life, agent)
        return "done"

    async with run:
        await run.stage("talk", work, out=text_file("talk.md"), reuse=False)


def given_up(scene: Scene, program: Callable[[Life], Awaitable[None]]) -> Scene:
    def answer(request: Request) -> Reply | str | Awaitable[Reply | str]:
        text, _ = came(request)
        return "The end." if request.role == SEAT.name and text == END else scene.answer(request)

    where = "in a stage" if program is staged else "kept"
    return replace(scene, name=f"{scene.name}, given up, {where}", answer=answer, program=program)


GIVEN_UP = [given_up(scene, program) for scene in (PLAIN, ONCE, DELEGATE) for program in (kept, staged)]


def places(scene: Scene, what: What, folder: Path) -> range:
    """Where it can be stopped."""
    life = live(Life(scene, World(folder), NEVER))
    assert life.answers
    most = len(life.world.journal()) - 1 if what == "cancel" else life.counts["write" if what == "refuse" else what]
    shutil.rmtree(folder)
    return range(2, most + 1)


def passed_by(scene: Scene, stop: Stop, folder: Path) -> list[str]:
    """Stop it there, and run it twice more; what is another one then."""
    world = World(folder)
    first = live(Life(scene, world, stop))
    if not first.answers:
        return first.wrong
    said, log, wrong = first.answers["main"], world.lines(), list(first.wrong)
    for number in (2, 3):
        later = live(Life(scene, world, NEVER))
        wrong += [f"life {number}: {one}" for one in later.wrong]
        found = later.answers.get("main", {})
        other = [what for what in said if found.get(what) != said[what]]
        wrong += [f"life {number}: other {what}: {str(found.get(what))[:200]}" for what in other]
        if new := world.lines()[len(log) :]:
            wrong.append(f"life {number}: {new[:4]}")
    return wrong
