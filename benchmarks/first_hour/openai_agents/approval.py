from agents import Agent, Runner, function_tool, set_default_openai_api

set_default_openai_api("chat_completions")


@function_tool(needs_approval=True)
def order(item: str) -> str:
    """Order more of an item."""
    return f"ordered {item}"


agent = Agent(name="clerk", instructions="You know the stock.", tools=[order], model="m")
first = Runner.run_sync(agent, "Order bolts.")
state = first.to_state()
for interruption in first.interruptions:
    print(f"{interruption.name} needs approval")
    state.approve(interruption)
print(Runner.run_sync(agent, state).final_output)
