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


@given(
    st.data(),
    st.lists(st.dictionaries(st.sampled_from(["a", "b", "ü"]), values, max_size=3), max_size=4),
)
def test_events_are_the_same_however_they_are_cut(
    data: st.DataObject, sent: list[dict[str, Any]]
) -> None:
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
        st.sampled_from(
            ["", "\ufeff", "\r\n\r\n", ": ping\n\n", "id: 1\n", "event: x\n", "retry: 5\n\n"]
        )
    )
    raw = (first + 'data: {"a": "ü"}\n\ndata:[DONE]\n\n').encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read(pieces, content_type) == [{"a": "ü"}]


@pytest.mark.parametrize("cut", range(1, 15))
def test_an_event_has_its_name_wherever_its_line_ends_are_cut(cut: int) -> None:
    """CR and LF are one line end, also where the one came before the other: two would be the end
    of the event.
    """
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
        (b'{"error": {"message": "busy"}}', EVENTS + "; but JSON", "busy"),
        (b"event: error\ndata: broken\n\n", EVENTS, "broken"),
        (b'event: error\ndata: {"message": "busy"}\n\n', EVENTS, "busy"),
    ],
)
def test_what_is_no_reply_is_an_error(raw: bytes, content_type: str, says: str | None) -> None:
    if says is None:
        # JSON under a stream's name holds no event: the reply broke off
        assert read([raw], content_type) == []
        return
    with pytest.raises(ProviderError, match=says) as caught:
        read([raw], content_type)
    assert caught.value.retryable


Sizes = tuple[int | None, int | None]
WORDINGS: list[tuple[str, Sizes]] = [
    # vLLM, oldest first
    (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum"
            " context length is 4096 tokens and your request has 1200 input tokens (4000 > 4096 -"
            " 1200). None"
        ),
        (5_200, 4_096),
    ),
    (
        (
            "This model's maximum context length is 32768 tokens. However, your request has 40000"
            " input tokens. Please reduce the length of the input messages."
        ),
        (40_000, 32_768),
    ),
    (
        (
            "The decoder prompt (length 8218) is longer than the maximum model length of 8192. Make"
            " sure that `max_model_len` is no smaller than the number of text tokens."
        ),
        (8_218, 8_192),
    ),
    (
        (
            "This model's maximum context length is 8192 tokens. However, you requested 64 output"
            " tokens and your prompt contains at least 8129 input tokens, for a total of at least"
            " 8193 tokens. Please reduce the length of the input prompt or the number of requested"
            " output tokens."
        ),
        (8_193, 8_192),
    ),
    (
        (
            "You passed 31745 input tokens and requested 1024 output tokens. However, the model's"
            " context length is only 32768 tokens, resulting in a maximum input length of 31744"
            " tokens. Please reduce the length of the input prompt. (parameter=input_tokens,"
            " value=31745)"
        ),
        (32_769, 32_768),
    ),
    # SGLang, Together
    (
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        (9_000, 8_192),
    ),
    ("Input length (265330) exceeds model's maximum context length (262144).", (265_330, 262_144)),
    (
        (
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You"
            " requested a total of 9100 tokens: 9000 tokens from the input messages and 100 tokens"
            " for the completion."
        ),
        (9_100, 8_192),
    ),
    # TGI, Together
    (
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given:"
            " 9000 `inputs` tokens and 512 `max_new_tokens`"
        ),
        (9_512, 8_193),
    ),
    (
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        (5_000, 4_096),
    ),
    # Gemini, in its two wordings
    (
        "The input token count (1198576) exceeds the maximum number of tokens allowed (1048576).",
        (1_198_576, 1_048_576),
    ),
    (
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        (None, 1_048_576),
    ),
    # Mistral, xAI, Bedrock, LM Studio, OpenRouter, Fireworks, Cohere, Cerebras, Moonshot
    (
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768"
            " maximum context length"
        ),
        (40_000, 32_768),
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
        (200_000, 131_072),
    ),
    ("Input is too long for requested model.", (None, None)),
    (
        (
            "The number of tokens to keep from the initial prompt is greater than the context"
            " length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context"
            " length, or provide a shorter input."
        ),
        (13_055, 4_096),
    ),
    ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", (15_028, 7_424)),
    (
        (
            "Trying to keep the first 5000 tokens when context the overflows. However, the model is"
            " loaded with context length of only 4096 tokens"
        ),
        (5_000, 4_096),
    ),
    (
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about"
            " 150000 tokens (149000 of text input, 1000 in the output). Please reduce the length of"
            " either one"
        ),
        (150_000, 131_072),
    ),
    ("The prompt is too long: 140000, model maximum context length: 131071", (140_000, 131_071)),
    (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4500.",
        (4_500, 4_081),
    ),
    (
        (
            "Please reduce the length of the messages or completion. Current length is 10000 while"
            " limit is 8192"
        ),
        (10_000, 8_192),
    ),
    ("Invalid request: Your request exceeded model token limit: 8192", (None, 8_192)),
    (
        "Your input exceeds the context window of this model. Please adjust your input.",
        (None, None),
    ),
    ("prompt too long; exceeded max context length by 123 tokens", (None, None)),
]


def _worded(said: str) -> Json:
    return {"error": {"message": said}}


OVERFLOWS: list[tuple[Json, Sizes]] = [
    (
        {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}},
        (210_000, 200_000),
    ),
    (
        {
            "error": {
                "message": (
                    "input length and `max_tokens` exceed context limit: 188,240 + 21333 > 200000"
                )
            }
        },
        (209_573, 200_000),
    ),
    (
        {
            "error": {
                "code": "context_length_exceeded",
                "message": (
                    "Input tokens exceed the configured limit of 272000 tokens. "
                    "Your messages resulted in 300010 tokens."
                ),
            }
        },
        (300_010, 272_000),
    ),
    (
        {
            "message": (
                "This model's maximum context length is 4096 tokens. However, you requested 5000"
                " tokens (4000 in the messages, 1000 in the completion)."
            )
        },
        (5_000, 4_096),
    ),
    (
        {
            "error": {
                "code": 400,
                "type": "exceed_context_size_error",
                "message": (
                    "request (9001 tokens) exceeds the available context size (8192 tokens), try"
                    " increasing it"
                ),
                "n_prompt_tokens": 9001,
                "n_ctx": 8192,
            }
        },
        (9_001, 8_192),
    ),
    ({"error": "the input length exceeds the context length"}, (None, None)),
    *((_worded(said), sizes) for said, sizes in WORDINGS),
    (
        [{"error": {"code": 400, "message": "Input is too long.", "status": "INVALID_ARGUMENT"}}],
        (None, None),
    ),
    (
        {
            "code": "Client specified an invalid argument",
            "error": (
                "This model's maximum prompt length is 8192 but the request contains 9000 tokens."
            ),
        },
        (9_000, 8_192),
    ),
    (
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": '{"message":"prompt is too long: 9000 tokens > 8192 maximum"}',
                    "provider_name": "X",
                },
            }
        },
        (9_000, 8_192),
    ),
    (
        {"error": {"message": f"prompt is too long: {'9' * 5_000} tokens > 200000 maximum"}},
        (None, None),
    ),
]


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(("body", "sizes"), OVERFLOWS)
def test_an_overflow_carries_its_sizes_in_whoever_words(
    body: Json, sizes: Sizes, status: int
) -> None:
    error = from_status(status, body, {})
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.limit) == sizes
    assert not error.retryable


@pytest.mark.parametrize(("body", "sizes"), [one for one in OVERFLOWS if isinstance(one[0], dict)])
def test_an_overflow_is_one_too_where_it_stands_in_a_reply(
    body: dict[str, Json], sizes: Sizes
) -> None:
    error = from_error_in_reply(body.get("error") or body)
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.limit, error.retryable) == (*sizes, False)


@pytest.mark.parametrize(
    "error",
    [
        {
            "type": "rate_limit_error",
            "message": "Too many tokens, the context limit of this minute",
        },
        {"message": "Too many tokens, please wait before trying again."},
        {"code": "rate_limit_exceeded", "message": "too many tokens per minute"},
        {"type": "overloaded_error", "message": "input length exceeds what can be served now"},
    ],
)
def test_a_limit_of_tokens_in_a_time_is_no_overflow(error: Json) -> None:
    assert not isinstance(from_error_in_reply(error), ContextOverflow)
    assert from_error_in_reply(error).retryable


@pytest.mark.parametrize(
    "said",
    [
        "Unknown parameter: 'context_size'. Did you mean 'max_tokens'?",
        "Unrecognized request argument supplied: context_length",
        "Extra inputs are not permitted: context_window is an unexpected keyword",
        "Unsupported parameter for the context window: 'truncate'",
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000",
        "max_tokens is too large: 20000. This model supports at most 16384 completion tokens",
        (
            "Invalid 'messages[0].content': string too long. Expected a string with maximum length"
            " 10485760"
        ),
        "Input should be a valid string",
    ],
)
def test_what_is_refused_for_something_else_is_no_overflow(said: str) -> None:
    assert type(from_status(400, {"error": {"message": said}}, {})) is RequestRefused


def test_what_a_server_says_at_length_holds_up_nothing() -> None:
    """Of a megabyte the patterns would make minutes, and of what may come in days: this test
    ends in no time.
    """
    error = from_status(
        400, {"error": {"message": "context length " + "limit of 1 tokens " * 60_000}}, {}
    )
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.limit) == (None, None)
    for said in (
        "exceed",
        "exceeds ",
        "input token count ",
        "unknown ",
        "extra-",
        "1 ",
        "1,",
        "(1) exceeds ",
    ):
        from_status(
            400,
            {"error": {"message": "context length is 1 tokens " + said * (1_000_000 // len(said))}},
            {},
        )


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
    assert error.problem.startswith(f"status {status}")


def test_an_empty_purse_is_not_asked_again() -> None:
    assert not from_status(
        429, {"error": {"message": "quota", "code": "insufficient_quota"}}, {}
    ).retryable


@pytest.mark.parametrize(
    "body", [None, "", [], 3, {}, {"error": None}, {"error": []}, {"error": {"message": {"a": 1}}}]
)
def test_any_body_of_an_error_can_be_read(body: Json) -> None:
    assert from_status(500, body, {}).retryable
    assert "\n" not in from_status(500, "a\nb" * 1000, {}).problem


def test_an_error_in_a_reply_that_names_a_status_is_that() -> None:
    for code in (429, "429"):
        assert type(from_error_in_reply({"code": code, "message": "slow"})) is RateLimited
    assert not from_error_in_reply({"type": "invalid_request_error", "message": "no"}).retryable
    assert from_error_in_reply({"type": "overloaded_error", "message": "busy"}).retryable
