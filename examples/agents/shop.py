"""An agent to talk with: `transom chat --agent shop:clerk --model ollama:NAME` in this folder.

Without `--model`, a short script stands in for the model: it counts the item that you name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transom import Agent, Role, SubAgent, ToolContext, ToolRetry, tool
from transom.llm import Request, ToolResults, UserMessage
from transom.testing import ScriptedProvider, asks


@dataclass
class Shop:
    """The stock of a shop, by item."""

    stock: dict[str, int]


@tool(effect="pure", trust="ours")
def count(shop: ToolContext[Shop], item: str) -> str:
    """Count what is in stock of an item."""
    if item not in shop.deps.stock:
        raise ToolRetry(f"there is no {item!r}; the items are {', '.join(shop.deps.stock)}")
    return f"{item}: {shop.deps.stock[item]} left"


@tool(effect="once", needs_approval=True)
def order(shop: ToolContext[Shop], item: str, amount: int) -> str:
    """Order more of an item."""
    shop.deps.stock[item] = shop.deps.stock.get(item, 0) + amount
    return f"ordered {amount} {item}"


def script(request: Request) -> Any:
    """Answer as a model would: count the last word of the question, then repeat the result."""
    last = request.window.turns[-1]
    if isinstance(last, ToolResults):
        return f"It says: {last.results[0].content}"
    assert isinstance(last, UserMessage)
    return asks("count", item=last.text.rstrip(" ?.!").rpartition(" ")[2])


reader = SubAgent(Role("shop.reader", "You read lists."), "read", "Have a list read.", [count])
clerk = Agent(
    Role("shop.clerk", "You know the stock of a shop. Count before you answer."),
    deps=Shop({"bolts": 7, "nuts": 120}),
    tools=[count, order, reader],
    provider=ScriptedProvider(script),
)
