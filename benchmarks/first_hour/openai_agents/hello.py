from agents import Agent, Runner, set_default_openai_api

set_default_openai_api("chat_completions")
agent = Agent(name="clerk", instructions="You know the stock.", model="m")
print(Runner.run_sync(agent, "How many bolts?").final_output)
