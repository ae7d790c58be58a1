"""An agent to talk with: `transom chat --agent shop:clerk --model ollama:NAME` in this folder.

Without `--model`, a short script stands in for the model. It counts the item that you name, orders
it (`Order 5 bolts.`), and has a list read (`Read the list: 7 bolts, 3 nuts.`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from transom import Agent, Role, SubAgent, ToolContext, ToolRetry, tool
from transom.llm import Request, ToolResults, UserMessage
from transom.testing import ScriptedProvider, asks


@dataclass
class Shop:
    """The stock of a shop, by item."""

    stock: dict[str, int]


# `order` changes the stock, so an earlier count must not be used again.
@tool(effect="idempotent", trust="ours")
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


STOCK = {"bolts": 7, "nuts": 120}


def script(request: Request) -> Any:
    """Answer as a model would: call the tool that fits the question, then repeat its result."""
    last = request.window.turns[-1]
    if isinstance(last, ToolResults):
        return f"It says: {last.results[0].content}"
    assert isinstance(last, UserMessage)
    words = re.findall(r"\w+", last.text.lower())
    if request.role == "shop.reader":
        return f"The list has {len(re.findall(',', last.text)) + 1} lines."
    if "read" in words:
        return asks("read", task=last.text)
    item = next((word for word in words if word in STOCK), "")
    if not item:
        return f"Which item do you mean: {' or '.join(STOCK)}?"
    if "order" in words:
        amount = next((int(word) for word in words if word.isdecimal()), 1)
        return asks("order", item=item, amount=amount)
    return asks("count", item=item)


reader = SubAgent(Role("shop.reader", "You read lists."), "read", "Have a list read.", [count])
clerk = Agent(
    Role("shop.clerk", "You know the stock of a shop. Count before you answer."),
    deps=Shop(dict(STOCK)),
    tools=[count, order, reader],
    provider=ScriptedProvider(script),
)
