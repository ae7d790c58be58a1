"""What compatible servers and proxies do that no vendor's page mentions, through the real SDKs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from tests.llm.conformance.dialects import DIALECTS, Dialect, OpenAI
from tests.llm.conformance.harness import ASKED
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.canonical import canonical_json
from transom.config.hosted import Retry
from transom.errors import ContextOverflow, ProviderError, RateLimited
from transom.llm import Reply, Text, ToolCallPart, Usage
from transom.llm.retrying import RetryingProvider
from transom.llm.strict_json import LEVELS

ANTHROPIC, OPENAI, OLLAMA = DIALECTS
EVENTS = "text/event-stream"


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


def event(data: Any) -> bytes:
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


async def streamed(
    server: LocalServer,
    dialect: Dialect,
    pieces: Sequence[bytes],
    content_type: str | None = EVENTS,
) -> Reply:
    """What is made of a stream that comes in just these pieces."""

    def answer(wire: Wire, _: Seen) -> None:
        named = {} if content_type is None else {"content-type": content_type}
        wire.head(200, {"transfer-encoding": "chunked", **named})
        for piece in pieces:
            wire.chunk(piece)
        wire.end()

    return await _asked(server, dialect, answer, stream=True)


async def whole(server: LocalServer, dialect: Dialect, body: Any) -> Reply:
    """What is made of a reply in one piece."""
    return await _asked(
        server, dialect, lambda wire, _: wire.answer(200, json.dumps(body).encode()), stream=False
    )


async def _asked(server: LocalServer, dialect: Dialect, answer: Any, *, stream: bool) -> Reply:
    server.answer = answer
    provider = dialect.provider(server.url, seconds=30, stream=stream)
    try:
        return await provider.complete(ASKED)
    finally:
        await provider.aclose()


async def test_a_count_that_was_told_is_not_wiped_by_a_zero_at_the_end(server: LocalServer) -> None:
    counts = {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 1}
    start = {
        "type": "message_start",
        "message": {"type": "message", "content": [], "usage": counts},
    }
    text = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": "hi"},
    }
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    for last in (
        {"input_tokens": 0, "output_tokens": 3},
        {"output_tokens": 3, "cache_read_input_tokens": 0},
    ):
        frames = [
            event(one) for one in (start, text, {**end, "usage": last}, {"type": "message_stop"})
        ]
        assert (await streamed(server, ANTHROPIC, frames)).usage == Usage(150, 3, 50)


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI], ids=lambda one: one.name)
async def test_true_is_no_count(dialect: Dialect, server: LocalServer) -> None:
    body = dialect.whole([Text("hi")])
    told = body.get("usage", body)
    for name in ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"):
        if name in told:
            told[name] = True
    usage = (await whole(server, dialect, body)).usage
    assert usage.input_tokens > 1
    assert not [count for count in usage.to_json().values() if isinstance(count, bool)]


def delta(index: int = 0, stop: str | None = None, **told: Any) -> bytes:
    return event({"choices": [{"index": index, "delta": told, "finish_reason": stop}]})


async def test_calls_that_have_neither_ids_nor_places_of_their_own_are_all_made(
    server: LocalServer,
) -> None:
    def call(name: str, arguments: str) -> bytes:
        return delta(
            tool_calls=[{"index": 0, "id": "", "function": {"name": name, "arguments": arguments}}]
        )

    frames = [
        call("look", '{"at": "a"}'),
        call("find", '{"what": "b"}'),
        delta(stop="stop"),
        event("[DONE]"),
    ]
    reply = await streamed(server, OPENAI, frames)
    assert [(one.name, one.arguments) for one in reply.calls] == [
        ("look", {"at": "a"}),
        ("find", {"what": "b"}),
    ]
    assert reply.stop == "tool_calls"


@pytest.mark.parametrize("content_type", [None, "text/plain; charset=utf-8"], ids=repr)
async def test_a_stream_is_one_whatever_it_is_called(
    content_type: str | None, server: LocalServer
) -> None:
    for dialect in (ANTHROPIC, OPENAI):
        reply = await streamed(server, dialect, dialect.pieces([Text("hi there")]), content_type)
        assert (reply.text, reply.usage) == ("hi there", dialect.usage)


def nested(levels: int) -> dict[str, Any]:
    inner: Any = 1
    for _ in range(levels - 1):
        inner = [inner]
    return {"a": inner}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_arguments_have_one_depth_however_they_come(
    dialect: Dialect, server: LocalServer
) -> None:
    for levels in (LEVELS, LEVELS + 1, LEVELS + 60):
        call = ToolCallPart("c1", "look", nested(levels))
        text = json.dumps(call.arguments, separators=(",", ":"))
        wanted = call.arguments if levels <= LEVELS else text
        for reply in (
            await whole(server, dialect, dialect.whole([call])),
            await streamed(server, dialect, dialect.pieces([call]), dialect.stream_type),
        ):
            told = reply.calls[0].arguments
            assert (told.replace(" ", "") if isinstance(told, str) else told) == wanted


@pytest.mark.parametrize("levels", [900, 100_000])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_what_is_nested_without_measure_is_no_reply_and_no_trouble(
    dialect: Dialect, levels: int, server: LocalServer
) -> None:
    deep = "[" * levels + "]" * levels
    body = json.dumps(dialect.whole([ToolCallPart("c1", "look", {"a": "HERE"})])).replace(
        '"HERE"', deep
    )
    error = json.dumps(dialect.error("api_error", "HERE")).replace('"HERE"', deep)
    texts = isinstance(dialect, OpenAI)  # whose arguments are a text
    for status, raw in ((200, error if texts else body), (500, error), (200, deep)):
        server.answer = partial(answered, status=status, body=raw.encode())
        provider = dialect.provider(server.url, seconds=30, stream=False, max_body=2**20)
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ASKED)
        assert caught.value.retryable
        await provider.aclose()


async def test_numbers_that_an_sdk_takes_and_json_has_not_come_as_text(server: LocalServer) -> None:
    call = ToolCallPart("c1", "look", {"at": "HERE", "lines": [1]})
    for number, told in (("1e999", "Infinity"), ("NaN", "NaN")):
        body = json.dumps(OLLAMA.whole([call])).replace('"HERE"', number).encode()
        server.answer = partial(answered, status=200, body=body)
        provider = OLLAMA.provider(server.url, seconds=30, stream=False)
        reply = await provider.complete(ASKED)
        assert reply.calls[0].arguments == f'{{"at": {told}, "lines": [1]}}'
        assert told in canonical_json(reply.to_json()), "which can be journaled"
        await provider.aclose()


def answered(wire: Wire, _: Seen, *, status: int, body: bytes) -> None:
    wire.answer(status, body)


async def test_to_ask_again_at_once_is_not_taken_literally(server: LocalServer) -> None:
    policy = Retry(max_attempts=3, initial_delay=0.1, jitter=0)
    for header in ("0", "Wed, 21 Oct 2015 07:28:00 GMT"):
        seen: list[float] = []
        server.answer = partial(_busy, seen=seen, header=header)
        provider = RetryingProvider(OPENAI.provider(server.url, seconds=30, stream=False), policy)
        with pytest.raises(RateLimited):
            await provider.complete(ASKED)
        waits = [after - before for before, after in pairwise(seen)]
        assert len(waits) == 2 and waits[0] >= 0.1 and waits[1] >= 0.2, waits
        await provider.aclose()


def _busy(wire: Wire, _: Seen, *, seen: list[float], header: str) -> None:
    seen.append(time.monotonic())
    wire.answer(429, b'{"error": {"message": "slow"}}', {"retry-after": header})


@pytest.mark.parametrize(
    ("told", "cost"),
    [
        ({"cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 3.5}}, 3.75),
        ({"cost": 0, "is_byok": True}, None),
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": -1}}, None),
        ({"cost": 3.5, "is_byok": False, "cost_details": {"upstream_inference_cost": 3.5}}, 3.5),
        ({"cost": 3.5, "cost_details": {"upstream_inference_cost": 3.5}}, 3.5),
        ({"cost": -1}, None),
    ],
)
async def test_what_it_costs_counts_what_the_vendor_charges_for_the_users_own_key(
    told: dict[str, Any], cost: float | None, server: LocalServer
) -> None:
    body = OPENAI.whole([Text("hi")])
    body["usage"] = {"prompt_tokens": 100, "completion_tokens": 5, **told}
    assert (await whole(server, OPENAI, body)).usage == Usage(100, 5, cost=cost)


@pytest.mark.parametrize("before", ["", "\n\n"], ids=repr)
@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI], ids=lambda one: one.name)
async def test_a_body_that_is_json_and_called_a_stream_is_read(
    dialect: Dialect, before: str, server: LocalServer
) -> None:
    def sent(body: Any) -> list[bytes]:
        text = before + json.dumps(body)
        return [text[:3].encode(), text[3:].encode()]

    with pytest.raises(ContextOverflow) as caught:
        await streamed(server, dialect, sent(dialect.overflow()))
    assert (caught.value.needed, caught.value.limit) == (9_000, 8_192)
    assert (await streamed(server, dialect, sent(dialect.whole([Text("hi")])))).text == "hi"
