"""What a turn costs: one model reply with one tool call of 1 KiB, beside other agent runtimes.

    python benchmarks/turns.py                        # ours, and whichever of the others can be
                                                      imported
    python benchmarks/turns.py --peers VENV/bin/python
    python benchmarks/turns.py --json FILE

No network and no real model: a function answers at once, so what is left is what the runtime itself
costs. Ours goes through `Agent.send` in a run whose every reply and result is synced to its journal
and whose spans are written; both are read back and counted. The others keep nothing and trace
nothing; `smolagents, synced` is the fastest of them with one line of a file written and synced a
turn, which says what durability alone costs on this disk.

Every row is a process of its own. They take turns, conversation by conversation, so that a busy
machine is busy for all alike; what is compared is the median over rounds of the ratio within a
round. Columns:

    us/turn      CPU (user and system, all threads) a turn, median, conversations of 50 turns
    x smolagents its ratio to smolagents in the same round, median
    calls/turn   function calls, Python's and C's, all threads, at 50 turns: the same from run to
                 run
    x@200        us/turn at 200 turns over us/turn at 50: 1.0 is linear
    MB           the most memory that the process ever held, after conversations of 200 turns
    B/turn       bytes of the journal a turn at 50 turns, and at 200
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PAYLOAD = ("one kibibyte of what a tool may find in a log " * 30)[:1024]
SHORT, LONG = 50, 200
HOLD_RATIO, HOLD_GROWTH, HOLD_CALLS = 1.75, 1.2, 700

Talk = Callable[[int], dict[str, Any]]
"""Has a conversation of that many turns; what it can say about it."""


class Script:
    """One tool call a turn, then `done`."""

    def __init__(self, turns: int) -> None:
        self._left = iter(range(turns))
        self.made = 0

    def call(self) -> tuple[str, dict[str, str]] | None:
        """Id and arguments of the next call; None when it is time to say `done`."""
        number = next(self._left, None)
        return None if number is None else (f"call_{number}", {"query": f"item {number}"})

    def look(self) -> str:
        self.made += 1
        return PAYLOAD


def transom() -> Talk:
    from transom.agent import Agent, Budget, Home
    from transom.llm import Block, Capabilities, Reply, Role, Text, Tier, ToolCallPart, Usage
    from transom.runs import Workspace
    from transom.telemetry import read_trace
    from transom.tools import Arguments, ToolDefinition

    role = Role(
        "bench.seat", (Block("role", "You look things up.", Tier.STABLE),), frozenset({"role"})
    )
    schema: Any = {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }

    class Fake:
        name, local, caps = "fake", True, Capabilities()

        def __init__(self, script: Script) -> None:
            self._script = script

        async def complete(self, _request: Any, *, on_delta: Any = None) -> Reply:
            del on_delta
            call = self._script.call()
            part = Text("done") if call is None else ToolCallPart(call[0], "lookup", {**call[1]})
            return Reply(
                (part,),
                stop="end" if call is None else "tool_calls",
                usage=Usage(1, 1),
                by=self.name,
            )

        def estimate_tokens(self, _request: Any) -> int:
            return 1

        def fingerprint(self, _role: Any) -> str:
            return "1"

        def is_current(self, _source: Any) -> bool:
            return True

    async def talk(turns: int, folder: Path) -> dict[str, Any]:
        script = Script(turns)

        async def look(_arguments: Arguments) -> str:
            return script.look()

        lookup = ToolDefinition("lookup", "Look something up.", schema, look, effect="pure")
        home, caps = Home(folder, "bench"), Budget(turns=turns + 1)
        async with Agent(
            role, provider=Fake(script), tools=[lookup], at=home, budget=caps
        ) as agent:
            response = await agent.send("go")
        return {"made": script.made, "text": response.text}

    def kept(folder: Path) -> dict[str, Any]:
        """What the journal and the trace hold afterwards."""
        workspace = Workspace.at(folder)
        size = sum(path.stat().st_size for path in folder.glob("state.db*"))

        async def read() -> list[Any]:
            async with workspace.open_store() as store:
                return [record for stream in store.streams("run/") for record in store.read(stream)]

        records = asyncio.run(read())
        rows = [row for path in workspace.traces.glob("*.jsonl") for row in read_trace(path)]
        # folding has spans of its own
        spans = sum(not row.name.startswith("compact ") for row in rows)
        counts = {
            kind: sum(record.kind == kind for record in records)
            for kind in ("model_reply", "tool_result")
        }
        journal = sum(len(json.dumps(record.data)) for record in records)
        return {**counts, "spans": spans, "journal_bytes": journal, "database_bytes": size}

    def run(turns: int) -> dict[str, Any]:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        try:
            with measured() as took:
                done = asyncio.run(talk(turns, folder))
            return {"cpu": took[0], **done, **kept(folder)}
        finally:
            shutil.rmtree(folder)

    return run


def smolagents(script: type[Script] = Script) -> Talk:
    from smolagents import LogLevel, Model, Tool, ToolCallingAgent
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
    )

    now: dict[str, Script] = {}

    class Fake(Model):
        def generate(self, messages: Any, **_: Any) -> Any:
            call = now["script"].call()
            name, ident, given = (
                ("lookup", *call) if call else ("final_answer", "end", {"answer": "done"})
            )
            function = ChatMessageToolCallFunction(name=name, arguments=json.dumps(given))
            made = ChatMessageToolCall(id=ident, type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[made])

    class Lookup(Tool):
        name = "lookup"
        description = "Look something up."
        inputs = {"query": {"type": "string", "description": "what"}}  # noqa: RUF012  as its authors write it
        output_type = "string"

        def forward(self, query: str) -> str:
            return now["script"].look()

    agent = ToolCallingAgent(tools=[Lookup()], model=Fake(), verbosity_level=LogLevel.OFF)
    return _timed(now, lambda turns: agent.run("go", max_steps=turns + 2), script)


class Synced(Script):
    """A script whose tool leaves a line on the disk before it answers."""

    log = -1

    def look(self) -> str:
        os.write(self.log, f"{PAYLOAD}\n".encode())
        os.fdatasync(self.log)
        return super().look()


def smolagents_synced() -> Talk:
    with tempfile.TemporaryFile() as log:
        Synced.log = os.dup(log.fileno())
    return smolagents(Synced)


def langgraph() -> Talk:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    now: dict[str, Script] = {}

    class Fake(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "fake"

        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any
        ) -> Any:
            call = now["script"].call()
            calls = [{"id": call[0], "name": "lookup", "args": call[1]}] if call else []
            message = AIMessage(content="" if calls else "done", tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=message)])

    @tool
    def lookup(query: str) -> str:
        """Look something up."""
        del query
        return now["script"].look()

    model = Fake()
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([lookup]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    app = graph.compile()

    def run(turns: int) -> str:
        state = app.invoke({"messages": [("user", "go")]}, {"recursion_limit": 2 * turns + 10})
        return str(state["messages"][-1].content)

    return _timed(now, run)


def pydantic_ai() -> Talk:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage, UsageLimits

    now: dict[str, Script] = {}

    def answer(_messages: Any, _info: Any) -> Any:
        call = now["script"].call()
        part = ToolCallPart("lookup", call[1], tool_call_id=call[0]) if call else TextPart("done")
        return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=1, output_tokens=1))

    async def lookup(query: str) -> str:
        """Look something up."""
        del query
        return now["script"].look()

    agent = Agent(FunctionModel(answer), tools=[lookup])
    limits = UsageLimits(request_limit=None)
    return _timed(now, lambda _turns: asyncio.run(agent.run("go", usage_limits=limits)).output)


def openai_agents() -> Talk:
    from agents import (
        Agent,
        Model,
        ModelResponse,
        Runner,
        Usage,
        function_tool,
        set_tracing_disabled,
    )
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    set_tracing_disabled(True)
    now: dict[str, Script] = {}

    class Fake(Model):
        async def get_response(self, *_: Any, **__: Any) -> Any:
            call = now["script"].call()
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id="m", role="assistant", status="completed", type="message", content=[text]
            )
            output: Any = said
            if call:
                given = json.dumps(call[1])
                output = ResponseFunctionToolCall(
                    call_id=call[0], name="lookup", arguments=given, type="function_call"
                )
            return ModelResponse(output=[output], usage=Usage(requests=1), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    @function_tool
    async def lookup(query: str) -> str:
        """Look something up."""
        del query
        return now["script"].look()

    agent = Agent(name="a", model=Fake(), tools=[lookup])

    def run(turns: int) -> str:
        return str(asyncio.run(Runner.run(agent, "go", max_turns=turns + 5)).final_output)

    return _timed(now, run)


def _timed(now: dict[str, Script], run: Callable[[int], Any], kind: type[Script] = Script) -> Talk:
    def talk(turns: int) -> dict[str, Any]:
        now["script"] = script = kind(turns)
        with measured() as took:
            text = run(turns)
        return {"cpu": took[0], "made": script.made, "text": str(text)}

    return talk


ROWS: dict[str, tuple[Callable[[], Talk], str]] = {
    "transom": (transom, "transom"),
    "smolagents": (smolagents, "smolagents"),
    "smolagents, synced": (smolagents_synced, "smolagents"),
    "langgraph": (langgraph, "langgraph"),
    "pydantic-ai": (pydantic_ai, "pydantic-ai-slim"),
    "openai-agents": (openai_agents, "openai-agents"),
}


def serve(name: str) -> None:
    """A row's own process: one line `turns count?` in, one line of JSON out."""
    make, package = ROWS[name]
    try:
        talk = make()
        told = version(package)
    except (ImportError, PackageNotFoundError) as error:
        print(json.dumps({"missing": str(error)}), flush=True)
        return
    talk(5)
    print(json.dumps({"version": told}), flush=True)
    for line in sys.stdin:
        turns, *counted = line.split()
        COUNTED.clear()
        if counted:
            COUNTED.append(itertools.count())
        done = talk(int(turns))
        if counted:
            done["calls"] = next(COUNTED[0])
        assert (done["made"], done["text"]) == (int(turns), "done"), done
        done["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(done), flush=True)


COUNTED: list[itertools.count[int]] = []
"""Where the calls of a conversation are counted, if they are to be."""


@contextmanager
def measured() -> Iterator[list[float]]:
    """CPU seconds of what is done meanwhile; and its calls, in every thread that it starts,
    where these are counted.
    """

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            next(COUNTED[0])

    took: list[float] = []
    began = time.process_time()
    if COUNTED:
        threading.setprofile(seen)
        sys.setprofile(seen)
    try:
        yield took
    finally:
        if COUNTED:
            sys.setprofile(None)
            threading.setprofile(None)
        took.append(time.process_time() - began)


@dataclass
class Row:
    """A row while it is measured."""

    name: str
    process: subprocess.Popen[str]
    version: str = ""
    missing: str = ""

    def ask(self, line: str) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        if line:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.name} died")
        return dict(json.loads(answer))


def start(peers: str) -> list[Row]:
    """All rows, each in a process of its own; those that cannot be imported say why."""
    rows = []
    for name in ROWS:
        python = sys.executable if name == "transom" else peers
        command = [python, str(Path(__file__).resolve()), "--serve", name]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        row = Row(name, process)
        told = row.ask("")
        row.version, row.missing = told.get("version", ""), told.get("missing", "")
        rows.append(row)
    return rows


def measure(rows: list[Row], rounds: int) -> dict[str, dict[str, Any]]:
    """The numbers of each row."""
    cpu: dict[str, dict[int, list[float]]] = {row.name: {SHORT: [], LONG: []} for row in rows}
    last: dict[tuple[str, int], dict[str, Any]] = {}
    for number in range(rounds):
        for turns in (SHORT, LONG) if number % 2 == 0 else (SHORT,):
            for row in rows:
                last[row.name, turns] = done = row.ask(str(turns))
                cpu[row.name][turns].append(done["cpu"] / turns * 1e6)
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        base = cpu.get("smolagents")
        mine = cpu[row.name]
        ratios = (
            [one / other for one, other in zip(mine[SHORT], base[SHORT], strict=True)]
            if base
            else []
        )
        found[row.name] = {
            "version": row.version,
            "us_turn": statistics.median(mine[SHORT]),
            "ratio": statistics.median(ratios) if ratios else None,
            "growth": statistics.median(mine[LONG]) / statistics.median(mine[SHORT]),
            "calls_turn": row.ask(f"{SHORT} counted")["calls"] / SHORT,
            "kept": {turns: last[row.name, turns] for turns in (SHORT, LONG)},
        }
    return found


def report(found: dict[str, dict[str, Any]], missing: list[Row]) -> bool:
    """Print the table and how far ours is from its bars; whether it holds."""
    head = f"{'row':28}{'us/turn':>9}{'x smolagents':>14}{'calls/turn':>12}{'x@200':>8}{'MB':>6}{'B/turn':>12}"
    print(head, "-" * len(head), sep="\n")
    for name, row in found.items():
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else "-"
        kept = row["kept"]
        size = [
            f"{kept[turns]['journal_bytes'] / turns:.0f}"
            for turns in kept
            if "journal_bytes" in kept[turns]
        ]
        label = f"{name} {row['version']}"
        numbers = f"{row['us_turn']:9.0f}{ratio:>14}{row['calls_turn']:12.0f}{row['growth']:8.2f}"
        print(f"{label:28}{numbers}{kept[LONG]['mb']:6.0f}{' '.join(size) or '-':>12}")
    for row in missing:
        print(f"{row.name:28}  is not here: {row.missing}")
    ours = found["transom"]
    for turns, kept in ours["kept"].items():
        assert (kept["model_reply"], kept["tool_result"], kept["spans"]) == (
            turns + 1,
            turns,
            2 * turns + 2,
        ), kept
    print(
        f"\nread back: {SHORT + 1} replies, {SHORT} results and {2 * SHORT + 2} spans of {SHORT}"
        " turns, none missing"
    )
    bars = [("calls/turn", ours["calls_turn"], HOLD_CALLS), ("x@200", ours["growth"], HOLD_GROWTH)]
    if ours["ratio"]:
        bars.append(("x smolagents", ours["ratio"], HOLD_RATIO))
    for what, is_, bar in bars:
        print(f"{what}: {is_:.2f}, to hold {bar:g}: {'holds' if is_ <= bar else 'DOES NOT HOLD'}")
    return all(is_ <= bar * (1 if what == "calls/turn" else 2) for what, is_, bar in bars)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--peers", default=sys.executable, help="the Python of an environment that has the others"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    parser.add_argument("--serve", choices=ROWS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    rows = start(given.peers)
    missing = [row for row in rows if row.missing]
    found = measure([row for row in rows if not row.missing], given.rounds)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    if not report(found, missing):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
