"""What is put on the wire: each vendor's shape of the same conversation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.canonical import Json, canonical_json
from transom.llm import (
    AssistantMessage,
    Block,
    CallSettings,
    Opaque,
    Request,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    ToolSpec,
    Turn,
    Window,
)
from transom.llm.hosted import HostedProvider, Server
from transom.llm.hosted.anthropic import AnthropicVendor
from transom.llm.hosted.models import known_model
from transom.llm.hosted.ollama import OllamaVendor
from transom.llm.hosted.openai import OFFICIAL, OpenAIVendor

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
BLOCKS = (Block("role", "You.", Tier.STABLE), Block("task", "Do.", Tier.SESSION), Block("now", "1"))
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "s"}


def exchange(number: int, *more: Opaque) -> tuple[Turn, Turn]:
    calls = tuple(ToolCallPart(f"c{number}{at}", "look", {"at": at}) for at in "ab")
    results = tuple(
        ToolResultPart(call.id, "look", f"found {call.id}", trust="ours") for call in calls
    )
    return AssistantMessage((*more, Text("Let me look."), *calls)), ToolResults(results)


def asked(*turns: Turn, **more: Any) -> Request:
    return Request("r", Window(BLOCKS, turns), (LOOK,), **more)


def anthropic(request: Request) -> Any:
    return AnthropicVendor(Server("http://x")).body(
        request, "m", known_model("anthropic", "claude-x")
    )


def openai(request: Request, url: str = "http://x/v1", service: str = "") -> Any:
    return OpenAIVendor(Server(url)).body(request, "m", known_model(service, "m"))


def ollama(request: Request) -> Any:
    return OllamaVendor(Server("http://x")).body(request, "m", known_model("ollama", "m"))


def marked(body: Any) -> list[str]:
    """What each cache breakpoint stands at the end of."""
    blocks = [
        *body.get("system", []),
        *(block for message in body["messages"] for block in message["content"]),
    ]
    return [
        block.get("text") or block.get("tool_use_id")
        for block in blocks
        if "cache_control" in block
    ]


def test_all_results_of_a_reply_stand_in_one_message_before_what_follows() -> None:
    messages = anthropic(asked(*exchange(1)))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in messages[2]["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    assert messages[2]["content"][-1]["text"] == "<now>\n1\n</now>"


def test_breakpoints_stand_at_the_ends_of_tiers_and_of_the_last_two_exchanges() -> None:
    first, second, third = exchange(1), exchange(2), exchange(3)
    system, task = "<role>\nYou.\n</role>", "<task>\nDo.\n</task>"
    assert marked(anthropic(asked())) == [system, task]
    assert marked(anthropic(asked(*first))) == [system, task, "c1b"]
    assert marked(anthropic(asked(*first, *second, *third))) == [system, task, "c2b", "c3b"]


def test_what_was_sent_before_begins_what_is_sent_next() -> None:
    def sent(*turns: Turn) -> str:
        body = anthropic(asked(*turns))
        content = [
            {key: value for key, value in block.items() if key != "cache_control"}
            for message in body["messages"]
            for block in message["content"]
        ]
        return canonical_json(content[:-1])[:-1]  # without the turn blocks, which are not kept

    first, second = exchange(1), exchange(2)
    assert sent(*first).startswith(sent())
    assert sent(*first, *second).startswith(sent(*first))


def test_thinking_goes_back_as_it_came_and_to_nobody_else() -> None:
    turns = exchange(
        1, Opaque({"anthropic": THOUGHT}), Opaque({"openai": {"reasoning_content": "hm"}})
    )
    assert anthropic(asked(*turns))["messages"][1]["content"][0] == THOUGHT
    assert openai(asked(*turns))["messages"][2]["reasoning_content"] == "hm"
    assert "signature" not in canonical_json(openai(asked(*turns)))
    assert "reasoning_content" not in canonical_json(anthropic(asked(*turns)))
    said = ollama(asked(*exchange(1, Opaque({"ollama": {"thinking": "hm"}}))))["messages"][2]
    assert said["thinking"] == "hm"


def test_one_message_a_result_and_arguments_as_text() -> None:
    messages = openai(asked(*exchange(1)))["messages"]
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert messages[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at":"a"}'}
    assert [message["tool_call_id"] for message in messages[3:5]] == ["c1a", "c1b"]
    messages = ollama(asked(*exchange(1)))["messages"]
    assert messages[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": {"at": "a"}}
    assert messages[3] == {"role": "tool", "tool_name": "look", "content": "found c1a"}


def test_before_a_conversation_all_is_one_message() -> None:
    for made in (openai(asked()), ollama(asked())):
        assert made["messages"][1] == {
            "role": "user",
            "content": "<task>\nDo.\n</task>\n\n<now>\n1\n</now>",
        }


def test_arguments_that_were_no_json_go_back_in_the_vendors_shape() -> None:
    said = AssistantMessage((ToolCallPart("1", "look", '{"at": '),))
    turns = (
        said,
        ToolResults((ToolResultPart("1", "look", "no JSON", is_error=True, trust="ours"),)),
    )
    assert anthropic(asked(*turns))["messages"][1]["content"][0]["input"] == {"not_json": '{"at": '}
    assert (
        openai(asked(*turns))["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"at": '
    )
    assert anthropic(asked(*turns))["messages"][2]["content"][0]["is_error"] is True


def test_sampling_goes_only_where_it_is_taken() -> None:
    warm = asked(settings=CallSettings(100, 0.5))
    assert "temperature" not in anthropic(warm)
    assert openai(warm)["temperature"] == ollama(warm)["options"]["temperature"] == 0.5
    reasoning = OpenAIVendor(Server(OFFICIAL)).body(warm, "o3", known_model("openai", "o3"))
    assert "temperature" not in reasoning


def test_the_name_of_the_cap_differs_between_openai_and_those_like_it() -> None:
    assert openai(asked(), OFFICIAL)["max_completion_tokens"] == 16_384
    assert openai(asked())["max_tokens"] == 16_384


def test_ollama_is_told_the_window_since_it_would_cut_without_a_word() -> None:
    assert ollama(asked())["options"] == {"num_ctx": 8_192, "num_predict": 16_384}


def test_openrouter_hands_breakpoints_on() -> None:
    caps = known_model("openrouter", "anthropic/x")
    body: Any = OpenAIVendor(Server("https://openrouter.ai/api/v1")).body(
        asked(*exchange(1)), "anthropic/x", caps
    )
    marked = [
        message["role"] for message in body["messages"] if isinstance(message["content"], list)
    ]
    assert marked == ["system", "user"]
    assert body["extra_body"] == {"cache_control": {"type": "ephemeral"}}, (
        "the growing history is kept as well"
    )
    plain: Any = OpenAIVendor(Server("https://openrouter.ai/api/v1")).body(
        asked(), "anthropic/x", caps
    )
    assert "extra_body" not in plain


def answering(output: dict[str, Json]) -> Request:
    return Request("r", Window(BLOCKS), output=output)


OPEN: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "object", "properties": {}}},
}


def test_schemas_are_closed_for_who_wants_them_closed() -> None:
    shown = anthropic(asked(output=OPEN))["output_config"]["format"]["schema"]
    assert (
        shown["additionalProperties"] is shown["properties"]["a"]["additionalProperties"] is False
    )
    assert ollama(answering(OPEN))["format"] == OPEN
    loose = openai(answering(OPEN))["response_format"]["json_schema"]
    assert (loose["strict"], loose["schema"]) == (False, OPEN)
    tight: dict[str, Json] = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
    }
    assert openai(answering(tight))["response_format"]["json_schema"]["strict"] is True


parts = st.lists(
    st.one_of(
        st.text(max_size=5).map(Text),
        st.builds(
            ToolCallPart,
            st.uuids().map(str),
            st.just("look"),
            st.dictionaries(st.text(max_size=3), st.integers()),
        ),
        st.just(Opaque({"anthropic": THOUGHT})),
    ),
    max_size=4,
)


@given(st.lists(parts, max_size=6), st.booleans(), st.booleans())
def test_any_conversation_has_a_shape_that_the_messages_api_takes(
    replies: list[list[Any]], with_task: bool, with_now: bool
) -> None:
    turns: list[Turn] = []
    for reply in replies:
        said = AssistantMessage(tuple(reply))
        turns.append(said)
        if said.calls:
            turns.append(
                ToolResults(tuple(ToolResultPart(call.id, call.name, "x") for call in said.calls))
            )
    blocks = [
        block for block, there in zip(BLOCKS[1:], (with_task, with_now), strict=True) if there
    ]
    body = anthropic(Request("r", Window((BLOCKS[0], *blocks), tuple(turns)), (LOOK,)))
    roles = [message["role"] for message in body["messages"]]
    assert all(one != after for one, after in pairwise(roles))
    assert not roles or roles[0] == "user"
    assert len(marked(body)) <= 4
    seen: set[str] = set()
    for message in body["messages"]:
        assert message["content"]
        assert message["role"] == "user" or message["content"][-1]["type"] in ("text", "tool_use")
        for block in message["content"]:
            assert block["type"] != "text" or block["text"].strip()
            seen |= {block["id"]} if block["type"] == "tool_use" else set()
            assert block["type"] != "tool_result" or block["tool_use_id"] in seen


@pytest.mark.parametrize(
    "bytes_sent", ["plain English text. " * 400, '{"a":[1,2,3],"b":null},' * 400]
)
def test_estimates_are_above_what_tokenizers_make_of_it(bytes_sent: str) -> None:
    # o200k makes 4.5 and 2.3 characters a token of these; estimates stay within twice of the
    # former.
    request = Request("r", Window((Block("x", bytes_sent),)))
    vendor = OpenAIVendor(Server("http://x"))
    estimate = HostedProvider(
        vendor, "gpt-4.1", Server("http://x"), known_model("openai", "gpt-4.1")
    ).estimate_tokens(request)
    assert len(bytes_sent) / 4.5 <= estimate <= len(bytes_sent) / 2.25
