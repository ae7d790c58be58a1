"""From a scene and a stop to what is wrong with what came of it."""

from __future__ import annotations

import asyncio
import selectors
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.agent.stopped.life import Life
from tests.agent.stopped.world import Scene, Stop, World
from transom.agent import Home
from transom.agent.models import ReplyDelta, ReplyReceived
from transom.llm import Text, Usage
from transom.llm.deltas import Again

NEVER = Stop()
LIVES = 6
"""Lives to be had, after which a program is taken to have no end."""


class Ticking(asyncio.SelectorEventLoop):
    """Stops a life at a turn of its own."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self.life: Life | None = None

    def _run_once(self) -> None:
        life = self.life
        if life and life.under_way and life.comes("cancel tick"):
            life.cancel()
        super()._run_once()  # type: ignore[misc]  # of the loop's own


def live(life: Life) -> Life:
    """A whole life, in an event loop of its own."""
    loop = Ticking()

    async def run() -> Life:
        loop.life = life
        return await life.live()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(run())


@dataclass
class Undisturbed:
    """A scene as it goes when nothing stops it; `kills`: the world as a kill after each record
    leaves it.
    """

    scene: Scene
    life: Life
    kills: list[World] = field(default_factory=list)

    @property
    def most(self) -> dict[str, int]:
        """The number of places of each kind."""
        counts, writes = self.life.counts, self.life.counts["write"]
        found = {
            "kill": len(self.kills),
            "cancel": len(self.kills),
            "refuse": writes,
            "full": writes,
        }
        found |= {
            "cancel asked": counts["cancel asked"],
            "cancel tool": counts["cancel tool"],
            "fail": counts["fail"],
        }
        return found | {what: counts[what] for what in ("cancel tick", "cap", "hear")}


def undisturbed(scene: Scene, folder: Path) -> Undisturbed:
    """One life, with a copy of the world after each record."""
    life = Life(scene, World(folder / "whole"))
    found = Undisturbed(scene, life)
    life.killed = lambda number: found.kills.append(life.world.copy(folder / f"kill{number}"))
    live(life)
    assert not life.wrong and life.answers, (scene.name, life.wrong)
    return found


def course(whole: Undisturbed, stop: Stop, folder: Path) -> list[str]:
    """Stop at a place, go on until there is an end, and look at what came; [] where all is as it
    should be.
    """
    scene = whole.scene
    if stop.what == "kill":
        lives = [_after(scene, whole.kills[stop.at - 1].copy(folder), stop)]
        if stop.twice:
            twice: list[World] = []
            first = lives[0].world
            lives[0].killed = lambda number: (
                twice.append(first.copy(folder / "2")) if number == stop.twice else None
            )
            live(lives[0])
            if not twice:
                return []
            lives = [_after(scene, twice[0], stop)]
    else:
        lives = [Life(scene, World(folder), stop)]
    return gone_on(whole, [live(one) for one in lives], lives[0].world, stop)


def gone_on(whole: Undisturbed, lives: list[Life], world: World, stop: Stop) -> list[str]:
    """Lives until there is an end, and what is wrong with it.

    Args:
        whole: what should come.
        lives: that there were.
        world: what they left.
        stop: how it is gone on with.
    """
    while not (lives and lives[-1].answers and len(lives[-1].answers) == len(whole.life.answers)):
        if lives and (lives[-1].wrong or len(lives) == LIVES):
            return [*lives[-1].wrong, f"no end in {len(lives)} lives"]
        lives = [*lives, live(_after(whole.scene, world, stop))]
    last = lives[-1]
    return [
        *last.wrong,
        *_in_the_world(whole, last),
        *_told(whole, last),
        *_heard(last),
        *_later(last),
    ]


def _after(scene: Scene, world: World, stop: Stop) -> Life:
    """The life that follows upon what was left."""
    asked = len(world.lines("ask")) - world.replies().total()
    return Life(scene, world, replace(stop, at=0), stop.resumes, lost=asked)


def _in_the_world(whole: Undisturbed, last: Life) -> list[str]:
    """Nothing is done twice, nothing of the journal asked again."""
    world, wrong = last.world, []
    once = [spec.name for spec in last.scene.tools(last) if getattr(spec, "effect", "") == "once"]
    done, should = Counter(world.lines("did")), Counter(whole.life.world.lines("did"))
    said = Counter(f"did {one.split()[1]} {_x(one)}" for one in world.lines("redo"))
    for line in done:
        if line.split()[1] in once and done[line] > should[line] + said[line]:
            wrong.append(f"{line}: {done[line]} times, {said[line]} redone by a person")
    if not _other(last):
        wrong += [
            f"{line}: {done[line]} times, not {should[line]}"
            for line in should - done
            if not done[line] or line.split()[1] in once
        ]
    kept, first = world.replies(), whole.life.world.replies()
    if last.scene.folds:
        kept, first = Counter({"all": kept.total()}), Counter({"all": first.total()})
    if not _other(last):
        if more := (kept - first).total():
            wrong.append(f"{more} replies were asked for again or for more, of {first.total()}")
        if less := (first - kept).total():
            wrong.append(f"{less} replies are not there, of {first.total()}")
    lost = len(world.lines("ask")) - kept.total()
    if lost > last.lost:
        wrong.append(f"{lost - last.lost} replies were paid and thrown away behind the stop")
    return wrong


def _other(last: Life) -> bool:
    """True where something else follows by right: a person kept a call, or a sub-conversation
    failed.
    """
    return bool(last.world.lines("keep") or last.world.lines(f"failed {last.scene.role.name}."))


def _x(line: str) -> str:
    """The argument in what a person answered: `redo pay {"x":"a"}`."""
    return line.split('"x":"')[1].split('"', maxsplit=1)[0] if '"x":"' in line else ""


def _told(whole: Undisturbed, last: Life) -> list[str]:
    """The faults where something else was said than when nothing stops it."""
    wrong = []
    for name, should in whole.life.answers.items():
        found = last.answers[name]
        kept = _other(last)
        if found["ended"] != "answered":
            wrong.append(f"{name} ended with {found['ended']}")
        if not kept and found["turns"] != should["turns"]:
            at = next(
                (
                    n
                    for n, (a, b) in enumerate(zip(found["turns"], should["turns"], strict=False))
                    if a != b
                ),
                -1,
            )
            seen = str(found["turns"][at] if 0 <= at < len(found["turns"]) else "-")[:160]
            wrong.append(
                f"{name}: other turns, {len(found['turns'])} of {len(should['turns'])}, first at"
                f" {at}: {seen}"
            )
        if not (kept or last.scene.folds) and found["usage"] != should["usage"]:
            wrong.append(f"{name}: usage {_short(found['usage'])}, not {_short(should['usage'])}")
    return wrong


def _short(usage: Usage) -> str:
    return f"{usage.input_tokens}+{usage.output_tokens}"


def _heard(last: Life) -> list[str]:
    """The faults where the pieces that a listener heard are not the reply."""
    pieces = ""
    for event in last.inner.get("heard", []):
        if isinstance(event, ReplyDelta):
            more = event.piece.text if isinstance(event.piece, Text) else ""
            pieces = "" if isinstance(event.piece, Again) else pieces + more
        elif isinstance(event, ReplyReceived):
            if pieces != event.reply.text:
                return [f"heard {pieces!r} of {event.reply.text!r}"]
            pieces = ""
        elif event == "stopped":
            pieces = ""
    return []


def _later(last: Life) -> list[str]:
    """Two later lives say the same, and ask nobody."""
    wrong: list[str] = []
    world, log = last.world, last.world.lines()
    for number in (1, 2):
        later = Life(last.scene, world, NEVER, resumes=number == 1 and last.scene.lasting)
        live(later)
        wrong += [f"later life {number}: {one}" for one in later.wrong]
        new = world.lines()[len(log) :]
        if new:
            wrong.append(f"later life {number}: {new[:4]}")
        for name, before in last.answers.items():
            found: dict[str, Any] = later.answers.get(name, {})
            other = [key for key in before if found.get(key) != before[key]]
            if other:
                of = [(str(found.get(key))[:60], str(before[key])[:60]) for key in other]
                wrong.append(f"later life {number}: {name} has other {other}: {of[0]}")
        if wrong:
            return wrong
    if last.scene.lasting and not last.world.lines("failed"):
        left = asyncio.run(Home.unfinished(world.folder / "w", last.scene.role))
        wrong += (
            ["it is among what is unfinished"] if world.name in [home.name for home in left] else []
        )
    return wrong
