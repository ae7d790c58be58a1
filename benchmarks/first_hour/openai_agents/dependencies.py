from dataclasses import dataclass
from agents import Agent, RunContextWrapper, Runner, function_tool, set_default_openai_api

set_default_openai_api("chat_completions")


@dataclass
class Shop:
    stock: dict[str, int]


@function_tool
def count(context: RunContextWrapper[Shop], item: str) -> int:
    """Count what is in stock of an item."""
    return context.context.stock[item]


agent = Agent[Shop](name="clerk", instructions="You know the stock.", tools=[count], model="m")
print(Runner.run_sync(agent, "How many bolts?", context=Shop({"bolts": 7})).final_output)
