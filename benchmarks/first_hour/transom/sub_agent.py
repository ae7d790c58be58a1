from transom import Agent, Role, SubAgent, SyncAgent

reader = SubAgent(Role("reader", "You read lists."), "read", "Have a list read.")
with SyncAgent(Agent("You know the stock.", tools=[reader], provider="openai:m")) as agent:
    print(agent.send("What is on the list?").text)
