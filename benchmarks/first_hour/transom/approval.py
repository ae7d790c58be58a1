from transom import Agent, SyncAgent, tool
from transom.errors import Paused


@tool(effect="once", needs_approval=True)
def order(item: str) -> str:
    """Order more of an item."""
    return f"ordered {item}"


with SyncAgent(Agent("You know the stock.", tools=[order], provider="openai:m")) as agent:
    try:
        agent.send("Order bolts.")
    except Paused as paused:
        print(paused.reason)
        agent.wait(agent.decide("approve", by="ann"))
    print(agent.resume().text)
