"""Conversations as data: views of a run's journal, which never change and survive JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from transom.canonical import Json
from transom.llm import Usage
from transom.llm.codec import reply_from_json
from transom.llm.reading import held_arguments
from transom.runs.conversation import KINDS, ConversationKey, key_of
from transom.runs.workspace import trace_id
from transom.store import Record, Store


def _never(*_: object, **__: object) -> NoReturn:
    raise TypeError("this never changes; dict(...) and list(...) make a copy that does")


class _Frozen:
    """Refuses whatever changes a dict or a list."""

    __setitem__ = __delitem__ = __ior__ = __iadd__ = __imul__ = append = clear = extend = insert = (
        _never
    )
    pop = popitem = remove = reverse = setdefault = sort = update = _never


class _FrozenDict(_Frozen, dict[str, Any]):
    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return frozen, (dict(self),)


class _FrozenList(_Frozen, list[Any]):
    def __reduce__(self) -> tuple[Any, tuple[list[Any]]]:
        return frozen, (list(self),)


def frozen(value: Any) -> Any:
    """An equal value of which nothing can be changed: who tries to is told TypeError."""
    if isinstance(value, dict):
        return _FrozenDict({name: frozen(inner) for name, inner in value.items()})
    return _FrozenList(map(frozen, value)) if isinstance(value, list) else value


_Value: TypeAlias = Annotated[Json, AfterValidator(frozen)]
_Metadata: TypeAlias = Annotated[Mapping[str, Json], AfterValidator(frozen)]


class _View(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)


class ToolCall(_View):
    """A tool call of a model; `timestamp` is when its reply was journaled."""

    id: str
    name: str
    arguments: _Value
    timestamp: datetime


class ToolResult(_View):
    """The result of a tool call.

    Attributes:
        tool_call_id: of the call that it answers.
        content: what the model was told.
        success: whether the tool did what was asked.
        timestamp: when it was journaled.
        metadata: `name`, `trust`, `egress`; `seconds` that it took; `error`, the class of what went
            wrong; `kept`, the digest of a content of which the model was given an outline.
    """

    tool_call_id: str
    content: str
    success: bool
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)


class Message(_View):
    """One message. A model's call of tools is part of its message; what came of them is a message
    of the user's side.

    Attributes:
        content: the text; of results, their contents one after the other.
        timestamp: when it was journaled.
        metadata: of a reply `by`, `stop`, `usage`, `request`, `tool_calls`; of results
            `tool_results`.
    """

    role: Literal["user", "assistant", "system"]
    content: str
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the model in this message."""
        given: Any = self.metadata.get("tool_calls", ())
        return tuple(map(ToolCall.model_validate, given))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results that came back in this message."""
        given: Any = self.metadata.get("tool_results", ())
        return tuple(map(ToolResult.model_validate, given))


class Conversation(_View):
    """A whole conversation.

    Attributes:
        id: unique in its stage; `run_id/stage/id` is unique in the world, and is what spans call
            it.
        system_prompt: the stable blocks of its first call.
        created_at: when its first message was journaled.
        metadata: `run_id`, `stage`, `trace_id`, `role`, `by`, `usage`.
        sub_conversations: ids.
    """

    id: str
    system_prompt: str
    messages: tuple[Message, ...]
    created_at: datetime
    metadata: _Metadata = Field(default_factory=dict)
    sub_conversations: tuple[str, ...] = ()


class SubConversation(Conversation):
    """A conversation with a purpose of its own, of which its parent is told only a summary.

    Attributes:
        summary: what its parent was told, None while it is open.
        completed_at: when; None while it is open.
        metadata: as of a conversation; `how` the summary was made: by a `model`, or an `extract`.
    """

    parent_id: str
    purpose: str
    summary: str | None
    completed_at: datetime | None


class ConversationContext(_View):
    """The facts about a conversation beside its words; defaults before it is opened.

    Attributes:
        provider: who may answer.
        message_count: messages of either side, results included.
        usage: tokens of the conversation and its sub-conversations.
        usd: what they cost in US dollars, 0 for what is on this machine; None where nobody knows
            what a reply cost.
        trace_id: of the file that holds its spans; the whole run's.
        tool_calls: how many.
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
    """A conversation as a run's records have it; None where there is none."""
    beside: list[Any] = [
        one for one in records if one.kind in KINDS and key_of(one.data)[:2] == key[:2]
    ]
    mine = [one for one in beside if key_of(one.data) == key]
    if not mine:
        return None
    said, results, opened, closed = _read(mine)
    replies = [data for _, data in said if "reply" in data]
    shown = json.loads(store.get_blob(replies[0]["window"]["request"]))["blocks"] if replies else []
    run = mine[0].stream.removeprefix("run/")
    metadata: dict[str, Json] = {
        **{"run_id": run, "stage": key.stage, "trace_id": trace_id(run)},
        "role": replies[0]["role"] if replies else "",
        "by": sorted({data["reply"]["by"] for data in replies}),
        "usage": sum((Usage(**data["reply"]["usage"]) for data in replies), Usage()).to_json(),
    }
    inner = [
        one.data["conversation"] for one in beside if one.data.get("parent") == key.conversation
    ]
    common: dict[str, Any] = {
        "id": key.conversation,
        "system_prompt": "\n\n".join(block["text"] for block in shown if block["tier"] == "stable"),
        "messages": tuple(message for at, data in said for message in _messages(at, data, results)),
        "created_at": mine[0].at,
        "sub_conversations": tuple(dict.fromkeys(inner)),
    }
    if not opened:
        return Conversation(**common, metadata=metadata)
    return SubConversation(
        **common,
        metadata=metadata | ({"how": closed["how"]} if closed else {}),
        parent_id=opened["parent"],
        purpose=opened["purpose"],
        summary=closed.get("summary"),
        completed_at=closed.get("at"),
    )


_Results: TypeAlias = dict[tuple[int, int], tuple[str, Any]]
"""Records of results by the ordinal of the reply and the number of the call; each with the time
of the first one.
"""


def _read(
    records: Sequence[Any],
) -> tuple[list[tuple[str, Any]], _Results, dict[str, Any], dict[str, Any]]:
    """The messages and replies of a conversation, each with its time; its results; how it was
    opened and closed.
    """
    said: list[tuple[str, Any]] = []
    results: _Results = {}
    opened: dict[str, Any] = {}
    closed: dict[str, Any] = {}
    for record in records:
        data = record.data
        match record.kind:
            case "conversation_opened":
                opened = data
            case "conversation_closed":
                closed = {**data, "at": record.at}
            case "user_message" | "model_reply":
                said.append((record.at, data))
            case "tool_result":
                call = data["ordinal"], data["call"]
                at, before = results.get(call, (record.at, {}))
                results[call] = at, before | data
            case "reset":
                sent = [number for number, (_, one) in enumerate(said) if "fingerprint" in one]
                del said[sent[data["to"]] if data["to"] < len(sent) else len(said) :]
    return said, results, opened, closed


def _messages(at: str, data: Any, results: _Results) -> list[Message]:
    if "reply" not in data:
        said = data["text"]
        return (
            []
            if said is None
            else [Message.model_validate({"role": "user", "content": said, "timestamp": at})]
        )
    reply = reply_from_json(data["reply"])
    calls = [
        {
            "id": call.id,
            "name": call.name,
            "arguments": held_arguments(call.arguments),
            "timestamp": at,
        }
        for call in reply.calls
    ]
    told = {
        "by": reply.by,
        "stop": reply.stop,
        "usage": reply.usage.to_json(),
        "request": data["request"],
    }
    mine = {
        "role": "assistant",
        "content": reply.text,
        "timestamp": at,
        "metadata": {**told, "tool_calls": calls},
    }
    messages = [Message.model_validate(mine)]
    places = [(data["ordinal"], number) for number in range(len(calls))]
    if came := [_result(*results[place]) for place in places if place in results]:
        content, last = "\n\n".join(one.content for one in came), max(one.timestamp for one in came)
        found: dict[str, Json] = {"tool_results": [one.model_dump(mode="json") for one in came]}
        messages.append(Message(role="user", content=content, timestamp=last, metadata=found))
    return messages


def _result(at: str, data: Any) -> ToolResult:
    outcome, told = data["outcome"], data["outcome"]["result"]
    more = {key: outcome[key] for key in ("error", "kept") if outcome.get(key)}
    more |= {"seconds": data["seconds"]} if "seconds" in data else {}
    return ToolResult.model_validate(
        {
            "tool_call_id": told["id"],
            "content": told["content"],
            "success": not told["is_error"],
            "timestamp": at,
            "metadata": {
                "name": told["name"],
                "trust": told["trust"],
                "egress": told["egress"],
                **more,
            },
        }
    )
