from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput


class Item(BaseModel):
    name: str
    left: int


agent = Agent("openai-chat:m", instructions="You know the stock.", output_type=NativeOutput(Item))
print(agent.run_sync("How many bolts?").output.left)
