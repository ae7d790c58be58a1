"""Conversations as data: views of a run's journal, which never change and survive JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
)

from transom.canonical import Json
from transom.llm import Usage
from transom.llm.codec import reply_from_json
from transom.llm.strict_json import bounded_arguments
from transom.runs.conversation import KINDS, ConversationKey, key_of
from transom.runs.workspace import trace_id
from transom.store import Record, Store


def frozen(value: Any) -> Any:
    """Return JSON data that cannot be changed: mappings are read-only, lists become tuples."""
    if isinstance(value, Mapping):
        return MappingProxyType({name: frozen(inner) for name, inner in value.items()})
    if isinstance(value, list | tuple):
        return tuple([frozen(inner) for inner in value])
    return value


def thawed(value: Any) -> Any:
    """Return frozen JSON data as dicts and lists, as `json.dumps` takes them."""
    if isinstance(value, Mapping):
        return {name: thawed(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(inner) for inner in value]
    return value


# Frozen data is accepted again, so that a view can be made from parts of another one.
_FROZEN = (BeforeValidator(thawed), AfterValidator(frozen), PlainSerializer(thawed))
_FrozenJson: TypeAlias = Annotated[Json, *_FROZEN]
_Metadata: TypeAlias = Annotated[Mapping[str, Json], *_FROZEN]


class _View(BaseModel):
    """Data that never changes. Copies are the same object; pickles hold its JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # A read-only mapping cannot be pickled.
        return type(self).model_validate_json, (self.model_dump_json(),)


class ToolCall(_View):
    """A tool call of a model.

    Attributes:
        id: the model's id of the call.
        name: the name of the tool.
        arguments: the arguments, as JSON data.
        timestamp: the time when its reply was journaled.
    """

    id: str
    name: str
    arguments: _FrozenJson
    timestamp: datetime


class ToolResult(_View):
    """The result of a tool call.

    Attributes:
        tool_call_id: the id of the call.
        content: the text that the model got.
        success: whether the tool succeeded.
        timestamp: the time when it was journaled.
        metadata: `name`, `trust`, `egress`; `seconds`, the time that it took; `error`, the class of
            a failure; `kept`, the digest of the whole content if the model got an outline.
    """

    tool_call_id: str
    content: str
    success: bool
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)


class Message(_View):
    """One message. A model's tool calls are part of its message, whose content is then often empty;
    their results are a message of the role `user`.

    Attributes:
        role: `user`, `assistant` or `system`.
        content: the text, or the contents of the results one after the other.
        timestamp: the time when it was journaled.
        metadata: `by`, `stop`, `usage`, `request` and `tool_calls` of a reply; `tool_results` of
            results.
    """

    role: Literal["user", "assistant", "system"]
    content: str
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The model's tool calls in this message."""
        calls: Any = self.metadata.get("tool_calls", ())
        return tuple(ToolCall.model_validate(thawed(call)) for call in calls)

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results of tools in this message."""
        results: Any = self.metadata.get("tool_results", ())
        return tuple(ToolResult.model_validate(thawed(result)) for result in results)


class Conversation(_View):
    """A whole conversation.

    Attributes:
        id: its name, unique in its stage; `run_id/stage/id` is unique everywhere, and is its name
            in spans.
        system_prompt: the stable blocks of its first call.
        created_at: the time when its first message was journaled.
        metadata: `run_id`, `stage`, `trace_id`, `role`, `by`, `usage`.
        sub_conversations: the ids of its sub-conversations.
    """

    id: str
    system_prompt: str
    messages: tuple[Message, ...]
    created_at: datetime
    metadata: _Metadata = Field(default_factory=dict)
    sub_conversations: tuple[str, ...] = ()


class SubConversation(Conversation):
    """A conversation with a purpose of its own, of which its parent gets only a summary.

    Attributes:
        summary: the summary that its parent got; None while it is open.
        completed_at: the time when it was closed; None while it is open.
        metadata: as of a conversation, and `how` the summary was made: by a `model`, or as an
            `extract`.
    """

    parent_id: str
    purpose: str
    summary: str | None
    completed_at: datetime | None


class ConversationContext(_View):
    """The facts about a conversation beside its text; defaults before it is opened.

    Attributes:
        provider: the names of the providers that may answer.
        message_count: the number of messages of either side, results included.
        usage: tokens of the conversation and its sub-conversations.
        usd: their cost in US dollars, 0 for models on this machine; None if the cost of a reply is
            unknown.
        trace_id: the id of the trace that holds its spans; it is the whole run's.
        tool_calls: the number of tool calls.
    """

    provider: str
    id: str = ""
    run_id: str = ""
    message_count: int = 0
    usage: Usage = Usage()
    usd: float | None = 0.0
    trace_id: str = ""
    tool_calls: int = 0


# -- from the journal ------------------------------------------------------------------------------


def view_of(
    store: Store, records: Sequence[Record], key: ConversationKey
) -> Conversation | SubConversation | None:
    """Return a conversation as a run's records have it, or None if they have no such conversation.

    Args:
        store: the store of the run.
        records: the records of the run, oldest first.
        key: the conversation.
    """
    journal: list[Any] = []
    sub_conversations: dict[str, None] = {}  # a set that keeps the order
    # Keys of two conversations of one stage differ in their last part only.
    for record in records:
        data: Any = record.data
        if record.kind not in KINDS or key_of(data)[:2] != key[:2]:
            continue
        if data.get("parent") == key.conversation:
            sub_conversations[data["conversation"]] = None
        if key_of(data) == key:
            journal.append(record)
    if not journal:
        return None
    events = _Events.of(journal)
    replies = [entry.data for entry in events.entries if "reply" in entry.data]
    usage = Usage()
    for reply in replies:
        usage += Usage(**reply["reply"]["usage"])
    run_id = journal[0].stream.removeprefix("run/")
    metadata: dict[str, Json] = {
        "run_id": run_id,
        "stage": key.stage,
        "trace_id": trace_id(run_id),
        "role": replies[0]["role"] if replies else "",
        "by": sorted({reply["reply"]["by"] for reply in replies}),
        "usage": usage.to_json(),
    }
    messages: list[Message] = []
    for entry in events.entries:
        messages += _messages(entry, events.results)
    fields: dict[str, Any] = {
        "id": key.conversation,
        "system_prompt": _system_prompt(store, replies[0]) if replies else "",
        "messages": tuple(messages),
        "created_at": journal[0].at,
        "sub_conversations": tuple(sub_conversations),
    }
    opening, closing = events.opening, events.closing
    if not opening:
        return Conversation(**fields, metadata=metadata)
    if closing:
        metadata["how"] = closing["how"]
    return SubConversation(
        **fields,
        metadata=metadata,
        parent_id=opening["parent"],
        purpose=opening["purpose"],
        summary=closing.get("summary"),
        completed_at=closing.get("at"),
    )


def _system_prompt(store: Store, reply: Any) -> str:
    """Return the stable blocks of the request that a reply answers."""
    request = json.loads(store.get_blob(reply["window"]["request"]))
    texts = [block["text"] for block in request["blocks"] if block["tier"] == "stable"]
    return "\n\n".join(texts)


@dataclass(frozen=True)
class _Entry:
    """The data of a record, and the time when it was journaled."""

    time: str
    data: Any


@dataclass
class _Events:
    """The events of one conversation.

    Attributes:
        entries: its messages and replies.
        results: its results, by the ordinal of the reply and the number of the call.
        opening: the event that opened it, if it is a sub-conversation.
        closing: the event that closed it, with its time.
    """

    entries: list[_Entry] = field(default_factory=list)
    results: dict[tuple[int, int], _Entry] = field(default_factory=dict)
    opening: dict[str, Any] = field(default_factory=dict)
    closing: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Sequence[Any]) -> _Events:
        """Read the records of a conversation, oldest first."""
        events = cls()
        for record in records:
            events.take(record.kind, _Entry(record.at, record.data))
        return events

    def take(self, kind: str, entry: _Entry) -> None:
        """Take in one event."""
        data = entry.data
        match kind:
            case "conversation_opened":
                self.opening = data
            case "conversation_closed":
                self.closing = {**data, "at": entry.time}
            case "user_message" | "model_reply":
                self.entries.append(entry)
            case "tool_result":
                call = (data["ordinal"], data["call"])
                # A second result replaces parts of the first, whose time counts.
                earlier = self.results.get(call, _Entry(entry.time, {}))
                self.results[call] = _Entry(earlier.time, earlier.data | data)
            case "reset":
                self._take_back(data["to"])

    def _take_back(self, number: int) -> None:
        """Remove a message of the program, and all that follows it."""
        position = 0
        for index, entry in enumerate(self.entries):
            if "fingerprint" in entry.data:
                # `number` counts messages of the program; replies and findings have no fingerprint.
                if position == number:
                    del self.entries[index:]
                    return
                position += 1


def _messages(entry: _Entry, results: Mapping[tuple[int, int], _Entry]) -> list[Message]:
    """Return the messages that an entry makes: its own, and that of its calls' results."""
    data = entry.data
    if "reply" not in data:
        if data["text"] is None:  # a call with blocks alone has no message
            return []
        message = {"role": "user", "content": data["text"], "timestamp": entry.time}
        return [Message.model_validate(message)]
    reply = reply_from_json(data["reply"])
    calls = []
    outcomes = []
    for number, call in enumerate(reply.calls):
        calls.append(
            {
                "id": call.id,
                "name": call.name,
                "arguments": bounded_arguments(call.arguments),
                "timestamp": entry.time,
            }
        )
        outcome = results.get((data["ordinal"], number))
        if outcome:
            outcomes.append(_result(outcome))
    message = {
        "role": "assistant",
        "content": reply.text,
        "timestamp": entry.time,
        "metadata": {
            "by": reply.by,
            "stop": reply.stop,
            "usage": reply.usage.to_json(),
            "request": data["request"],
            "tool_calls": calls,
        },
    }
    messages = [Message.model_validate(message)]
    if outcomes:
        metadata: dict[str, Json] = {
            "tool_results": [outcome.model_dump(mode="json") for outcome in outcomes]
        }
        messages.append(
            Message(
                role="user",
                content="\n\n".join(outcome.content for outcome in outcomes),
                timestamp=max(outcome.timestamp for outcome in outcomes),
                metadata=metadata,
            )
        )
    return messages


def _result(entry: _Entry) -> ToolResult:
    outcome = entry.data["outcome"]
    result = outcome["result"]
    metadata = {"name": result["name"], "trust": result["trust"], "egress": result["egress"]}
    for name in ("error", "kept"):
        if outcome.get(name):
            metadata[name] = outcome[name]
    if "seconds" in entry.data:
        metadata["seconds"] = entry.data["seconds"]
    return ToolResult.model_validate(
        {
            "tool_call_id": result["id"],
            "content": result["content"],
            "success": not result["is_error"],
            "timestamp": entry.time,
            "metadata": metadata,
        }
    )
