"""Anthropic's Messages API, through the SDK `anthropic`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar

from transom.llm.capabilities import Capabilities
from transom.llm.hosted.draft import ReplyAssembler, whole_number
from transom.llm.hosted.schema import for_anthropic
from transom.llm.hosted.vendor import StainlessVendor
from transom.llm.hosted.wire import Document
from transom.llm.render import render
from transom.llm.reply import Stop, Usage
from transom.llm.shapes import Request, ToolSpec
from transom.llm.structured import in_words, is_held
from transom.llm.turns import Opaque, Part, Text, ToolCall, ToolResults, Turn, UserMessage

_OPENING = "(What you are asked stands at the end.)"
_MARK = {"type": "ephemeral"}
_Block = dict[str, Any]


class AnthropicVendor(StainlessVendor):
    """The adapter for Anthropic."""

    kind = "anthropic"
    failure = "AnthropicError"
    may_be_silent = True
    stops: ClassVar[Mapping[str, Stop]] = {
        "end_turn": "end",
        "stop_sequence": "end",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refusal",
        "pause_turn": "pause",
    }

    def body(self, request: Request, model: str, caps: Capabilities) -> dict[str, object]:
        held = (
            for_anthropic(request.output)
            if request.output is not None and is_held(request, caps)
            else None
        )
        shown = render(request if held is not None else in_words(request))
        mark = caps.caching == "breakpoints"
        messages = _Messages()
        messages.add("user", _text(shown.user, mark=mark and bool(shown.user)))
        # The end of the last exchange is written to the cache; the one before is where it is read
        # from.
        last = len(shown.turns) - 1
        for number, turn in enumerate(shown.turns):
            messages.add(*_turn(turn, mark=mark and number in (last, last - 2)))
        messages.add("user", _text(shown.tail))
        body: dict[str, object] = {
            "model": model,
            "max_tokens": request.settings.max_tokens,
            "messages": messages.all,
        }
        if shown.system:
            body["system"] = _text(shown.system, mark=mark)
        if shown.tools:
            body["tools"] = [_tool(tool) for tool in shown.tools]
            if not caps.parallel_tools:
                body["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
        if held is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": held}}
        return body

    def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        create = self._client.get().messages.with_streaming_response.create
        return self._sent(create, {**body, "stream": stream}, _is_last)

    def take(self, document: Document, draft: ReplyAssembler) -> bool:
        match document:
            case {"type": "message", "content": [*blocks]}:
                for number, block in enumerate(blocks):
                    _begin(number, block, draft)
                _close(document, draft)
            case {"type": "message_start", "message": dict(message)}:
                return self.take(message, draft)
            case {"type": "content_block_start", "index": int(number), "content_block": block}:
                _begin(number, block, draft)
            case {"type": "content_block_delta", "index": int(number), "delta": dict(delta)}:
                _go_on(number, delta, draft)
            case {"type": "message_delta", "delta": dict(delta)}:
                _close({**delta, "usage": document.get("usage")}, draft)
            case {"type": "content_block_stop" | "message_stop" | "ping"}:
                pass
            case _:
                return False
        return True

    def _connect(self) -> Any:
        client = self._client_of(
            "AsyncAnthropic", base_url=self._server.base_url, open_telemetry=False
        )
        client.auth_token = None
        return client


class _Messages:
    """Messages of alternating roles: all results of one reply must stand in one message, first
    in it.
    """

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []

    def add(self, role: str, blocks: Sequence[_Block]) -> None:
        if not blocks:
            return
        if role == "assistant" and not self.all:
            self.all.append({"role": "user", "content": _text(_OPENING)})
        if not self.all or self.all[-1]["role"] != role:
            self.all.append({"role": role, "content": []})
        self.all[-1]["content"].extend(blocks)


def _text(text: str, *, mark: bool = False) -> list[_Block]:
    """A text as a block; none where it is empty, which the API refuses."""
    if not text.strip():
        return []
    return [{"type": "text", "text": text, **({"cache_control": _MARK} if mark else {})}]


def _turn(turn: Turn, *, mark: bool) -> tuple[str, list[_Block]]:
    if isinstance(turn, ToolResults):
        role, blocks = (
            "user",
            [_result(one.id, one.content, is_error=one.is_error) for one in turn.results],
        )
    elif isinstance(turn, UserMessage):
        role, blocks = "user", _text(turn.text)
    else:
        role, blocks = (
            "assistant",
            _without_last_thoughts([block for part in turn.parts for block in _part(part)]),
        )
    if mark and blocks and blocks[-1].get("type") in ("text", "tool_result", "tool_use"):
        blocks[-1] = {**blocks[-1], "cache_control": _MARK}
    return role, blocks


def _without_last_thoughts(blocks: list[_Block]) -> list[_Block]:
    """A reply that was cut off while it thought: the API refuses a message that ends with
    thinking.
    """
    while blocks and blocks[-1].get("type") in ("thinking", "redacted_thinking"):
        blocks = blocks[:-1]
    return blocks


def _result(ident: str, content: str, *, is_error: bool) -> _Block:
    return {"type": "tool_result", "tool_use_id": ident, "content": content, "is_error": is_error}


def _part(part: Part) -> list[_Block]:
    match part:
        case Text(text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case ToolCall(ident, name, arguments):
            # Arguments that were no JSON came as text; the API takes objects alone.
            given = arguments if isinstance(arguments, dict) else {"not_json": arguments}
            return [{"type": "tool_use", "id": ident, "name": name, "input": given}]
        case Opaque({"anthropic": dict(block)}):
            return [block]
    return []  # another vendor's


def _tool(tool: ToolSpec) -> _Block:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


def _is_last(document: Document) -> bool:
    return document.get("type") == "message_stop"


def _begin(number: int, block: Any, draft: ReplyAssembler) -> None:
    match block:
        case {"type": "text", "text": str(text)}:
            draft.text(number, text)
        case {"type": "tool_use", "id": str(ident), "name": str(name)}:
            draft.call(number, ident=ident, name=name, arguments=block.get("input") or "")
        case dict():
            draft.opaque(number, {"anthropic": block})


def _go_on(number: int, delta: Mapping[str, Any], draft: ReplyAssembler) -> None:
    match delta:
        case {"type": "text_delta", "text": str(text)}:
            draft.text(number, text)
        case {"type": "input_json_delta", "partial_json": str(text)}:
            draft.call(number, arguments=text)
        case {"type": "thinking_delta", "thinking": str(text)}:
            draft.opaque_text(number, "anthropic", "thinking", text)
        case {"type": "signature_delta", "signature": str(text)}:
            draft.opaque_text(number, "anthropic", "signature", text)


def _close(message: Mapping[str, Any], draft: ReplyAssembler) -> None:
    stop, usage = message.get("stop_reason"), message.get("usage")
    if isinstance(stop, str):
        draft.stop = stop
    if isinstance(usage, dict):
        for name, value in usage.items():
            if (count := whole_number(value)) is not None:  # counts grow; some proxies end with a 0
                draft.counts[name] = max(count, draft.counts.get(name, count))
        draft.usage = _usage(draft.counts)


def _usage(counts: Mapping[str, int]) -> Usage:
    """The vendor counts what it read from a cache and what it wrote there apart from the rest."""
    read, written = (
        counts.get("cache_read_input_tokens", 0),
        counts.get("cache_creation_input_tokens", 0),
    )
    return Usage(
        counts.get("input_tokens", 0) + read + written,
        counts.get("output_tokens", 0),
        read,
        written,
    )
