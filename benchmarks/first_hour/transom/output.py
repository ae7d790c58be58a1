from pydantic import BaseModel
from transom import Agent, SyncAgent


class Item(BaseModel):
    name: str
    left: int


with SyncAgent(Agent("You know the stock.", output=Item, provider="openai:m")) as agent:
    print(agent.send("How many bolts?").value.left)
