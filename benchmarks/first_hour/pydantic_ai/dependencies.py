from dataclasses import dataclass
from pydantic_ai import Agent, RunContext


@dataclass
class Shop:
    stock: dict[str, int]


agent = Agent("openai-chat:m", instructions="You know the stock.", deps_type=Shop)


@agent.tool
def count(context: RunContext[Shop], item: str) -> int:
    """Count what is in stock of an item."""
    return context.deps.stock[item]


print(agent.run_sync("How many bolts?", deps=Shop({"bolts": 7})).output)
