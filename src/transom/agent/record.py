"""From a journal to conversations: a pure function of a run's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.agent.models import Conversation, Message, SubConversation, ToolCall, ToolResult
from transom.canonical import Json
from transom.llm import Reply, Usage
from transom.llm.codec import reply_from_json
from transom.llm.reading import held_arguments
from transom.runs.journal import ToolKey, tool_key
from transom.runs.standing import is_in_part
from transom.runs.windows import call_key, requests_of
from transom.runs.workspace import trace_id
from transom.store import Record, Store

Talk = tuple[str, str]
"""Stage and conversation."""


def conversations(store: Store, records: Sequence[Record], stage: str) -> dict[str, Conversation | SubConversation]:
    """The conversations of one stage, by id, in the order in which they began.

    Args:
        store: has the windows of the calls.
        records: of one run, oldest first.
        stage: whose conversations.
    """
    requests = iter(requests_of(store, records))
    found: dict[str, _Draft] = {}
    for record in records:
        data: Any = record.data
        request = next(requests) if record.kind == "reply" else None
        if record.kind not in ("told", "reply", "tool") or data["stage"] != stage:
            continue
        draft = found.setdefault(data["conversation"], _Draft(data["conversation"], record.at))
        if record.kind == "told":
            draft.told(data, record.at)
        elif request is not None:
            draft.replied(data, record.at, request)
        else:
            at, before = draft.results.get(tool_key(data), (record.at, {}))
            draft.results[tool_key(data)] = (at, before | data)
    run = records[0].stream.removeprefix("run/") if records else ""
    where: dict[str, Json] = {"run_id": run, "stage": stage, "trace_id": trace_id(run)}
    children: dict[str, list[str]] = {}
    for draft in found.values():
        if draft.opened:
            children.setdefault(draft.opened["parent"], []).append(draft.id)
    return {draft.id: draft.view(tuple(children.get(draft.id, ())), where) for draft in found.values()}


@dataclass
class _Entry:
    """A message while the journal is read: what a person asked, or a reply with its place."""

    at: str
    text: str = ""
    data: Any = None
    reply: Reply | None = None


@dataclass
class _Draft:
    """A conversation while the journal is read."""

    id: str
    at: str
    entries: list[_Entry] = field(default_factory=list)
    results: dict[ToolKey, tuple[str, Any]] = field(default_factory=dict)
    opened: dict[str, Any] | None = None
    done: tuple[str, dict[str, Any]] | None = None
    asked: int = 0
    system: str = ""
    role: str = ""

    def told(self, data: Any, at: str) -> None:
        told = data["told"]
        match told["event"]:
            case "opened":
                self.opened = told
            case "completed":
                self.done = (at, told)
            case "asked" | "found":
                self._cut(lambda entry: entry.reply is None and entry.data["number"] >= data["number"])
                self.entries.append(_Entry(at, told["text"], data))

    def replied(self, data: Any, at: str, request: dict[str, Any]) -> None:
        self._cut(lambda entry: entry.reply is not None and entry.data["ordinal"] >= data["ordinal"])
        self.entries.append(_Entry(at, "", data, reply_from_json(data["reply"])))
        self.role = request["role"]
        stable = [block["text"] for block in request["blocks"] if block["tier"] == "stable"]
        self.system = self.system or "\n\n".join(stable)

    def _cut(self, void: Any) -> None:
        """What was said otherwise at its place voids all that followed it."""
        at = next((number for number, entry in enumerate(self.entries) if void(entry)), None)
        if at is not None:
            del self.entries[at:]

    def view(self, children: tuple[str, ...], where: dict[str, Json]) -> Conversation | SubConversation:
        messages = tuple(message for entry in self.entries for message in self._messages(entry))
        usage = sum((entry.reply.usage for entry in self.entries if entry.reply), Usage())
        by = sorted({entry.reply.by for entry in self.entries if entry.reply})
        metadata: dict[str, Json] = {**where, "role": self.role, "by": [*by], "usage": usage.to_json()}
        common: dict[str, Any] = {
            "id": self.id,
            "system_prompt": self.system,
            "messages": messages,
            "created_at": self.at,
            "sub_conversations": children,
        }
        if self.opened is None:
            return Conversation(**common, metadata=metadata)
        at, done = self.done or (None, {})
        return SubConversation(
            **common,
            metadata=metadata | ({"how": done["how"]} if done else {}),
            parent_id=self.opened["parent"],
            purpose=self.opened["purpose"],
            summary=done.get("summary"),
            completed_at=at,
        )

    def _messages(self, entry: _Entry) -> list[Message]:
        if entry.reply is None:
            return [Message.model_validate({"role": "user", "content": entry.text, "timestamp": entry.at})]
        reply = entry.reply
        calls = [ToolCall.model_validate({**_call(call), "timestamp": entry.at}) for call in reply.calls]
        said: dict[str, Json] = {
            "by": reply.by,
            "stop": reply.stop,
            "usage": reply.usage.to_json(),
            "request": entry.data["request"],
            **({"then": entry.data["then"]} if is_in_part(entry.data) else {}),
            "tool_calls": [call.model_dump(mode="json") for call in calls],
        }
        mine = Message.model_validate(
            {"role": "assistant", "content": reply.text, "timestamp": entry.at, "metadata": said}
        )
        keys = [tool_key(call_key(entry.data, number, call)) for number, call in enumerate(reply.calls)]
        came = [self.results[key] for key in keys if key in self.results]
        return [mine, _came(came)] if came else [mine]


def _call(call: Any) -> dict[str, Json]:
    return {"id": call.id, "name": call.name, "arguments": held_arguments(call.arguments)}


def _came(results: Sequence[tuple[str, Any]]) -> Message:
    made = [_result(at, data) for at, data in results]
    return Message(
        role="user",
        content="\n\n".join(one.content for one in made),
        timestamp=max(one.timestamp for one in made),
        metadata={"tool_results": [one.model_dump(mode="json") for one in made]},
    )


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
