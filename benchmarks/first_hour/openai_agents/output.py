from agents import Agent, Runner, set_default_openai_api
from pydantic import BaseModel

set_default_openai_api("chat_completions")


class Item(BaseModel):
    name: str
    left: int


agent = Agent(name="clerk", instructions="You know the stock.", output_type=Item, model="m")
print(Runner.run_sync(agent, "How many bolts?").final_output.left)
