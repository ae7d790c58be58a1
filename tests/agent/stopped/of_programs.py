"""More programs to be stopped: folded conversations, and sub-conversations of programs, or several of a handler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.agent.helpers import SEAT
from tests.agent.stopped.life import Life
from tests.agent.stopped.scenes import NESTED, calls, deeper, handled, in_a_stage, paying, steps, subs, tool, tools_of
from tests.agent.stopped.world import Scene
from transom.agent import Home, Setup
from transom.config import Settings
from transom.context import Budget
from transom.llm import Reply

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
)


async def looked_into(life: Life, agent: Any, item: str) -> str:
    """A sub-conversation of the program's own; a stop in it is gone on with there."""
    sub = await life.again(lambda: agent.create_sub_conversation("look into it", f"It is {item}."))
    text = f"item {item}"
    await life.until(sub, lambda: sub.send(text), text)
    return str((await life.again(lambda: agent.complete_sub_conversation(sub.id))).text)


def opening(at_once: bool) -> Callable[[Life], Awaitable[None]]:
    """Says something, has two things looked into, and says something more."""

    async def program(life: Life) -> None:
        home = Home(life.world.folder / "w", life.world.name, life.store)
        async with life.agent_at(home, provider=life.provider()) as agent:
            await life.talk(agent, ["one"], "first")
            if at_once:
                done = await asyncio.gather(
                    *(looked_into(life, agent, item) for item in ("bolts", "nuts")), return_exceptions=True
                )
                for error in done:
                    if isinstance(error, BaseException):
                        raise error
            else:
                await looked_into(life, agent, "bolts")
                await looked_into(life, agent, "nuts")
            await life.talk(agent, ["two"])

    return program


async def two_at_once(life: Life, x: str) -> str:
    """Looks into two things at once."""

    async def one(what: str) -> str:
        sub = await life.agent.create_sub_conversation("look into it", what)
        await sub.send(f"item {what}{x}")
        return str((await life.agent.complete_sub_conversation(sub.id)).text)

    done = await asyncio.gather(one("small"), one("great"), return_exceptions=True)
    for error in done:
        if isinstance(error, BaseException):
            raise error
    return "both"


TWO_SUBS = handled(
    "a handler that opens two at once",
    two_at_once,
    {"one": [calls("ask bolts", "ask nuts"), "Done."], "two": ["Done, too."]},
)
OPENING = Scene(
    "sub-conversations of the program",
    SEAT,
    ("one", "two"),
    steps({"one": [calls("pay m"), "Done."], "two": [calls("look m"), "Done, too."]}, subs(paying)),
    tools_of,
    opening(at_once=False),
    lasting=False,
)


async def says_there(life: Life, x: str) -> str:
    """Says something in the program's own sub-conversation."""
    return str((await life.inner["sub"].send(f"item {x}")).text)


async def between(life: Life) -> None:
    """Handlers say something in what the program opened, between what it says there itself."""
    home = Home(life.world.folder / "w", life.world.name, life.store)
    async with life.agent_at(home, provider=life.provider()) as agent:
        sub = life.inner["sub"] = await life.again(lambda: agent.create_sub_conversation("look into it"))
        await life.until(sub, lambda: sub.send("item first"), "item first")
        await life.talk(agent, ["one"], "first")
        await life.until(sub, lambda: sub.send("item last"), "item last")
        await life.again(lambda: agent.complete_sub_conversation(sub.id))
        await life.talk(agent, ["two"])


BETWEEN = replace(
    handled("handlers that talk in what the program opened", says_there),
    program=between,
    answer=steps({"one": [calls("ask bolts"), calls("ask nuts"), "Done."], "two": ["Done, too."]}, subs(paying)),
    lasting=False,
)
AT_ONCE = replace(OPENING, name="sub-conversations of the program, at once", program=opening(at_once=True))
IN_A_STAGE = replace(
    FOLDED,
    name="a long conversation that is folded, in a stage",
    program=in_a_stage(budget=Budget.of(SMALL.window)),
    lasting=False,
)


async def waits(life: Life, x: str) -> str:
    """Waits for a task in a sub-conversation, which goes on when who waits is stopped; there another handler talks."""
    sub = life.inner[x] = await life.agent.create_sub_conversation("go deep")
    work = asyncio.create_task(sub.send(f"item deep{x}"))
    await asyncio.wait({work})
    return str(work.result().text)


def in_turn(item: str) -> list[Reply | str]:
    if not item.startswith("deep"):
        return paying(item)
    return [calls(f"dig {item[4:]}"), calls(f"pay {item}"), calls(f"look {item}"), "Dug."]


WAITING = replace(
    NESTED,
    name="a handler that waits for a task",
    tools=lambda life: [tool(life, "ask", waits), tool(life, "dig", deeper), *tools_of(life)],
    answer=steps({"one": [calls("ask a", "ask b"), "Done."], "two": ["Done, too."]}, subs(in_turn)),
)
MORE = [FOLDED, IN_A_STAGE, TWO_SUBS, OPENING, BETWEEN, AT_ONCE, WAITING]
