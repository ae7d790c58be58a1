"""What it takes to open a conversation with a long log: all of its events are read and folded once.

    python benchmarks/opening.py                # 10,000 events
    python benchmarks/opening.py --events 2000 --json FILE

A kept conversation is made with a scripted model: five tool calls a message, each reply and each
result an event. Then a program opens it and resumes it, which asks nobody. Columns, each the median
of five:

    open s       processor time of `Agent.resume` in a process that has everything imported
    decode s     of reading the same records and decoding their JSON alone: nobody can do with less
    x decode     their ratio in the same round, the same on a slow machine
    calls/event  function calls, Python's and C's
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from transom import Agent, Budget, Home, Workspace
from transom.llm import Reply, Request, Text, ToolCallPart, ToolResults, Usage
from transom.testing import ScriptedProvider

ROUNDS, A_MESSAGE = 5, 5
BOUND = 4.0  # times what decoding takes; 0.3 s for 10,000 events on a machine of its own
PER_MESSAGE = 1 + 3 * A_MESSAGE  # events: what is said, the replies, the results


def look(at: str) -> str:
    """Look something up."""
    return f"saw {at} " * 20


def answer(request: Request) -> Reply:
    """Five calls, and then a word."""
    made = 0
    for turn in reversed(request.window.turns):
        if not isinstance(turn, ToolResults):
            if getattr(turn, "text", None):
                break
            continue
        made += 1
    part = ToolCallPart(f"c{made}", "look", {"at": f"{made}"}) if made < A_MESSAGE else Text("done")
    return Reply((part,), "tool_calls" if made < A_MESSAGE else "end", Usage(1_000, 20))


async def make(home: Home, events: int) -> None:
    async with Agent(
        "You look.", provider=ScriptedProvider(answer), tools=[look], at=home
    ) as agent:
        for number in range(events // PER_MESSAGE + 1):
            await agent.send(f"message {number}")


async def opened(home: Home) -> float:
    agent = Agent(
        "You look.", provider=ScriptedProvider({}), tools=[look], budget=Budget(), at=home
    )
    began = time.process_time()
    assert await agent.resume() is not None
    took = time.process_time() - began
    await agent.close()
    return took


def decoded(database: Path) -> tuple[float, int]:
    with closing(sqlite3.connect(database)) as connection:
        began = time.process_time()
        gc.disable()
        records = [
            json.loads(data)
            for (data,) in connection.execute("SELECT data FROM records ORDER BY seq")
        ]
        gc.enable()
        return time.process_time() - began, len(records)


def counted(home: Home) -> int:
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        del frame, argument
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        asyncio.run(opened(home))
    finally:
        sys.setprofile(None)
    return calls


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder, ".transom"), "long")
        asyncio.run(make(home, asked.events))
        database = Workspace.at(home.workspace).database
        asyncio.run(opened(home))
        rounds = [(asyncio.run(opened(home)), *decoded(database)) for _ in range(ROUNDS)]
        calls = counted(home)
    events = rounds[0][2]
    found = {
        "events": events,
        "open_s": round(statistics.median(one[0] for one in rounds), 4),
        "decode_s": round(statistics.median(one[1] for one in rounds), 4),
        "ratio": round(statistics.median(one[0] / one[1] for one in rounds), 2),
        "calls_per_event": round(calls / events, 1),
    }
    print("events  open s  decode s  x decode  calls/event")
    print(
        "{events:6.0f}  {open_s:6.3f}  {decode_s:8.3f}  {ratio:8.2f}  {calls_per_event:11.1f}".format(
            **found
        )
    )
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    held = found["ratio"] <= BOUND
    print(f"bound {BOUND:g} x decode: {'held' if held else 'NOT HELD'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
