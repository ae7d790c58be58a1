from agents import Agent, Runner, function_tool, set_default_openai_api

set_default_openai_api("chat_completions")


@function_tool
def count(item: str) -> str:
    """Count what is in stock of an item."""
    return f"{item}: 7 left"


@function_tool
def price(item: str) -> str:
    """Return the price of an item."""
    return f"{item}: 2 cents"


agent = Agent(name="clerk", instructions="You know the stock.", tools=[count, price], model="m")
print(Runner.run_sync(agent, "How many bolts, at what price?").final_output)
