import os
from pathlib import Path
from transom import Agent, Home, SyncAgent, tool


@tool(effect="once")
def order(item: str) -> str:
    """Order more of an item."""
    with Path("orders.txt").open("a") as file:
        file.write(f"{item}\n")
    return f"ordered {item}"


@tool(effect="pure")
def confirm(item: str) -> str:
    """Confirm an order."""
    if not Path("killed").exists():
        Path("killed").touch()
        os.kill(os.getpid(), 9)
    return "confirmed"


home = Home(".transom", "monday")
with SyncAgent(Agent("Order.", tools=[order, confirm], provider="openai:m", at=home)) as agent:
    print(agent.send("Order bolts.").text)
