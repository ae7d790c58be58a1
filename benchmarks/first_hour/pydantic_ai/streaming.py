import asyncio
from pydantic_ai import Agent

agent = Agent("openai-chat:m", instructions="You know the stock.")


async def main():
    async with agent.run_stream("How many bolts?") as answer:
        async for text in answer.stream_text(delta=True, debounce_by=None):
            print(text, end="|", flush=True)


asyncio.run(main())
