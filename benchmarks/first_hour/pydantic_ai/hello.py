from pydantic_ai import Agent

agent = Agent("openai-chat:m", instructions="You know the stock.")
print(agent.run_sync("How many bolts?").output)
