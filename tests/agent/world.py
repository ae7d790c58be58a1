"""A world for agents whose tools talk: what tools do is counted in it, and who was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT, look, tool
from transom.agent import Agent, Home
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolResults, Turn
from transom.tools import ToolDefinition

PAY, ORDER = look("rent", name="pay"), look("bolts", name="order")


def rounds(request: Request) -> int:
    return sum(isinstance(turn, ToolResults) for turn in request.window.turns)


def text(said: str) -> Reply:
    return Reply((Text(said),))


class World:
    """Counts of what tools do, and of who was asked."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.requests: list[str] = []
        self.tries = 0
        self.agent: Agent

    async def pay(self, at: str) -> str:
        self.done[f"pay {at}"] += 1
        return f"paid {at}"

    async def order(self, at: str) -> str:
        self.done[f"order {at}"] += 1
        return f"ordered {at}"

    async def look(self, at: str) -> str:
        """Looks into it in a sub-conversation."""
        self.tries += 1
        sub = await self.agent.open_sub("Look into it.")
        await sub.send(f"Look at {at}.")
        return (await self.agent.close_sub(sub)).text

    def tools(self, **of_order: Any) -> list[ToolDefinition]:
        pay = tool(self.pay, name="pay", effect="once")
        return [pay, tool(self.order, name="order", effect="once", **of_order)]

    def answers(self, *of_main: Any, sub: list[Any]) -> Callable[[Request], Any]:
        """Replies by how often tools were called."""

        def answer(request: Request) -> Any:
            self.requests.append(request.role)
            replies = sub if request.role.endswith(".sub") else of_main
            reply = replies[min(rounds(request), len(replies) - 1)]
            if isinstance(reply, BaseException):
                raise reply
            return reply

        return answer

    def live(
        self, folder: Path, answer: Callable[[Request], Any], tools: list[ToolDefinition]
    ) -> Agent:
        self.agent = Agent(
            SEAT, provider=ScriptedProvider(answer), tools=tools, at=Home(folder, "t")
        )
        return self.agent


def came(turns: tuple[Turn, ...]) -> list[str]:
    return [one.content for turn in turns if isinstance(turn, ToolResults) for one in turn.results]
