from transom import Agent, ReplyDelta, SyncAgent

with SyncAgent(Agent("You know the stock.", provider="openai:m")) as agent:
    with agent.stream("How many bolts?") as answer:
        for event in answer:
            if isinstance(event, ReplyDelta):
                print(event.text, end="|", flush=True)
