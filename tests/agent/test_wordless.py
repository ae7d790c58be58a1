"""A reply without a word, as when all of its tokens went into thinking, ends no conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agent.helpers import SEAT, tool
from tests.llm.conformance.dialects import DIALECTS, Anthropic, Dialect, OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent
from transom.llm import Text

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "x"}


def anthropic(*content: Any, stop: str = "max_tokens") -> tuple[Dialect, Any]:
    return DIALECTS[0], {**DIALECTS[0].whole([], stop), "content": list(content)}


def openai(stop: str, **message: Any) -> tuple[Dialect, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": stop}
    return DIALECTS[1], {**DIALECTS[1].whole([], stop), "choices": [choice]}


def refused(dialect: Dialect, messages: list[Any]) -> str | None:
    """The messages of an assistant that the vendor's own server refuses."""
    for message in messages:
        content = message.get("content")
        if message["role"] != "assistant":
            continue
        if isinstance(dialect, OpenAI) and content is None and "tool_calls" not in message:
            return "Invalid value for 'content': expected a string, got null."
        if isinstance(dialect, Anthropic):
            if not content or any(
                block["type"] == "text" and not block["text"].strip() for block in content
            ):
                return "messages must have non-empty content"
            if content[-1]["type"] in ("thinking", "redacted_thinking"):
                return f"The final block in an assistant message cannot be `{content[-1]['type']}`."
    return None


@pytest.mark.parametrize(
    ("dialect", "wordless"),
    [
        openai("length", content=""),
        openai("length", content=None, reasoning_content="hm"),
        openai("content_filter", content=None),
        anthropic(THOUGHT),
        anthropic(HIDDEN, THOUGHT),
        anthropic({"type": "text", "text": " "}),
        anthropic(THOUGHT, {"type": "text", "text": "I"}, THOUGHT),
        anthropic(stop="refusal"),
        (DIALECTS[2], DIALECTS[2].whole([Text("")], "length")),
    ],
)
async def test_what_is_said_next_is_answered(dialect: Dialect, wordless: Any) -> None:
    bodies = [wordless, dialect.whole([Text("fine")])]

    def answer(wire: Wire, seen: Seen) -> None:
        if said := refused(dialect, seen.body["messages"]):
            wire.answer(400, json.dumps(dialect.error("invalid_request_error", said)).encode())
        else:
            wire.answer(200, json.dumps(bodies.pop(0)).encode())

    with LocalServer(answer) as server:
        provider = dialect.provider(server.url, seconds=60, stream=False)
        async with Agent(SEAT, provider=provider, tools=[tool()]) as agent:
            assert (await agent.send("Well?")).ended in ("length", "refusal")
            assert (await agent.send("And now?")).text == "fine"
        await provider.aclose()
    asked = [
        json.dumps(message)
        for message in server.seen[-1].body["messages"]
        if message["role"] == "user"
    ]
    assert "Well?" in asked[0] and "And now?" in asked[-1]
