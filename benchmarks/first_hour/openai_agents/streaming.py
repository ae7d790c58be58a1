import asyncio
from agents import Agent, Runner, set_default_openai_api

set_default_openai_api("chat_completions")
agent = Agent(name="clerk", instructions="You know the stock.", model="m")


async def main():
    answer = Runner.run_streamed(agent, "How many bolts?")
    async for event in answer.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            print(event.data.delta, end="|", flush=True)


asyncio.run(main())
