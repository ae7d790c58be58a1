"""Stopped at every place and gone on with: nothing is done or asked twice, and what was said is
what is said otherwise.

The quick ones look at some places of each kind; the slow suite at all of them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.agent.stopped.course import Undisturbed, course, gone_on, live, undisturbed
from tests.agent.stopped.life import Life
from tests.agent.stopped.of_programs import AT_ONCE, FOLDED, MORE, OPENING
from tests.agent.stopped.of_runs import ASKED, HANDED, MAPPED, OF_RUNS, WITH_IDS, random_scene
from tests.agent.stopped.scenes import DELEGATE, ONCE, OVERSIZED, SCENES, STAGED, STRUCTURED
from tests.agent.stopped.world import Answer, Scene, Stop, Then, What, World
from tests.forked import attempt
from transom.agent import Agent, Home
from transom.errors import RunBusy
from transom.llm import ScriptedProvider

pytestmark = pytest.mark.sqlite  # a kill is a copy of the database file

QUICK: list[tuple[Scene, What]] = [
    (ONCE, "kill"),
    (ONCE, "refuse"),
    (ONCE, "cancel tool"),
    (OPENING, "cancel asked"),
    (DELEGATE, "cancel"),
    (OVERSIZED, "fail"),
    (STRUCTURED, "cancel"),
    (STRUCTURED, "cap"),
    (STAGED[1], "hear"),
    (FOLDED, "kill"),
    (OPENING, "kill"),
    (MAPPED, "kill"),
    (ASKED, "kill"),
    (HANDED, "kill"),
    (WITH_IDS, "kill"),
]
COURSES, KILLS = 400, 10
KINDS: list[What] = [
    "kill", "cancel", "cancel asked", "cancel tool", "cancel tick", "fail", "refuse", "full", "cap", "hear"
]  # fmt: skip
HELD: list[What] = ["kill", "full", "cancel tool", "cancel", "cancel asked", "fail", "refuse"]
"""The kinds of stops of programs that open and fold conversations themselves."""
ENDS: dict[What, list[Then]] = {"kill": ["new"], "full": ["new"], "cap": ["same"], "hear": ["same"]}


def stops(scene: Scene, what: What) -> list[Stop]:
    """A kind of stop, however it is gone on with."""
    made = []
    for then in ENDS.get(what, ["same", "new"]):
        answers: list[Answer] = (
            ["redo", "keep"]
            if what in ("kill", "cancel", "cancel tool", "cancel tick")
            else ["redo"]
        )
        made += [Stop(what, 0, then, answer) for answer in answers]
        if then == "new" and scene.lasting:
            made.append(Stop(what, 0, then, resumes=True))
    return made


def tried(
    whole: Undisturbed, what: What, folder: Path, most: int, ways: int | None = None
) -> dict[str, Any]:
    """The faults, by the place.

    Args:
        whole: what should come.
        what: the kind of stop.
        folder: to work in.
        most: places, spread over all of them.
        ways: to go on; None for all.
    """
    wrong: dict[str, Any] = {}
    places = whole.most[what]
    step = max(1, places // most)
    for stop in stops(whole.scene, what)[:ways]:
        for at in range(1, places + 1, step):
            here = stop.at_place(at)
            if found := course(whole, here, folder / "c"):
                wrong[str(here)] = found
            shutil.rmtree(folder / "c")
    return wrong


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize(("scene", "what"), QUICK, ids=lambda one: getattr(one, "name", one))
def test_a_stop_at_some_places_changes_nothing(scene: Scene, what: What, tmp_path: Path) -> None:
    assert tried(undisturbed(scene, tmp_path), what, tmp_path, most=4, ways=1) == {}


EVERY = [(scene, what) for scene in SCENES for what in KINDS] + [
    (scene, what) for scene in MORE for what in HELD
]
EVERY += [(scene, "kill") for scene in OF_RUNS]
# where one's own was refused, that of another summary is opened, as the page says
EVERY.remove((AT_ONCE, "refuse"))


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "what"), EVERY, ids=lambda one: getattr(one, "name", one))
def test_a_stop_at_every_place_changes_nothing(scene: Scene, what: What, tmp_path: Path) -> None:
    # many turns of the event loop are at one place
    most = 30 if what in ("cancel tick", "hear") else 1_000
    assert tried(undisturbed(scene, tmp_path), what, tmp_path, most) == {}


@pytest.mark.slow
@pytest.mark.parametrize("scene", [DELEGATE, STAGED[1]], ids=lambda scene: scene.name)
def test_two_kills_change_nothing(scene: Scene, tmp_path: Path) -> None:
    whole, wrong = undisturbed(scene, tmp_path), {}
    for at in range(1, len(whole.kills) + 1, 3):
        for twice in range(2, 30, 5):
            stop = Stop("kill", at, "new", twice=twice)
            if found := course(whole, stop, tmp_path / "c"):
                wrong[str(stop)] = found
            shutil.rmtree(tmp_path / "c")
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.fence
def test_random_courses_with_two_kills_come_to_what_they_should(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {}
    tried = 0
    for seed in range(COURSES // KILLS):
        pick, whole = Random(seed), undisturbed(random_scene(seed), tmp_path / "s")
        for _ in range(KILLS):
            stop = Stop(
                "kill",
                pick.randint(1, len(whole.kills)),
                "new",
                resumes=pick.random() < 0.3,
                twice=pick.randint(2, 9),
            )
            if found := course(whole, stop, tmp_path / "s" / "c"):
                wrong[f"{seed} {stop}"] = found
            shutil.rmtree(tmp_path / "s" / "c")
            tried += 1
        shutil.rmtree(tmp_path / "s")
    assert (tried, wrong) == (COURSES, {})


def killed(scene: Scene, world: World, at: int) -> None:
    """A process that is killed right after its store's record number `at`."""

    def walk() -> None:
        life = Life(scene, world)
        life.killed = lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == at else None
        live(life)

    status = attempt(walk)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (scene.name, at)


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("scene", [ONCE, DELEGATE], ids=lambda scene: scene.name)
def test_a_copy_of_the_database_is_what_a_killed_process_leaves(
    scene: Scene, tmp_path: Path
) -> None:
    whole = undisturbed(scene, tmp_path)
    for at in (4, len(whole.kills) // 2, len(whole.kills) - 1):
        world = World(tmp_path / f"real{at}")
        killed(scene, world, at)
        # How many more share the commit depends on how busy disk and processor are, in either life.
        assert min(len(one.journal()) for one in (world, whole.kills[at - 1])) >= at
        assert gone_on(whole, [], world, Stop()) == [], at


def test_conversations_of_two_processes_in_one_database_are_killed_apart(tmp_path: Path) -> None:
    whole = undisturbed(DELEGATE, tmp_path)
    worlds = [World(tmp_path / "both", name) for name in ("first", "second")]
    for world, at in zip(worlds, (20, 35), strict=True):
        killed(DELEGATE, world, at)
    assert attempt(lambda: _ends(whole, worlds[0])) == 0
    assert gone_on(whole, [], worlds[1], Stop(resumes=True)) == []


def _ends(whole: Undisturbed, world: World) -> None:
    wrong = gone_on(whole, [], world, Stop())
    assert not wrong, wrong


def test_a_conversation_that_another_process_has_open_is_busy_and_then_is_not(
    tmp_path: Path,
) -> None:
    whole, world, (hears, says) = undisturbed(ONCE, tmp_path), World(tmp_path / "one"), os.pipe()

    def walk() -> None:
        life = Life(ONCE, world)

        def after(number: int) -> None:
            if number == 9:
                os.write(says, b"x")
                signal.pause()

        life.killed = after
        live(life)

    child = os.fork()
    if not child:
        try:
            walk()
        finally:
            os._exit(1)
    assert os.read(hears, 1) == b"x"

    async def beside() -> None:
        home = Home(world.folder / "w", "talk")
        agent = Agent(ONCE.role, provider=ScriptedProvider({}), tools=[], at=home)
        with pytest.raises(RunBusy):
            await agent.resume()
        with pytest.raises(RunBusy):
            async with agent:
                pass

    asyncio.run(beside())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert gone_on(whole, [], world, Stop()) == []
