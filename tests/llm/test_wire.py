"""From bytes to documents, however the network cuts them; from what servers say to typed errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.canonical import Json
from transom.errors import (
    AuthenticationFailed,
    ContextOverflow,
    NetworkFailed,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from transom.llm.hosted.failures import from_error_in_reply, from_status
from transom.llm.hosted.wire import documents

EVENTS = "text/event-stream"


def read(pieces: list[bytes], content_type: str = EVENTS) -> list[dict[str, Any]]:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def whole() -> list[dict[str, Any]]:
        return [document async for document in documents(body(), content_type)]

    return asyncio.run(whole())


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.data(), st.lists(st.dictionaries(st.sampled_from(["a", "b", "ü"]), values, max_size=3), max_size=4))
def test_events_are_the_same_however_they_are_cut(data: st.DataObject, sent: list[dict[str, Any]]) -> None:
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = ": a remark" + end + end
    for one in sent:
        text += f"event: x{end}data: {json.dumps(one, ensure_ascii=False)}{end}id: 7{end}{end}"
    raw = (text + f"data: [DONE]{end}{end}data: half").encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read(pieces) == sent


@given(st.data(), st.sampled_from(["", "text/plain", "application/json"]))
def test_events_are_events_whatever_they_are_called(data: st.DataObject, content_type: str) -> None:
    first = data.draw(
        st.sampled_from(["", "\ufeff", "\r\n\r\n", ": ping\n\n", "id: 1\n", "event: x\n", "retry: 5\n\n"])
    )
    raw = (first + 'data: {"a": "ü"}\n\ndata:[DONE]\n\n').encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read(pieces, content_type) == [{"a": "ü"}]


@pytest.mark.parametrize("cut", range(1, 15))
def test_an_event_has_its_name_wherever_its_line_ends_are_cut(cut: int) -> None:
    """CR and LF are one line end, also where the one came before the other: two would be the end of the event."""
    raw = b"event: error\r\ndata: busy\r\n\r\n"
    with pytest.raises(ProviderError, match="busy"):
        read([raw[:cut], raw[cut:]])


def test_data_over_several_lines_is_one_document() -> None:
    assert read([b'data: {"a":\ndata: 1}\n\n']) == [{"a": 1}]


@pytest.mark.parametrize(
    ("raw", "content_type", "says"),
    [
        (b"<html>", "text/html", "no JSON"),
        (b"[1]", "application/json", "no object"),
        (b"", "application/json", "no JSON"),
        (b" \n", "", "no JSON"),
        (b"dat", "", "no JSON"),
        (b"data: [1]\n\n", EVENTS, "no object"),
        (b'{"error": "busy"}', "application/json", "busy"),
        (b'{"error": {"message": "busy"}}', EVENTS + "; but JSON", None),
        (b"event: error\ndata: broken\n\n", EVENTS, "broken"),
        (b'event: error\ndata: {"message": "busy"}\n\n', EVENTS, "busy"),
    ],
)
def test_what_is_no_reply_is_an_error(raw: bytes, content_type: str, says: str | None) -> None:
    if says is None:
        assert read([raw], content_type) == []  # JSON under a stream's name holds no event: the reply broke off
        return
    with pytest.raises(ProviderError, match=says) as caught:
        read([raw], content_type)
    assert caught.value.retryable


OVERFLOWS: list[tuple[Json, tuple[int | None, int | None]]] = [
    ({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}, (210_000, 200_000)),
    (
        {"error": {"message": "input length and `max_tokens` exceed context limit: 188,240 + 21333 > 200000"}},
        (209_573, 200_000),
    ),
    (
        {
            "error": {
                "code": "context_length_exceeded",
                "message": "Input tokens exceed the configured limit of 272000 tokens. "
                "Your messages resulted in 300010 tokens.",
            }
        },
        (300_010, 272_000),
    ),
    (
        {
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens "
            "(4000 in the messages, 1000 in the completion)."
        },
        (5_000, 4_096),
    ),
    (
        {
            "error": {
                "code": 400,
                "type": "exceed_context_size_error",
                "message": "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
                "n_prompt_tokens": 9001,
                "n_ctx": 8192,
            }
        },
        (9_001, 8_192),
    ),
    ({"error": "the input length exceeds the context length"}, (None, None)),
    ({"error": {"message": f"prompt is too long: {'9' * 5_000} tokens > 200000 maximum"}}, (None, None)),
]


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(("body", "sizes"), OVERFLOWS)
def test_an_overflow_carries_its_sizes_in_whoever_words(
    body: Json, sizes: tuple[int | None, int | None], status: int
) -> None:
    error = from_status(status, body, {})
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.limit) == sizes
    assert not error.retryable


def test_what_a_server_says_at_length_holds_up_nothing() -> None:
    """Of a megabyte the patterns would make minutes, and of what may come in days: this test ends in no time."""
    error = from_status(400, {"error": {"message": "context length " + "limit of 1 tokens " * 60_000}}, {})
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.limit) == (None, None)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (301, ProviderError, False),
        (401, AuthenticationFailed, False),
        (402, RequestRefused, False),
        (403, AuthenticationFailed, False),
        (404, RequestRefused, False),
        (408, NetworkFailed, True),
        (409, ProviderError, True),
        (425, ProviderError, True),
        (429, RateLimited, True),
        (451, RequestRefused, False),
        (500, ProviderError, True),
        (501, ProviderError, False),
        (529, ProviderError, True),
        (599, ProviderError, True),
    ],
)
def test_the_status_decides(status: int, kind: type[ProviderError], retryable: bool) -> None:
    error = from_status(status, {"error": {"message": "why"}}, {"retry-after": "3"})
    assert (type(error), error.retryable) == (kind, retryable)
    assert error.what.startswith(f"status {status}")


def test_an_empty_purse_is_not_asked_again() -> None:
    assert not from_status(429, {"error": {"message": "quota", "code": "insufficient_quota"}}, {}).retryable


@pytest.mark.parametrize(
    "body", [None, "", [], 3, {}, {"error": None}, {"error": []}, {"error": {"message": {"a": 1}}}]
)
def test_any_body_of_an_error_can_be_read(body: Json) -> None:
    assert from_status(500, body, {}).retryable
    assert "\n" not in from_status(500, "a\nb" * 1000, {}).what


def test_an_error_in_a_reply_that_names_a_status_is_that() -> None:
    assert type(from_error_in_reply({"code": 429, "message": "slow"})) is RateLimited
    assert not from_error_in_reply({"type": "invalid_request_error", "message": "no"}).retryable
    assert from_error_in_reply({"type": "overloaded_error", "message": "busy"}).retryable
