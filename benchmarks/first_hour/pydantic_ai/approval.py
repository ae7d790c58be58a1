from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults

agent = Agent(
    "openai-chat:m",
    instructions="You know the stock.",
    output_type=[str, DeferredToolRequests],
)


@agent.tool_plain(requires_approval=True)
def order(item: str) -> str:
    """Order more of an item."""
    return f"ordered {item}"


first = agent.run_sync("Order bolts.")
decisions = DeferredToolResults()
for call in first.output.approvals:
    print(f"{call.tool_name} needs approval")
    decisions.approvals[call.tool_call_id] = True
history = first.all_messages()
print(agent.run_sync(message_history=history, deferred_tool_results=decisions).output)
