"""What each kind of span says: the table of attributes, asserted on the spans of a real run."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.telemetry.walked import of, walk
from transom.agent import Agent, Home
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolCallPart
from transom.telemetry import SpanRow, read_trace

# What is to be told (conversation, tokens, ...) -> its key, per kind of span, by the value of
# gen_ai.operation.name; the type says what every such span has, None what only some have.
TABLE: dict[str, dict[str, tuple[str, type | None]]] = {
    "chat": {
        "conversation": ("gen_ai.conversation.id", str),
        "parent conversation": ("transom.conversation.parent.id", None),
        "message count": ("transom.conversation.messages", int),
        "input tokens": ("gen_ai.usage.input_tokens", int),
        "output tokens": ("gen_ai.usage.output_tokens", int),
        "total tokens": ("transom.usage.total_tokens", int),
        "tokens read from a cache": ("gen_ai.usage.cache_read.input_tokens", int),
        "tokens written to a cache": ("gen_ai.usage.cache_creation.input_tokens", int),
        "model": ("gen_ai.request.model", str),
        "provider": ("gen_ai.provider.name", str),
        "temperature": ("gen_ai.request.temperature", None),
        "max_tokens": ("gen_ai.request.max_tokens", int),
        "finish reasons": ("gen_ai.response.finish_reasons", list),
        "window used": ("transom.window.tokens", int),
        "window available": ("transom.window.available", int),
        "blocks left out": ("transom.window.dropped", int),
        "role": ("transom.role", str),
        "from the journal": ("transom.reply.replayed", bool),
    },
    "execute_tool": {
        "conversation": ("gen_ai.conversation.id", str),
        "parent conversation": ("transom.conversation.parent.id", None),
        "tool": ("gen_ai.tool.name", str),
        "call": ("gen_ai.tool.call.id", str),
        "success": ("transom.tool.success", bool),
        "error": ("error.type", None),
    },
    "invoke_agent": {
        "conversation": ("gen_ai.conversation.id", str),
        "parent conversation": ("transom.conversation.parent.id", None),
        "agent": ("gen_ai.agent.name", str),
        "message count": ("transom.conversation.messages", int),
    },
    "sub_conversation": {
        "conversation": ("gen_ai.conversation.id", str),
        "parent conversation": ("transom.conversation.parent.id", str),
        "agent": ("gen_ai.agent.name", str),
    },
    "retrieval": {
        "operation": ("transom.memory.operation", str),
        "results": ("transom.memory.found", int),
    },
    "attempt": {
        "conversation": ("gen_ai.conversation.id", str),
        "parent conversation": ("transom.conversation.parent.id", None),
        "attempt": ("transom.attempt", int),
        "backoff": ("transom.retry.wait_seconds", float),
        "model": ("gen_ai.request.model", str),
        "provider": ("gen_ai.provider.name", str),
        "error": ("error.type", None),
    },
    "compact": {
        "conversation": ("gen_ai.conversation.id", str),
        "events folded": ("transom.compaction.folded", int),
        "tokens before": ("transom.compaction.tokens_before", int),
        "tokens after": ("transom.compaction.tokens_after", int),
        "compression": ("transom.compression.ratio", float),
    },
    "check": {"gate": ("transom.gate", str), "findings": ("transom.findings", int)},
    "stage": {
        "stage": ("transom.stage", str),
        "run": ("transom.run.id", str),
        "what was done": ("transom.stage.action", str),
        "attempt": ("transom.attempt", int),
    },
}
PARENT = "transom.conversation.parent.id"
PAGE = Path(__file__).parents[2] / "docs" / "signals.md"


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> list[SpanRow]:
    return asyncio.run(walk(tmp_path_factory.mktemp("walked")))[1]


@pytest.fixture(scope="module")
def delegated(tmp_path_factory: pytest.TempPathFactory) -> list[SpanRow]:
    """A conversation whose loop opens a sub-conversation, which calls a tool."""
    return asyncio.run(delegate(tmp_path_factory.mktemp("delegated")))


async def delegate(root: Path) -> list[SpanRow]:
    def answer(request: Request) -> Reply:
        first = len(request.window.turns) <= 1
        if request.role.endswith(".sub"):
            return asks(look("a", "s1")) if first else Reply((Text("a is there"),))
        call = ToolCallPart("d1", "delegate", {"purpose": "find a"})
        return asks(call) if first else Reply((Text("done"),))

    seat = replace(SEAT, strategy="sub_conversation")
    async with Agent(
        seat, provider=ScriptedProvider(answer), tools=[tool()], at=Home(root, "d")
    ) as agent:
        assert (await agent.send("go")).text == "done"
    (path,) = (root / "traces").iterdir()
    return read_trace(path)


@pytest.mark.parametrize("kind", TABLE)
def test_each_kind_of_span_says_what_it_is_to_say(
    spans: list[SpanRow], delegated: list[SpanRow], kind: str
) -> None:
    found = [*of(spans, kind), *of(delegated, kind)]
    assert found
    for what, (key, of_type) in TABLE[kind].items():
        values = [span.attributes.get(key) for span in found]
        if of_type is None:
            assert any(value is not None for value in values), what
        elif of_type is float:
            assert all(isinstance(value, int | float) for value in values), what
        else:
            assert {type(value) for value in values} == {of_type}, what


def test_no_span_is_of_a_kind_that_the_table_does_not_have(spans: list[SpanRow]) -> None:
    assert {span.attributes.get("gen_ai.operation.name") for span in spans} == set(TABLE)
    told = {key for kind in TABLE.values() for key, _ in kind.values()} | {
        "gen_ai.operation.name",
        "error.type",
    }
    assert {key for span in spans for key in span.attributes} <= told


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    lines = {
        line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("| `")
    }
    for kind, told in TABLE.items():
        missing = {key for key, _ in told.values() if f"`{key}`" not in lines[kind]}
        assert not missing, kind


def test_what_a_sub_conversation_does_is_told_of_it_and_of_whose_it_is(
    delegated: list[SpanRow],
) -> None:
    (around,) = [span for span in of(delegated, "invoke_agent") if span.attributes.get(PARENT)]
    whose = str(around.attributes[PARENT])
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{10}/conversation/main", whose), (
        "unique, wherever traces are gathered"
    )
    name = around.attributes["gen_ai.conversation.id"]
    inside = [span for span in delegated if span.attributes.get("gen_ai.conversation.id") == name]
    assert {span.attributes[PARENT] for span in inside} == {whose}
    kinds = [span.attributes["gen_ai.operation.name"] for span in inside]
    assert kinds == ["invoke_agent", "chat", "execute_tool", "chat"]
    assert {span.parent_id for span in inside[1:]} == {around.span_id}
    (call,) = [span for span in of(delegated, "execute_tool") if span.span_id == around.parent_id]
    assert call.attributes["gen_ai.tool.name"] == "delegate"


def test_what_they_say_is_so(spans: list[SpanRow]) -> None:
    first, second = [span for span in of(spans, "chat") if not span.attributes.get(PARENT)][:2]
    expected: dict[str, Any] = {
        "gen_ai.request.model": "model-1",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 500,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "transom.conversation.messages": 1,
        "transom.window.dropped": 0,
        "transom.role": "t.seat",
    }
    assert {key: first.attributes.get(key) for key in expected} == expected
    assert second.attributes["transom.conversation.messages"] == 3
    usage = [second.attributes[key] for key, _ in list(TABLE["chat"].values())[3:8]]
    assert usage == [100, 20, 120, 30, 10]
    assert (
        0 < first.attributes["transom.window.tokens"] < second.attributes["transom.window.tokens"]
    )
    keys = ("transom.window.tokens", "transom.window.available")
    rooms = {sum(span.attributes[key] for key in keys) for span in (first, second)}
    (room,) = rooms
    assert room == pytest.approx(0.9 * 100_000 - 500, abs=10)

    tools = {span.attributes["gen_ai.tool.call.id"]: span for span in of(spans, "execute_tool")}
    outcomes = {
        key: (span.status, span.attributes.get("error.type")) for key, span in tools.items()
    }
    assert outcomes == {
        "c1": ("ok", None),
        "c2": ("error", "ToolExecutionError"),
        "c3": ("error", "ToolNotFoundError"),
    }
    assert [tools[key].attributes["transom.tool.success"] for key in ("c1", "c2", "c3")] == [
        True,
        False,
        False,
    ]

    tries = [span for span in of(spans, "attempt") if span.parent_id == second.span_id]
    assert [span.attributes["transom.attempt"] for span in tries] == [1, 2, 3]
    assert [span.attributes.get("error.type") for span in tries] == [
        "RateLimited",
        "ProviderError",
        None,
    ]
    waits = [span.attributes["transom.retry.wait_seconds"] for span in tries]
    assert waits[:2] == [0, 0.01] and 0 < waits[2] <= 0.02

    agents = of(spans, "invoke_agent")
    (sub,) = {
        span.attributes["gen_ai.conversation.id"] for span in agents if span.attributes.get(PARENT)
    }
    inside = [span for span in spans if span.attributes.get("gen_ai.conversation.id") == sub]
    assert {span.attributes[PARENT] for span in inside} == {
        first.attributes["gen_ai.conversation.id"]
    }
    kinds = {span.attributes["gen_ai.operation.name"] for span in inside}
    assert kinds == {"sub_conversation", "invoke_agent", "chat", "attempt"}
    opened, completed = of(inside, "sub_conversation")
    assert [opened.name, completed.name] == [
        f"{does} sub_conversation {SEAT.name}.sub" for does in ("open", "complete")
    ]
    assert completed.span_id in {span.parent_id for span in of(inside, "invoke_agent")}, (
        "it was asked to sum up"
    )

    folded = of(spans, "compact")[0].attributes
    ratio = folded["transom.compaction.tokens_after"] / folded["transom.compaction.tokens_before"]
    assert folded["transom.compression.ratio"] == pytest.approx(ratio)
    assert folded["transom.compaction.folded"] >= 2
    assert [span.attributes["transom.findings"] for span in of(spans, "check")] == [1, 0]
    assert [span.attributes["transom.stage"] for span in of(spans, "stage")] == ["talk", "write"]


def test_a_tree_without_gaps(spans: list[SpanRow]) -> None:
    known = {span.span_id: span for span in spans}
    roots = [span.name for span in spans if span.parent_id is None]
    assert roots == ["stage talk", "stage write"]
    assert all(span.parent_id in known for span in spans if span.parent_id)
    for span in spans:
        if span.parent_id:
            around = known[span.parent_id]
            assert span.end and around.end and around.start <= span.start <= span.end <= around.end


def test_a_second_walk_goes_on_in_the_same_file(tmp_path: Path) -> None:
    run, first = asyncio.run(walk(tmp_path))
    again, both = asyncio.run(walk(tmp_path))
    assert run.telemetry.trace_id == again.telemetry.trace_id
    assert len(list((tmp_path / ".transom" / "traces").iterdir())) == 1
    assert both[: len(first)] == first
    assert [span.attributes["transom.stage.action"] for span in both[len(first) :]] == [
        "reuse",
        "reuse",
    ]
