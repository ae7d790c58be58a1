from agents import Agent, Runner, set_default_openai_api

set_default_openai_api("chat_completions")
reader = Agent(name="reader", instructions="You read lists.", model="m")
read = reader.as_tool(tool_name="read", tool_description="Have a list read.")
clerk = Agent(name="clerk", instructions="You know the stock.", tools=[read], model="m")
print(Runner.run_sync(clerk, "What is on the list?").final_output)
