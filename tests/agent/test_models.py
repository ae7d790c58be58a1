"""Conversations as data: the fields that were agreed, immutable, and the same after JSON."""

from __future__ import annotations

import asyncio
import copy
import json
import operator
import pickle
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.agent.helpers import SEAT, scripted, tool
from transom.agent import Agent, Home
from transom.agent.views import Conversation, Message, SubConversation, ToolCall, ToolResult, thawed
from transom.llm import Reply, Text
from transom.llm import ToolCallPart as Called
from transom.tools import ToolDefinition

FIELDS: dict[type[Any], set[str]] = {
    Message: {"role", "content", "timestamp", "metadata"},
    Conversation: {
        "id",
        "system_prompt",
        "messages",
        "created_at",
        "metadata",
        "sub_conversations",
    },
    SubConversation: {
        *(
            "id",
            "parent_id",
            "purpose",
            "system_prompt",
            "messages",
            "summary",
            "created_at",
            "completed_at",
        ),
        *("metadata", "sub_conversations"),
    },
    ToolCall: {"id", "name", "arguments", "timestamp"},
    ToolResult: {"tool_call_id", "content", "success", "timestamp", "metadata"},
}

times = st.datetimes(timezones=st.just(UTC))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
metadata = st.dictionaries(st.text(), values, max_size=3)
calls = st.builds(ToolCall, id=st.text(), name=st.text(), arguments=values, timestamp=times)
results = st.builds(
    ToolResult,
    tool_call_id=st.text(),
    content=st.text(),
    success=st.booleans(),
    timestamp=times,
    metadata=metadata,
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system"]),
    content=st.text(),
    timestamp=times,
    metadata=metadata,
)
many = st.lists(messages, max_size=3).map(tuple)
common: dict[str, Any] = {
    "id": st.text(),
    "system_prompt": st.text(),
    "messages": many,
    "created_at": times,
    "metadata": metadata,
    "sub_conversations": st.lists(st.text(), max_size=2).map(tuple),
}
whole = st.builds(Conversation, **common)
subs = st.builds(
    SubConversation,
    **common,
    parent_id=st.text(),
    purpose=st.text(),
    summary=st.none() | st.text(),
    completed_at=st.none() | times,
)


@pytest.mark.slow
@pytest.mark.fence
@given(calls | results | messages | whole | subs)
@settings(deadline=None)
def test_each_survives_json(thing: BaseModel) -> None:
    assert type(thing).model_validate_json(thing.model_dump_json()) == thing


@pytest.mark.parametrize("model", FIELDS, ids=lambda model: model.__name__)
def test_they_have_the_agreed_fields_and_never_change(model: type[BaseModel]) -> None:
    assert set(model.model_fields) == FIELDS[model]
    assert model.model_config["frozen"] and model.model_config["extra"] == "forbid"
    message = Message(role="user", content="a", timestamp=datetime.now(UTC))
    with pytest.raises(ValidationError, match="frozen"):
        message.content = "b"  # type: ignore[misc]  # it is frozen


inside: dict[str, Any] = {
    "by": "m",
    "tool_calls": [{"id": "1", "arguments": {"x": [1, {"y": 2}]}}],
    "empty": {},
}
ATTEMPTS: dict[str, Callable[[Any], object]] = {
    "a value": lambda view: view.metadata.update(by="somebody else"),
    "an item": lambda view: operator.setitem(view.metadata, "by", "somebody else"),
    "or": lambda view: view.metadata.__ior__({"by": "somebody else"}),
    "a new one": lambda view: view.metadata.setdefault("new", 1),
    "one less": lambda view: view.metadata.pop("by"),
    "any": lambda view: view.metadata.popitem(),
    "none": lambda view: view.metadata.clear(),
    "without": lambda view: operator.delitem(view.metadata, "by"),
    "below": lambda view: operator.setitem(view.metadata["tool_calls"][0]["arguments"], "x", 5),
    "in an empty one": lambda view: operator.setitem(view.metadata["empty"], "x", 5),
    "the last list": lambda view: view.metadata["tool_calls"][0]["arguments"]["x"].append(3),
    "in it": lambda view: operator.setitem(
        view.metadata["tool_calls"][0]["arguments"]["x"][1], "y", 3
    ),
    "a list": lambda view: view.metadata["tool_calls"].extend([1]),
    "its first": lambda view: view.metadata["tool_calls"].insert(0, 1),
    "its last": lambda view: view.metadata["tool_calls"].pop(),
    "all of it": lambda view: view.metadata["tool_calls"].clear(),
    "its order": lambda view: view.metadata["tool_calls"].reverse(),
    "sorted": lambda view: view.metadata["tool_calls"].sort(),
    "one of it": lambda view: view.metadata["tool_calls"].remove(inside["tool_calls"][0]),
    "a place": lambda view: operator.setitem(view.metadata["tool_calls"], 0, 1),
    "a place less": lambda view: operator.delitem(view.metadata["tool_calls"], 0),
    "more": lambda view: view.metadata["tool_calls"].__iadd__([1]),
    "twice": lambda view: view.metadata["tool_calls"].__imul__(2),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("made", ["as it is", "from JSON", "copied"])
def test_nothing_inside_them_changes_either(attempt: str, made: str) -> None:
    given = copy.deepcopy(inside)
    view = Message(role="user", content="a", timestamp=datetime.now(UTC), metadata=given)
    if made == "from JSON":
        view = Message.model_validate_json(view.model_dump_json())
    if made == "copied":
        view = copy.deepcopy(pickle.loads(pickle.dumps(view)))
    with pytest.raises((TypeError, AttributeError)):
        ATTEMPTS[attempt](view)
    given["tool_calls"].clear()
    dumped = view.model_dump(mode="json")["metadata"]
    assert dumped == inside, "nor does what it was made of change it"
    assert json.loads(view.model_dump_json())["metadata"] == inside
    inner: Any = view.metadata["tool_calls"]
    assert inner == ({"id": "1", "arguments": {"x": (1, {"y": 2})}},)


def test_what_a_model_called_and_what_nobody_gave_do_not_change() -> None:
    now = datetime.now(UTC)
    call = ToolCall(id="1", name="look", arguments=inside, timestamp=now)
    with pytest.raises(TypeError):
        call.arguments["by"] = 5  # type: ignore[index,call-overload]  # what is refused
    with pytest.raises(TypeError):
        Message(role="user", content="a", timestamp=now).metadata["by"] = 5  # type: ignore[index]  # what is refused
    assert dict(call.arguments) | {"by": 5} != call.arguments, "a copy does"  # type: ignore[arg-type]  # it is a mapping
    assert call.model_dump()["arguments"] == inside


def test_a_tool_is_defined_by_its_four_fields() -> None:
    assert {"name", "description", "parameters", "handler"} <= set(
        ToolDefinition.__dataclass_fields__
    )


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
called = st.builds(
    Called, texts, st.sampled_from(["look", "leap"]), st.dictionaries(texts, values, max_size=2)
)
replies = st.lists(
    st.builds(
        lambda text, calls: Reply((Text(text), *calls), stop="tool_calls" if calls else "end"),
        texts,
        st.lists(called, max_size=3),
    ),
    max_size=3,
)


@pytest.mark.slow
@given(st.lists(st.tuples(texts.filter(str.strip), replies), min_size=1, max_size=3))
@settings(max_examples=20, deadline=None)
def test_any_conversation_is_told_by_its_journal(sends: list[tuple[str, list[Reply]]]) -> None:
    """All that was asked and said is in the history, in order and word for word, before and
    after a restart.
    """

    async def talk(folder: Path, *, fresh: bool) -> tuple[Conversation, list[Any]]:
        script = [reply for _, said in sends for reply in [*said, "end"]]
        agent = Agent(
            SEAT, provider=scripted(*script if fresh else ()), tools=[tool()], at=Home(folder, "t")
        )
        turns: list[Any] = []
        async with agent:
            for text, _ in sends:
                turns = [*(await agent.send(text)).turns]
            view = agent.conversation()
        assert isinstance(view, Conversation)
        return view, turns

    sends = [(text, [reply for reply in said if reply.calls]) for text, said in sends]
    with tempfile.TemporaryDirectory() as folder:
        view, turns = asyncio.run(talk(Path(folder), fresh=True))
        again, turns_again = asyncio.run(talk(Path(folder), fresh=False))
    assert (again, turns_again) == (view, turns)
    assert Conversation.model_validate_json(view.model_dump_json()) == view
    told = [
        (message.role, message.content) for message in view.messages if not message.tool_results
    ]
    assert told == [
        one
        for text, said in sends
        for one in [
            ("user", text),
            *(("assistant", reply.text) for reply in said),
            ("assistant", "end"),
        ]
    ]
    made = [
        # A view gives lists as tuples, which cannot be changed.
        (one.id, one.name, thawed(one.arguments))
        for message in view.messages
        for one in message.tool_calls
    ]
    assert made == [
        (one.id, one.name, one.arguments)
        for _, said in sends
        for reply in said
        for one in reply.calls
    ]
    assert len(made) == sum(len(message.tool_results) for message in view.messages)
