"""An agent's program, to be run in a process of its own and killed at any of its journal's
records.
"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from tests.agent.helpers import SEAT, asks, look, tool
from tests.forked import attempt
from transom.agent import Agent, Home
from transom.llm import Reply, Request, ScriptedProvider, Text
from transom.runs import Workspace
from transom.store import Store


def program(work: Path, failpoint: int) -> int:
    """Run it; its wait status. It is killed right after that many records were written; 0 for
    never.
    """
    return attempt(lambda: asyncio.run(_talk(work, failpoint)))


async def _talk(work: Path, failpoint: int) -> None:
    _kill_after(failpoint)

    def log(line: str) -> None:
        with (work / "log.txt").open("a", encoding="utf-8") as out:
            out.write(line + "\n")

    async def run(at: str) -> str:
        log(f"did {at}")
        return f"saw {at}"

    def answer(request: Request) -> Reply:
        turns = len(request.window.turns)
        log(f"asked {request.role} after {turns}")
        if request.role != SEAT.name:
            return Reply((Text("Found a and b."),))
        if turns == 1:
            return asks(look("a"), look("b", "2"), text="Two.")
        if turns == 3:
            return asks(look("c", "3", "send"))
        return Reply((Text(f"done after {turns}"),))

    tools = [tool(run), tool(run, name="send", effect="once")]
    async with Agent(
        SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(work / "w", "talk")
    ) as agent:
        texts = [(await agent.send("one")).text]
        sub = await agent.open_sub("Look at both.", "There are two.")
        await sub.send("Well?")
        texts.append((await agent.close_sub(sub)).text)
        texts.append((await agent.send("two")).text)
        texts += [f"{message.role}: {message.content}" for message in agent.history()]
    (work / "answer.txt").write_text("\n".join(texts))


def _kill_after(failpoint: int) -> None:
    if not failpoint:
        return

    def after(number: int) -> None:
        if number == failpoint:
            os.kill(os.getpid(), signal.SIGKILL)

    opened = Workspace.open_store

    def open_store(workspace: Workspace) -> Store:
        return opened(workspace, after_append=after)

    # Kills where it is told to, whatever the store.
    Workspace.open_store = open_store  # type: ignore[method-assign,assignment]
