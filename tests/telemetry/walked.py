"""A run in which everything happens that leaves a span, with real tools and a provider that
fails twice.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT, asks, look, tool
from transom.agent import RETRY, Agent, call
from transom.config.hosted import Retry
from transom.context import Compaction, WindowBudget
from transom.errors import ProviderError, RateLimited
from transom.llm import (
    Block,
    CallSettings,
    Chain,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    Usage,
)
from transom.llm.retrying import RetryingProvider
from transom.memory import SqliteMemory
from transom.runs import Run, Stage, Workspace, text_file
from transom.telemetry import SpanRow, read_trace

CHECKED = Role("t.checked", (Block("role", "Write.", Tier.STABLE),), frozenset({"role", RETRY}))
MODEL = "scripted:model-1"


class Answers:
    """The seat calls a tool, one that fails and one it has not, and is told no twice by its
    provider on the way.
    """

    def __init__(self) -> None:
        self.failures: list[Exception] = [
            RateLimited("slow down", retryable=True, retry_after=0.01)
        ]
        self.failures.append(ProviderError("a bad gateway", retryable=True))

    def __call__(self, request: Request) -> Reply:
        if request.role == CHECKED.name:
            return Reply((Text("bad" if not request.window.text(RETRY) else "good"),))
        turns = len(request.window.turns)
        if turns == 3 and self.failures:
            raise self.failures.pop(0)
        if turns == 1 and not request.role.endswith(".sub"):
            return asks(look("a", "c1"), look("break", "c2"), look("x", "c3", "leap"))
        return Reply((Text("done"),), usage=Usage(100, 20, 30, 10))


async def look_at(at: str) -> str:
    if at == "break":
        raise ValueError("broken")
    return f"saw {at}"


async def talk(stage: Stage) -> str:
    role = replace(SEAT, settings=CallSettings(max_tokens=500, temperature=0.5))
    agent = Agent(role, at=stage, tools=[tool(look_at)])
    await agent.send("one")
    sub = await agent.open_sub("look deeper", "of what was seen")
    await sub.send("go")
    await agent.close_sub(sub)
    for number in range(4):
        await agent.send(f"and {number}")
    return "talked"


async def write(stage: Stage) -> str:
    async with SqliteMemory.open(None) as memory:
        await memory.retrieve("what was written before")
    answer = await call(
        stage, CHECKED, [], str, review=lambda text: ["it is bad"] if text == "bad" else []
    )
    return answer.value


async def walk(root: Path) -> tuple[Run, list[SpanRow]]:
    """The run, closed, and its spans."""
    workspace = Workspace.at(root / ".transom")
    provider = ScriptedProvider(Answers(), name=MODEL)
    chain = Chain((RetryingProvider(provider, Retry(initial_delay=0.01)),))
    async with workspace.open_store() as store:
        opened = Run.open("test", {}, name="x", workspace=workspace, store=store, chain=chain)
        async with await opened as run:
            run.budget = WindowBudget(compaction=Compaction(threshold=3, keep_recent=1))
            await run.stage("talk", talk, out=text_file("talk.md"), uses=[SEAT])
            await run.stage("write", write, out=text_file("write.md"), uses=[CHECKED])
            await run.finish("done")
    return run, read_trace(workspace.traces / f"{run.telemetry.trace_id}.jsonl")


def of(spans: list[SpanRow], operation: str, **attributes: Any) -> list[SpanRow]:
    """Spans of an operation, with these attributes where some are given; `__` stands for a dot."""
    wanted = {key.replace("__", "."): value for key, value in attributes.items()}
    return [
        span
        for span in spans
        if span.attributes.get("gen_ai.operation.name") == operation
        and all(span.attributes.get(key) == value for key, value in wanted.items())
    ]
