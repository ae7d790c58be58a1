"""What becomes of a reply as servers really write it: calls of one place, halves of characters,
usage from thin air.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import ProviderError
from transom.llm import Reply, Text, ToolCallPart, Usage
from transom.llm.hosted.draft import ReplyAssembler
from transom.llm.hosted.openai import OpenAIVendor
from transom.llm.hosted.server import Server

GUESS = Usage(50)
END: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def put_together(*documents: dict[str, Any]) -> Reply:
    vendor, draft = OpenAIVendor(Server("http://a", "key")), ReplyAssembler()
    for document in documents:
        vendor.take(document, draft)
    return draft.reply("openai:m", vendor.stops, calls_before=3, usage=GUESS)


def piece(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta}]}


def call(
    index: object, ident: str | None, arguments: object, name: str | None = "look"
) -> dict[str, Any]:
    return {"index": index, "id": ident, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("index", [None, 0, [0], {"a": 1}], ids=repr)
def test_another_id_begins_another_call_wherever_it_stands(index: object) -> None:
    reply = put_together(
        piece(tool_calls=[call(index, "a", '{"x":')]),
        piece(tool_calls=[call(index, None, "1}", None)]),
        piece(tool_calls=[call(index, "b", '{"x":')]),
        piece(tool_calls=[call(index, None, "2}", None)]),
        END,
    )
    assert reply.parts == (ToolCallPart("a", "look", {"x": 1}), ToolCallPart("b", "look", {"x": 2}))


def test_a_reply_that_calls_is_no_answer_although_its_server_says_that_it_is_over() -> None:
    calls = piece(content="I look.", tool_calls=[call(0, "a", "{}")])
    assert put_together(calls, END).stop == "tool_calls"
    assert put_together(piece(content="I looked."), END).stop == "end"
    cut: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "length"}]}
    assert put_together(calls, cut).stop == "length", "the last call may not be whole"


@pytest.mark.parametrize("index", [None, 0], ids=repr)
@pytest.mark.parametrize("ident", [None, ""], ids=repr)
def test_calls_without_ids_or_places_are_as_many_as_are_named(
    index: object, ident: str | None
) -> None:
    reply = put_together(
        piece(tool_calls=[call(index, ident, '{"a": 1}', "look")]),
        piece(tool_calls=[call(index, ident, '{"b": 2}', "find")]),
        piece(tool_calls=[call(index, ident, '{"b": 3}', "find")]),
        piece(tool_calls=[call(index, ident, "", "list")]),
        piece(tool_calls=[call(index, ident, '{"c"', "read")]),
        piece(tool_calls=[call(index, ident, ": 4}", None)]),
        END,
    )
    asked = [
        ("look", {"a": 1}),
        ("find", {"b": 2}),
        ("find", {"b": 3}),
        ("list", {}),
        ("read", {"c": 4}),
    ]
    assert [(one.name, one.arguments) for one in reply.calls] == asked
    assert [one.id for one in reply.calls] == [f"call_{number}" for number in range(4, 9)]


@pytest.mark.parametrize("as_text", [True, False], ids=["text", "JSON"])
def test_one_id_is_one_call_whatever_its_server_says_twice(as_text: bool) -> None:
    """Half of it must not be carried out beside it; what comes twice as text is no JSON, and the
    model is told.
    """
    first, more = (json.dumps(one) if as_text else one for one in ({"a": 1}, {"a": 1, "b": 2}))
    reply = put_together(
        piece(tool_calls=[call(0, "x", first)]), piece(tool_calls=[call(0, "x", more)]), END
    )
    (made,) = reply.calls
    assert made.arguments == ('{"a": 1}{"a": 1, "b": 2}' if as_text else {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("ident", "name"), [("x", "look"), ("x", None), (None, None), (None, "look")]
)
def test_an_empty_object_holds_the_place_of_arguments_that_come_in_pieces(
    ident: str | None, name: str | None
) -> None:
    cut = ['{"a": {', '"b": 1}', "}"]
    pieces = [call(0, "x", {}), *(call(0, ident, one, name) for one in cut)]
    reply = put_together(*(piece(tool_calls=[one]) for one in pieces), END)
    assert reply.parts == (ToolCallPart("x", "look", {"a": {"b": 1}}),)


@pytest.mark.parametrize("told", ["null", " null ", None, "", "{}"], ids=repr)
def test_null_is_no_arguments(told: str | None) -> None:
    """Some models say it for a tool that takes none; a `once` call is the same one, however that
    is said.
    """
    assert [
        one.arguments for one in put_together(piece(tool_calls=[call(0, "a", told)]), END).calls
    ] == [{}]


def test_what_says_its_arguments_again_without_an_id_is_another_call() -> None:
    told: Any = {"a": 1}
    whole = piece(tool_calls=[call(None, None, told)])
    assert [one.arguments for one in put_together(whole, whole, END).calls] == [told, told]


@given(st.data())
def test_a_name_with_every_piece_is_one_call_however_it_is_cut(data: st.DataObject) -> None:
    arguments = {"a": "{}", "b": {"c": '"}{'}, "d": [{}, {"e": {}}]}
    text = json.dumps(arguments)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    parts = [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    reply = put_together(*(piece(tool_calls=[call(0, "x", part)]) for part in [*parts, ""]), END)
    assert [(one.name, one.arguments) for one in reply.calls] == [("look", arguments)]


def test_an_id_is_given_once() -> None:
    reply = put_together(piece(tool_calls=[call(0, "a", "{}"), call(1, "a", '{"x": 1}')]), END)
    assert [one.id for one in reply.calls] == ["a", "call_5"]


def test_who_calls_a_tool_without_a_name_is_asked_again() -> None:
    with pytest.raises(ProviderError, match="does not name it") as caught:
        put_together(piece(tool_calls=[call(0, "a", "{}", None)]), END)
    assert caught.value.retryable


def test_a_refusal_is_one_although_the_stream_then_ends_as_any_other() -> None:
    reply = put_together(piece(refusal="I can"), piece(refusal="not."), END)
    assert (reply.stop, reply.text) == ("refusal", "I cannot.")


@pytest.mark.parametrize("arguments", ['{"x": NaN}', '{"x": 1e999}', '{"x": -Infinity}', "{"])
def test_arguments_that_are_no_json_come_as_the_text_that_they_are(arguments: str) -> None:
    assert (
        put_together(piece(tool_calls=[call(0, "a", arguments)]), END).calls[0].arguments
        == arguments
    )


def test_halves_of_characters_are_joined_or_replaced() -> None:
    assert put_together(piece(content="a\ud83d"), piece(content="\ude00"), END).parts == (
        Text("a😀"),
    )
    assert put_together(piece(content="a\ud83d"), END).text == "a\ufffd"
    halves = piece(tool_calls=[call(0, "a", '{"\\ud800": ["\\udc80", "\\ud83d\\ude00"]}')])
    assert put_together(halves, END).calls[0].arguments == {"\ufffd": ["\ufffd", "😀"]}


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        (None, Usage(50, 2)),
        ({}, Usage(50, 2)),
        ({"prompt_tokens": -5, "completion_tokens": 3}, Usage(50, 2)),
        ({"prompt_tokens": 9, "completion_tokens": -3}, Usage(50, 2)),
        ({"prompt_tokens": 10**30, "completion_tokens": 3}, Usage(50, 2)),
        ({"prompt_tokens": True, "completion_tokens": True}, Usage(50, 2)),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 10}, "cost": 0.5},
            Usage(50, 2, cost=0.5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 0,
                "prompt_tokens_details": {"cached_tokens": 9},
            },
            Usage(9, 0, 9),
        ),
    ],
    ids=repr,
)
def test_usage_that_cannot_be_is_estimated(told: Any, counted: Usage) -> None:
    assert (
        put_together(piece(content="hello"), END, {"choices": [], "usage": told}).usage == counted
    )


def test_a_whole_message_behind_the_pieces_says_nothing_twice() -> None:
    calls = [call(0, "a", '{"x": 1}')]
    thought = {"reasoning_content": "Hm."}
    last: dict[str, Any] = {"role": "assistant", "content": "hello", "tool_calls": calls, **thought}
    end: dict[str, Any] = {
        "choices": [{"delta": {}, "message": last, "finish_reason": "tool_calls"}]
    }
    whole = put_together(end)
    pieces = (piece(**thought), piece(content="hel"), piece(content="lo"), piece(tool_calls=calls))
    assert put_together(*pieces, end).parts == whole.parts
    assert put_together(piece(role="assistant", content=""), end).text == "hello", (
        "nothing was said before"
    )


def test_pieces_that_are_called_messages_go_on() -> None:
    said = [{"choices": [{"message": {"content": half}}]} for half in ("hel", "lo")]
    assert put_together(*said, END).text == "hello"


@pytest.mark.parametrize("word", ["error", "abort", "insufficient_system_resource"])
def test_a_reply_whose_server_gave_up_is_asked_for_again(word: str) -> None:
    with pytest.raises(ProviderError, match=word) as caught:
        put_together(piece(content="half"), {"choices": [{"delta": {}, "finish_reason": word}]})
    assert caught.value.retryable


def test_a_reply_as_long_as_the_model_can_is_cut_off() -> None:
    assert put_together(
        piece(content="half"), {"choices": [{"delta": {}, "finish_reason": "model_length"}]}
    ).stop == ("length")


@pytest.mark.parametrize(
    "last", [{}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": None}], ids=repr
)
def test_usage_that_was_told_is_not_wiped_by_one_that_tells_nothing(last: dict[str, Any]) -> None:
    end = {**END, "usage": {"prompt_tokens": 100, "completion_tokens": 5, "cost": 0.5}}
    told = put_together(piece(content="hello"), end, {"choices": [], "usage": last}).usage
    assert told == Usage(100, 5, cost=0.5)
    grown = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}
    assert put_together(piece(content="hello"), end, grown).usage.output_tokens == 7


def test_a_cost_that_is_told_last_and_alone_counts() -> None:
    end = {**END, "usage": {"prompt_tokens": 100, "completion_tokens": 5}}
    assert put_together(
        piece(content="hello"), end, {"choices": [], "usage": {"cost": 0.5}}
    ).usage == (Usage(100, 5, cost=0.5))
