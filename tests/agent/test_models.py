"""Conversations as data: the fields that were agreed, immutable, and the same after JSON."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.agent.helpers import SEAT, scripted, tool
from transom.agent import Agent, Home
from transom.agent.models import Conversation, Message, SubConversation, ToolCall, ToolResult
from transom.llm import Reply, Text
from transom.llm import ToolCall as Called
from transom.tools import ToolDefinition

FIELDS: dict[type[Any], set[str]] = {
    Message: {"role", "content", "timestamp", "metadata"},
    Conversation: {"id", "system_prompt", "messages", "created_at", "metadata", "sub_conversations"},
    SubConversation: {
        *("id", "parent_id", "purpose", "system_prompt", "messages", "summary", "created_at", "completed_at"),
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
    ToolResult, tool_call_id=st.text(), content=st.text(), success=st.booleans(), timestamp=times, metadata=metadata
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


def test_a_tool_is_defined_by_its_four_fields() -> None:
    assert {"name", "description", "parameters", "handler"} <= set(ToolDefinition.__dataclass_fields__)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
called = st.builds(Called, texts, st.sampled_from(["look", "leap"]), st.dictionaries(texts, values, max_size=2))
replies = st.lists(
    st.builds(
        lambda text, calls: Reply((Text(text), *calls), stop="tool_calls" if calls else "end"),
        texts,
        st.lists(called, max_size=3),
    ),
    max_size=3,
)


@given(st.lists(st.tuples(texts.filter(str.strip), replies), min_size=1, max_size=3))
@settings(max_examples=20, deadline=None)
def test_any_conversation_is_told_by_its_journal(sends: list[tuple[str, list[Reply]]]) -> None:
    """What was asked and said is in the history, in order and word for word, before and after a restart."""

    async def talk(folder: Path, *, fresh: bool) -> tuple[Conversation, list[Any]]:
        script = [reply for _, said in sends for reply in [*said, "end"]]
        agent = Agent(SEAT, provider=scripted(*script if fresh else ()), tools=[tool()], at=Home(folder, "t"))
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
    told = [(message.role, message.content) for message in view.messages if not message.tool_results]
    assert told == [
        one
        for text, said in sends
        for one in [("user", text), *(("assistant", reply.text) for reply in said), ("assistant", "end")]
    ]
    made = [(one.id, one.name, one.arguments) for message in view.messages for one in message.tool_calls]
    assert made == [(one.id, one.name, one.arguments) for _, said in sends for reply in said for one in reply.calls]
    assert len(made) == sum(len(message.tool_results) for message in view.messages)
