"""From a journal to conversations as data, and to what is known of one beside its words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.agent.models import Conversation, ConversationContext, Message, SubConversation, ToolCall, ToolResult
from transom.agent.session import Session
from transom.canonical import Json
from transom.llm import Reply, Request, Usage, Window, render
from transom.llm.codec import reply_from_json
from transom.llm.reading import held_arguments
from transom.llm.structured import schema_text
from transom.runs.conversation import KINDS
from transom.runs.workspace import trace_id
from transom.store import Record, Store


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
class _Entry:
    """What a user said, or a reply with what came of its calls."""

    at: str
    data: Any
    reply: Reply | None = None
    results: dict[int, tuple[str, Any]] = field(default_factory=dict)


@dataclass
class _Reader:
    """A conversation while the journal is read; `first` is the record of its first reply."""

    at: str
    entries: list[_Entry] = field(default_factory=list)
    opened: dict[str, Any] | None = None
    closed: tuple[str | None, dict[str, Any]] = (None, {})
    first: Any = None

    def read(self, kind: str, data: Any, at: str) -> None:
        match kind:
            case "conversation_opened":
                self.opened = data
            case "conversation_closed":
                self.closed = (at, data)
            case "user_message":
                self.entries.append(_Entry(at, data))
            case "model_reply":
                self.first = self.first or data
                self.entries.append(_Entry(at, data, reply_from_json(data["reply"])))
            case "tool_result":
                entry = next((one for one in self.entries if one.data.get("ordinal") == data["ordinal"]), None)
                if entry:
                    at, before = entry.results.get(data["call"], (at, {}))
                    entry.results[data["call"]] = (at, before | data)
            case "reset":
                said = [number for number, one in enumerate(self.entries) if "fingerprint" in one.data]
                del self.entries[said[data["to"]] if data["to"] < len(said) else len(self.entries) :]

    def view(
        self, store: Store, name: str, children: Sequence[str], where: dict[str, Json]
    ) -> Conversation | SubConversation:
        replies = [entry.reply for entry in self.entries if entry.reply]
        usage, by = sum((reply.usage for reply in replies), Usage()), sorted({reply.by for reply in replies})
        shown = json.loads(store.get_blob(self.first["window"]["request"]))["blocks"] if self.first else []
        role = self.first["role"] if self.first else ""
        metadata: dict[str, Json] = {**where, "role": role, "by": [*by], "usage": usage.to_json()}
        common: dict[str, Any] = {
            "id": name,
            "system_prompt": "\n\n".join(block["text"] for block in shown if block["tier"] == "stable"),
            "messages": tuple(message for entry in self.entries for message in _messages(entry)),
            "created_at": self.at,
            "sub_conversations": tuple(children),
        }
        if self.opened is None:
            return Conversation(**common, metadata=metadata)
        at, closed = self.closed
        return SubConversation(
            **common,
            metadata=metadata | ({"how": closed["how"]} if closed else {}),
            parent_id=self.opened["parent"],
            purpose=self.opened["purpose"],
            summary=closed.get("summary"),
            completed_at=at,
        )


def _messages(entry: _Entry) -> list[Message]:
    reply = entry.reply
    if reply is None:
        if entry.data["text"] is None:
            return []
        return [Message.model_validate({"role": "user", "content": entry.data["text"], "timestamp": entry.at})]
    calls = [
        ToolCall(id=call.id, name=call.name, arguments=held_arguments(call.arguments), timestamp=entry.at)
        for call in reply.calls
    ]
    said: dict[str, Json] = {
        "by": reply.by,
        "stop": reply.stop,
        "usage": reply.usage.to_json(),
        "request": entry.data["request"],
        **({"status": entry.data["status"]} if "status" in entry.data else {}),
        "tool_calls": [call.model_dump(mode="json") for call in calls],
    }
    mine = Message.model_validate({"role": "assistant", "content": reply.text, "timestamp": entry.at, "metadata": said})
    came = [_result(*entry.results[number]) for number in sorted(entry.results)]
    if not came:
        return [mine]
    results: dict[str, Json] = {"tool_results": [one.model_dump(mode="json") for one in came]}
    content, at = "\n\n".join(one.content for one in came), max(one.timestamp for one in came)
    return [mine, Message(role="user", content=content, timestamp=at, metadata=results)]


def _result(at: str, data: Any) -> ToolResult:
    outcome = data["outcome"]
    told = outcome["result"]
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


def context_of(
    session: Session | None, view: Conversation | SubConversation | None, provider: str
) -> ConversationContext:
    """What is known of a conversation beside its words."""
    messages = view.messages if view else ()
    host = session.stage.host if session else None
    used, limit = _room(session) if session else (0, 0)
    usage = session.state.spent.usage if session else Usage()
    return ConversationContext(
        id=session.id if session else "",
        run_id=host.id if host else "",
        message_count=len(messages),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        usd=session.meter.usd(session.state.spent) if session else 0.0,
        provider=provider,
        trace_id=host.telemetry.trace_id if host else "",
        tool_calls=sum(len(message.tool_calls) for message in messages),
        sub_conversations=view.sub_conversations if view else (),
        window_tokens=used,
        window_limit=limit,
    )


def _room(session: Session) -> tuple[int, int]:
    """Tokens that a window takes before anything more is said, as estimated, and those that there are for it."""
    role, window = session.role, Window(session.role.prompt, session.derived.history().turns)
    parts = [render(Request(role.name, window, role.tools)).as_text()]
    parts += [] if role.schema is None else [schema_text(role.schema)]
    return session.correction.count("\n\n".join(parts)), session.window.window_tokens(role.settings.max_tokens)
