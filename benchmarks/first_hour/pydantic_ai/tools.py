from pydantic_ai import Agent


def count(item: str) -> str:
    """Count what is in stock of an item."""
    return f"{item}: 7 left"


def price(item: str) -> str:
    """Return the price of an item."""
    return f"{item}: 2 cents"


agent = Agent("openai-chat:m", instructions="You know the stock.", tools=[count, price])
print(agent.run_sync("How many bolts, at what price?").output)
