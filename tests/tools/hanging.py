"""A program whose plain tools hang for ever: `python -m tests.tools.hanging FOLDER`. What it
says is its last line.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from contextvars import ContextVar
from typing import Any

from transom import Agent, Block, Role, Tier, ToolDefinition
from transom.llm import Reply, ToolCallPart, ToolResults
from transom.testing import ScriptedProvider, asks
from transom.tools import ToolLimits

CLERK = Role(
    "shop.clerk", (Block("role", "You know the stock.", Tier.STABLE),), frozenset({"role"})
)
ANY: dict[str, Any] = {"type": "object"}
WHO: ContextVar[str] = ContextVar("who")


def hang(arguments: Any) -> str:
    threading.Event().wait()
    return "never"


def good(arguments: Any) -> str:
    return f"good for {WHO.get()}"


async def main() -> None:
    WHO.set("ann")
    many = Reply(
        tuple(ToolCallPart(f"c{n}", "hang", {"n": n}) for n in range(8)), stop="tool_calls"
    )
    provider = ScriptedProvider({CLERK.name: [many, asks("good"), "done"]})
    tools = [
        ToolDefinition("hang", "Hangs.", ANY, hang, limits=ToolLimits(seconds=0.2)),
        ToolDefinition("good", "Works.", ANY, good, limits=ToolLimits(seconds=60)),
    ]
    async with Agent(CLERK, provider=provider, tools=tools) as agent:
        answer = await agent.send("go")
    first, second = (turn.results for turn in answer.turns if isinstance(turn, ToolResults))
    assert all("took longer than the 0.2 s" in result.content for result in first), first
    sys.stdout.write(f"{answer.text} {second[0].content}\n")


if __name__ == "__main__":
    asyncio.run(main())
