from pydantic_ai import Agent

reader = Agent("openai-chat:m", instructions="You read lists.")
clerk = Agent("openai-chat:m", instructions="You know the stock.")


@clerk.tool_plain
async def read(purpose: str) -> str:
    """Have a list read."""
    return (await reader.run(purpose)).output


print(clerk.run_sync("What is on the list?").output)
