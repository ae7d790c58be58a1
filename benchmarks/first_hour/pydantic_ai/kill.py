import os
from pathlib import Path
from pydantic_ai import Agent, ModelMessagesTypeAdapter


def order(item: str) -> str:
    """Order more of an item."""
    with Path("orders.txt").open("a") as file:
        file.write(f"{item}\n")
    return f"ordered {item}"


def confirm(item: str) -> str:
    """Confirm an order."""
    if not Path("killed").exists():
        Path("killed").touch()
        os.kill(os.getpid(), 9)
    return "confirmed"


agent = Agent("openai-chat:m", instructions="Order.", tools=[order, confirm])
path = Path("history.json")
history = ModelMessagesTypeAdapter.validate_json(path.read_bytes()) if path.exists() else None
answer = agent.run_sync(None if history else "Order bolts.", message_history=history)
path.write_bytes(answer.all_messages_json())
print(answer.output)
