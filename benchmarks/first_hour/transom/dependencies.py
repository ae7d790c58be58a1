from dataclasses import dataclass
from transom import Agent, SyncAgent, ToolContext


@dataclass
class Shop:
    stock: dict[str, int]


def count(context: ToolContext[Shop], item: str) -> int:
    """Count what is in stock of an item."""
    return context.deps.stock[item]


shop = Shop({"bolts": 7})
with SyncAgent(
    Agent("You know the stock.", deps=shop, tools=[count], provider="openai:m")
) as agent:
    print(agent.send("How many bolts?").text)
