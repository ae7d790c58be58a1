"""What a journal keeps of a call comes back as it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.canonical import Json, canonical_json
from transom.llm import (
    Asked,
    Block,
    CallSettings,
    CameBack,
    Dropped,
    Opaque,
    Reply,
    Request,
    Said,
    Text,
    Tier,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
    Window,
)
from transom.llm.codec import reply_from_json, request_from_json, result_from_json, turn_from_json

json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
parts = st.lists(
    st.builds(Text, st.text())
    | st.builds(ToolCall, st.text(), st.text(), json_values)
    | st.builds(Opaque, json_values),
    max_size=4,
).map(tuple)
results = st.builds(
    ToolResult,
    st.text(),
    st.text(),
    st.text(),
    is_error=st.booleans(),
    trust=st.sampled_from(["ours", "untrusted"]),
    egress=st.sampled_from(["any", "local"]),
)
turns = (
    st.builds(Asked, st.text()) | st.builds(Said, parts) | st.builds(CameBack, st.lists(results, max_size=3).map(tuple))
)


@given(turns)
def test_a_turn_comes_back_as_it_was(turn: Turn) -> None:
    assert turn_from_json(json.loads(canonical_json(turn.to_json()))) == turn


blocks = st.builds(
    Block,
    st.text(),
    st.text(),
    st.sampled_from(Tier),
    st.sampled_from(["ours", "untrusted"]),
    st.sampled_from(["any", "local"]),
    json_values,
)
tools = st.builds(ToolSpec, st.text(), st.text(), st.dictionaries(st.text(), json_values, max_size=2))
windows = st.builds(
    Window,
    st.lists(blocks, max_size=3).map(tuple),
    st.lists(turns, max_size=3).map(tuple),
    st.lists(st.builds(Dropped, st.text(), st.integers(), st.text()), max_size=2).map(tuple),
)
requests = st.builds(
    Request,
    st.text(),
    windows,
    st.lists(tools, max_size=2).map(tuple),
    st.builds(CallSettings, st.integers(), st.none() | st.floats(0, 2)),
)


@given(requests)
def test_a_request_comes_back_as_it_was(request: Request) -> None:
    assert request_from_json(json.loads(canonical_json(request.to_json()))) == request


@pytest.mark.parametrize("data", [None, {"role": "r"}, {**Request("r", Window(())).to_json(), "blocks": [{"x": 1}]}])
def test_what_is_no_request_is_said_to_be_none(data: Json) -> None:
    with pytest.raises(ValueError, match="not a"):
        request_from_json(data)


@given(requests, requests)
def test_equal_requests_have_equal_digests_and_different_ones_have_not(one: Request, other: Request) -> None:
    same = request_from_json(json.loads(canonical_json(one.to_json())))
    assert same.digest == one.digest
    assert (one.digest == other.digest) == (canonical_json(one.to_json()) == canonical_json(other.to_json()))


@given(st.integers(0, 2), st.sampled_from([0, 0.0, -0.0]))
def test_a_temperature_has_one_form(whole: int, nothing: float) -> None:
    for one, other in ((whole, float(whole)), (nothing, 0)):
        asked = [Request("r", Window(()), settings=CallSettings(temperature=warm)) for warm in (one, other)]
        assert asked[0] == asked[1]
        assert asked[0].digest == asked[1].digest


@given(parts, st.sampled_from(["end", "tool_calls", "length", "refusal"]))
def test_a_reply_comes_back_as_it_was(kept: tuple[Text | ToolCall | Opaque, ...], stop: str) -> None:
    reply = Reply(kept, stop, Usage(1, 2, 3), "x")  # type: ignore[arg-type]  # parts of any kind
    assert reply_from_json(json.loads(canonical_json(reply.to_json()))) == reply
    assert reply.calls == Said(kept).calls


@pytest.mark.parametrize(
    "data", [None, {}, {"kind": "said"}, {"kind": "came_back", "results": [{"id": 1}]}, {"kind": "said", "parts": [{}]}]
)
def test_what_is_no_turn_is_said_to_be_none(data: Json) -> None:
    with pytest.raises(ValueError, match="not a"):
        turn_from_json(data)


def test_a_result_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="not a tool's result"):
        result_from_json({"id": "1", "name": "n", "content": "c", "is_error": "yes"})
