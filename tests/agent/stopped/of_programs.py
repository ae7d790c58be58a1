"""More programs to be stopped: folded conversations, and sub-conversations of programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.agent.helpers import SEAT
from tests.agent.stopped.life import Life
from tests.agent.stopped.scenes import calls, in_a_stage, paying, steps, subs, tools_of
from tests.agent.stopped.world import Scene
from transom.agent import Home, Setup
from transom.config import Settings
from transom.context import WindowBudget

MANY = tuple(f"message {number}" for number in range(5))


SMALL = Settings.model_validate({"window": {"compact_at": 5, "keep_recent": 3}})
"""Windows that hold three events word for word."""


async def folded(life: Life) -> None:
    home = Home(life.world.folder / "w", life.world.name, life.store)
    async with life.agent_at(home, provider=Setup(life.provider(), SMALL)) as agent:
        await life.talk(agent)


FOLDED = Scene(
    "a long conversation that is folded",
    SEAT,
    MANY,
    steps({text: [calls(f"look {text[-1]}", f"pay {text[-1]}"), "Done."] for text in MANY}),
    tools_of,
    folded,
    folds=True,
)


async def looked_into(life: Life, agent: Any, item: str) -> str:
    """A sub-conversation of the program's own; a stop in it is gone on with there."""
    sub = await life.again(lambda: agent.open_sub("look into it", f"It is {item}."))
    text = f"item {item}"
    await life.until(sub, lambda: sub.send(text), text)
    return str((await life.again(lambda: agent.close_sub(sub))).text)


def opening(at_once: bool) -> Callable[[Life], Awaitable[None]]:
    """Says something, has two things looked into, and says something more."""

    async def program(life: Life) -> None:
        home = Home(life.world.folder / "w", life.world.name, life.store)
        async with life.agent_at(home, provider=life.provider()) as agent:
            await life.talk(agent, ["one"], "first")
            if at_once:
                done = await asyncio.gather(
                    *(looked_into(life, agent, item) for item in ("bolts", "nuts")),
                    return_exceptions=True,
                )
                for error in done:
                    if isinstance(error, BaseException):
                        raise error
            else:
                await looked_into(life, agent, "bolts")
                await looked_into(life, agent, "nuts")
            await life.talk(agent, ["two"])

    return program


OPENING = Scene(
    "sub-conversations of the program",
    SEAT,
    ("one", "two"),
    steps({"one": [calls("pay m"), "Done."], "two": [calls("look m"), "Done, too."]}, subs(paying)),
    tools_of,
    opening(at_once=False),
    lasting=False,
)


AT_ONCE = replace(
    OPENING, name="sub-conversations of the program, at once", program=opening(at_once=True)
)
IN_A_STAGE = replace(
    FOLDED,
    name="a long conversation that is folded, in a stage",
    program=in_a_stage(budget=WindowBudget.of(SMALL.window)),
    lasting=False,
)

MORE = [FOLDED, IN_A_STAGE, OPENING, AT_ONCE]
