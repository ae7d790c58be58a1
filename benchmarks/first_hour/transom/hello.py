from transom import Agent, SyncAgent

with SyncAgent(Agent("You know the stock.", provider="openai:m")) as agent:
    print(agent.send("How many bolts?").text)
