import os
from pathlib import Path
from agents import Agent, Runner, SQLiteSession, function_tool, set_default_openai_api

set_default_openai_api("chat_completions")


@function_tool
def order(item: str) -> str:
    """Order more of an item."""
    with Path("orders.txt").open("a") as file:
        file.write(f"{item}\n")
    return f"ordered {item}"


@function_tool
def confirm(item: str) -> str:
    """Confirm an order."""
    if not Path("killed").exists():
        Path("killed").touch()
        os.kill(os.getpid(), 9)
    return "confirmed"


agent = Agent(name="clerk", instructions="Order.", tools=[order, confirm], model="m")
session = SQLiteSession("monday", "session.db")
print(Runner.run_sync(agent, "Order bolts.", session=session).final_output)
