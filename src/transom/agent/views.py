"""Conversations as data: views of a run's journal, which never change and survive JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from transom.agent.session import Session
from transom.canonical import Json
from transom.llm import Request, Usage, Window, render
from transom.llm.codec import reply_from_json
from transom.llm.reading import held_arguments
from transom.llm.structured import schema_text
from transom.runs.conversation import KINDS
from transom.runs.workspace import trace_id
from transom.store import Record, Store


def _never(*_: object, **__: object) -> NoReturn:
    raise TypeError("this never changes; dict(...) and list(...) make a copy that does")


class _FrozenDict(dict[str, Any]):
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _never

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return frozen, (dict(self),)


class _FrozenList(list[Any]):
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _never
    pop = remove = reverse = sort = _never

    def __reduce__(self) -> tuple[Any, tuple[list[Any]]]:
        return frozen, (list(self),)


def frozen(value: Any) -> Any:
    """The same value; whoever tries to change anything in it is told TypeError."""
    if isinstance(value, dict):
        return _FrozenDict({name: frozen(inner) for name, inner in value.items()})
    return _FrozenList(map(frozen, value)) if isinstance(value, list) else value


_Value: TypeAlias = Annotated[Json, AfterValidator(frozen)]
_Metadata: TypeAlias = Annotated[Mapping[str, Json], AfterValidator(frozen)]


class _View(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)


class ToolCall(_View):
    """What a model wanted done; `timestamp` is when its reply was journaled."""

    id: str
    name: str
    arguments: _Value
    timestamp: datetime


class ToolResult(_View):
    """What came of a tool call.

    Attributes:
        tool_call_id: of the call that it answers.
        content: what the model was told.
        success: whether the tool did what was asked.
        timestamp: when it was journaled.
        metadata: `name`, `trust`, `egress`; `seconds` that it took; `error`, the class of what went wrong; `kept`, the
            digest of a content of which the model was given an outline.
    """

    tool_call_id: str
    content: str
    success: bool
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)


class Message(_View):
    """One message. A model's call of tools is part of its message; what came of them is a message of the user's side.

    Attributes:
        content: the text; of results, their contents one after the other.
        timestamp: when it was journaled.
        metadata: of a reply `by`, `stop`, `usage`, `request`, `tool_calls`; of results `tool_results`.
    """

    role: Literal["user", "assistant", "system"]
    content: str
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """What the model called in this message."""
        given: Any = self.metadata.get("tool_calls", ())
        return tuple(map(ToolCall.model_validate, given))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """What came back in this message."""
        given: Any = self.metadata.get("tool_results", ())
        return tuple(map(ToolResult.model_validate, given))


class Conversation(_View):
    """A whole conversation.

    Attributes:
        id: unique in its stage; `run_id/stage/id` is unique in the world, and is what spans call it.
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
    """What is known of a conversation beside its words; defaults before it is opened.

    Attributes:
        provider: who may answer.
        message_count: messages of either side, results included.
        usage: tokens of the conversation and its sub-conversations.
        usd: what they cost in US dollars, 0 for what is on this machine; None where nobody knows what a reply cost.
        trace_id: of the file that holds its spans; the whole run's.
        tool_calls: how many.
        window_tokens, window_limit: that a window takes now, before more is said, as estimated, and that it may take.
    """

    provider: str
    id: str = ""
    run_id: str = ""
    message_count: int = 0
    usage: Usage = Usage()
    usd: float | None = 0.0
    trace_id: str = ""
    tool_calls: int = 0
    window_tokens: int = 0
    window_limit: int = 0


# -- from the journal -------------------------------------------------------------------------------------------------


def conversations(store: Store, records: Sequence[Record], stage: str) -> dict[str, Conversation | SubConversation]:
    """The conversations of one stage, by id, in the order in which they began."""
    found: dict[str, _Reader] = {}
    for record in records:
        data: Any = record.data
        if record.kind in KINDS and data["stage"] == stage:
            found.setdefault(data["conversation"], _Reader(record.at)).read(record.kind, data, record.at)
    run = records[0].stream.removeprefix("run/") if records else ""
    where: dict[str, Json] = {"run_id": run, "stage": stage, "trace_id": trace_id(run)}
    children: dict[str, list[str]] = {}
    for name, reader in found.items():
        if reader.opened:
            children.setdefault(reader.opened["parent"], []).append(name)
    return {name: reader.view(store, name, children.get(name, []), where) for name, reader in found.items()}


@dataclass
class _Reader:
    """A conversation while the journal is read.

    Attributes:
        said: what a user said and a model replied, each with its time.
        results: by the ordinal of the reply and the number of the call; the time is that of the first one.
    """

    at: str
    said: list[tuple[str, Any]] = field(default_factory=list)
    results: dict[int, dict[int, tuple[str, Any]]] = field(default_factory=dict)
    opened: dict[str, Any] | None = None
    closed: dict[str, Any] = field(default_factory=dict)

    def read(self, kind: str, data: Any, at: str) -> None:
        match kind:
            case "conversation_opened":
                self.opened = data
            case "conversation_closed":
                self.closed = {**data, "at": at}
            case "user_message" | "model_reply":
                self.said.append((at, data))
            case "tool_result":
                came = self.results.setdefault(data["ordinal"], {})
                at, before = came.get(data["call"], (at, {}))
                came[data["call"]] = at, before | data
            case "reset":
                sent = [number for number, (_, one) in enumerate(self.said) if "fingerprint" in one]
                del self.said[sent[data["to"]] if data["to"] < len(sent) else len(self.said) :]

    def view(
        self, store: Store, name: str, children: Sequence[str], where: dict[str, Json]
    ) -> Conversation | SubConversation:
        replies = [data for _, data in self.said if "reply" in data]
        usage = sum((Usage(**data["reply"]["usage"]) for data in replies), Usage())
        shown = json.loads(store.get_blob(replies[0]["window"]["request"]))["blocks"] if replies else []
        metadata: dict[str, Json] = {
            **where,
            "role": replies[0]["role"] if replies else "",
            "by": sorted({data["reply"]["by"] for data in replies}),
            "usage": usage.to_json(),
        }
        common: dict[str, Any] = {
            "id": name,
            "system_prompt": "\n\n".join(block["text"] for block in shown if block["tier"] == "stable"),
            "messages": tuple(message for at, data in self.said for message in self._messages(at, data)),
            "created_at": self.at,
            "sub_conversations": tuple(children),
        }
        if self.opened is None:
            return Conversation(**common, metadata=metadata)
        closed = self.closed
        return SubConversation(
            **common,
            metadata=metadata | ({"how": closed["how"]} if closed else {}),
            parent_id=self.opened["parent"],
            purpose=self.opened["purpose"],
            summary=closed.get("summary"),
            completed_at=closed.get("at"),
        )

    def _messages(self, at: str, data: Any) -> list[Message]:
        if "reply" not in data:
            said = data["text"]
            return [] if said is None else [Message.model_validate({"role": "user", "content": said, "timestamp": at})]
        reply = reply_from_json(data["reply"])
        calls = [
            {"id": call.id, "name": call.name, "arguments": held_arguments(call.arguments), "timestamp": at}
            for call in reply.calls
        ]
        told = {"by": reply.by, "stop": reply.stop, "usage": reply.usage.to_json(), "request": data["request"]}
        mine = {"role": "assistant", "content": reply.text, "timestamp": at, "metadata": {**told, "tool_calls": calls}}
        messages = [Message.model_validate(mine)]
        if came := [_result(*one) for _, one in sorted(self.results.get(data["ordinal"], {}).items())]:
            content, last = "\n\n".join(one.content for one in came), max(one.timestamp for one in came)
            results: dict[str, Json] = {"tool_results": [one.model_dump(mode="json") for one in came]}
            messages.append(Message(role="user", content=content, timestamp=last, metadata=results))
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
            "metadata": {"name": told["name"], "trust": told["trust"], "egress": told["egress"], **more},
        }
    )


def context_of(session: Session, messages: Sequence[Message]) -> ConversationContext:
    """What is known of a conversation beside its words."""
    host, role, state = session.stage.host, session.role, session.state
    window = Window(role.prompt, session.derived.history().turns)
    parts = [render(Request(role.name, window, role.tools)).as_text()]
    parts += [] if role.schema is None else [schema_text(role.schema)]
    return ConversationContext(
        provider=host.chain.name,
        id=session.id,
        run_id=host.id,
        message_count=len(messages),
        usage=state.spent.usage,
        usd=session.meter.usd(state.spent),
        trace_id=host.telemetry.trace_id,
        tool_calls=sum(len(message.tool_calls) for message in messages),
        window_tokens=session.correction.count("\n\n".join(parts)),
        window_limit=session.window.window_tokens(role.settings.max_tokens),
    )
