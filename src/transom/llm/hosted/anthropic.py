"""Anthropic's Messages API, through the SDK `anthropic`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar

from transom.llm.capabilities import Capabilities
from transom.llm.hosted.draft import ReplyAssembler, whole_number
from transom.llm.hosted.schema import for_anthropic
from transom.llm.hosted.server import OWN_HEADERS
from transom.llm.hosted.vendor import StainlessVendor
from transom.llm.hosted.wire import Document
from transom.llm.render import render
from transom.llm.reply import Stop, Usage
from transom.llm.shapes import Block, Request, ToolSpec
from transom.llm.structured import is_enforced, with_schema_block
from transom.llm.turns import (
    Opaque,
    Part,
    Text,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    Turn,
    UserMessage,
)

# The API wants a user's message first, also if a conversation is resumed with a reply.
_OPENING = "(What you are asked stands at the end.)"
_MARK = {"type": "ephemeral"}
# The version of the API that the SDK sends.
_VERSION = "2023-06-01"
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
        schema = None
        if request.output is not None and is_enforced(request, caps):
            schema = for_anthropic(request.output)
        # A schema that the vendor does not take is asked for in words.
        rendered = render(request if schema is not None else with_schema_block(request))
        mark = caps.caching == "breakpoints"
        messages = _Messages()
        messages.add("user", _media(rendered.user_media))
        messages.add("user", _text(rendered.user, mark=mark and bool(rendered.user)))
        # The end of the last exchange is written to the cache; it is read from the end of the
        # exchange before.
        last = len(rendered.turns) - 1
        for number, turn in enumerate(rendered.turns):
            messages.add(*_turn(turn, mark=mark and number in (last, last - 2)))
        messages.add("user", _media(rendered.tail_media))
        messages.add("user", _text(rendered.tail))
        body: dict[str, object] = {
            "model": model,
            "max_tokens": request.settings.max_tokens,
            "messages": messages.all,
        }
        if rendered.system:
            body["system"] = _text(rendered.system, mark=mark)
        if rendered.tools:
            body["tools"] = [_tool(tool) for tool in rendered.tools]
            if not caps.parallel_tools:
                body["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
        if schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        create = self._client.get().messages.with_streaming_response.create
        return self._documents(create, {**body, "stream": stream}, _is_last)

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

    def _own_headers(self) -> dict[str, str]:
        key = {"x-api-key": self._server.api_key}
        return {**OWN_HEADERS, **key, "anthropic-version": _VERSION}

    def _connect(self) -> Any:
        client = self._client_of(
            "AsyncAnthropic", base_url=self._server.base_url, open_telemetry=False
        )
        # The SDK takes a token from the environment, which is not meant for this server.
        client.auth_token = None
        return client


class _Messages:
    """Messages of alternating roles, as the API wants them.

    All results of one reply must stand at the beginning of one message.
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
    """Return a text as a block, or no block if it is empty, which the API refuses."""
    if not text.strip():
        return []
    block: _Block = {"type": "text", "text": text}
    if mark:
        block["cache_control"] = _MARK
    return [block]


def _media(blocks: Sequence[Block]) -> list[_Block]:
    """Return images and files in the API's form; the text that names them follows."""
    sent: list[_Block] = []
    for block in blocks:
        if block.media is not None:
            source = {"type": "base64", "media_type": block.media.media_type}
            source["data"] = block.media.base64
            if block.media.is_image:
                sent.append({"type": "image", "source": source})
            else:
                sent.append({"type": "document", "source": source, "title": block.name})
    return sent


def _turn(turn: Turn, *, mark: bool) -> tuple[str, list[_Block]]:
    """Return the role of a turn, and its blocks."""
    role, blocks = "user", list[_Block]()
    if isinstance(turn, ToolResults):
        blocks = [_result(result) for result in turn.results]
    elif isinstance(turn, UserMessage):
        blocks = _text(turn.text)
    else:
        role = "assistant"
        for part in turn.parts:
            blocks += _part(part)
        # A reply may have been cut off while the model thought, and the API refuses a message
        # that ends with thinking.
        while blocks and blocks[-1].get("type") in ("thinking", "redacted_thinking"):
            blocks.pop()
    if mark and blocks and blocks[-1].get("type") in ("text", "tool_result", "tool_use"):
        blocks[-1] = {**blocks[-1], "cache_control": _MARK}
    return role, blocks


def _result(result: ToolResultPart) -> _Block:
    return {
        "type": "tool_result",
        "tool_use_id": result.id,
        "content": result.content,
        "is_error": result.is_error,
    }


def _part(part: Part) -> list[_Block]:
    match part:
        case Text(text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case ToolCallPart(ident, name, arguments):
            # Arguments that were not JSON came as text; the API takes objects alone.
            if not isinstance(arguments, dict):
                arguments = {"not_json": arguments}
            return [{"type": "tool_use", "id": ident, "name": name, "input": arguments}]
        case Opaque({"anthropic": dict(block)}):
            return [block]
    # Opaque data of another vendor, which answered earlier in this conversation.
    return []


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
            # Counts only grow, but some proxies end a stream with a 0.
            if (count := whole_number(value)) is not None:
                draft.counts[name] = max(count, draft.counts.get(name, count))
        draft.usage = _usage(draft.counts)


def _usage(counts: Mapping[str, int]) -> Usage:
    read = counts.get("cache_read_input_tokens", 0)
    written = counts.get("cache_creation_input_tokens", 0)
    # The vendor's `input_tokens` leave out the tokens that a cache gave or took; ours do not.
    input_tokens = counts.get("input_tokens", 0) + read + written
    return Usage(input_tokens, counts.get("output_tokens", 0), read, written)
