from transom import Agent, SyncAgent


def count(item: str) -> str:
    """Count what is in stock of an item."""
    return f"{item}: 7 left"


def price(item: str) -> str:
    """Return the price of an item."""
    return f"{item}: 2 cents"


with SyncAgent(Agent("You know the stock.", tools=[count, price], provider="openai:m")) as agent:
    print(agent.send("How many bolts, at what price?").text)
