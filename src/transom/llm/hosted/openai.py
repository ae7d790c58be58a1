"""The Chat Completions API, through the SDK `openai`.

OpenAI, Azure, OpenRouter, llama.cpp and many others speak it.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from transom.canonical import Json, canonical_json
from transom.llm.capabilities import Capabilities
from transom.llm.hosted.addresses import service_of
from transom.llm.hosted.draft import ReplyAssembler, whole_number
from transom.llm.hosted.failures import from_error_in_reply
from transom.llm.hosted.schema import closed, fits, without_patterns
from transom.llm.hosted.server import OWN_HEADERS, Server
from transom.llm.hosted.vendor import StainlessVendor, chat_messages, function, text_of
from transom.llm.hosted.wire import Document
from transom.llm.render import render
from transom.llm.reply import Stop, Usage
from transom.llm.shapes import Block, Request
from transom.llm.structured import is_enforced, with_schema_block
from transom.llm.turns import Opaque, ToolCallPart, ToolResults, Turn, UserMessage

_MARK = {"type": "ephemeral"}
OFFICIAL = "https://api.openai.com/v1"
_THOUGHTS = ("reasoning_content", "reasoning_details")
"""Servers' names for the thinking that they want back in the next request."""


class OpenAIVendor(StainlessVendor):
    """The adapter for OpenAI and for servers with its API."""

    kind = "openai"
    failure = "OpenAIError"
    stops: ClassVar[Mapping[str, Stop]] = {
        "stop": "end",
        "eos": "end",
        "eos_token": "end",
        "stop_sequence": "end",
        "end_turn": "end",
        "tool_calls": "tool_calls",
        "function_call": "tool_calls",
        "length": "length",
        "max_tokens": "length",
        "model_length": "length",
        "content_filter": "refusal",
        "refusal": "refusal",
    }

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._service = server.service or service_of(server.base_url, server.api_version)

    def body(self, request: Request, model: str, caps: Capabilities) -> dict[str, object]:
        is_official = self._service in ("openai", "azure")
        schema = request.output if is_enforced(request, caps) else None
        # OpenAI enforces schemas of objects alone.
        if is_official and schema is not None and schema.get("type") != "object":
            schema = None
        rendered = render(request if schema is not None else with_schema_block(request))
        messages = chat_messages(rendered, rendered.system, _turn, _attach)
        marks_cache = caps.caching == "breakpoints"
        if marks_cache:
            # OpenRouter passes marks of these messages on, but not those of tool results.
            lasting = bool(rendered.system) + bool(rendered.turns and rendered.user)
            for message in messages[:lasting]:
                content = message["content"]
                parts = [_text_part(content)] if isinstance(content, str) else content
                message["content"] = [*parts[:-1], {**parts[-1], "cache_control": _MARK}]
        settings = request.settings
        # Newer models of OpenAI refuse the older name, and compatible servers know no other.
        limit_name = "max_completion_tokens" if is_official else "max_tokens"
        body: dict[str, object] = {
            "model": model,
            "messages": messages,
            limit_name: settings.max_tokens,
        }
        if settings.temperature is not None and caps.sampling:
            body["temperature"] = settings.temperature
        if rendered.tools:
            tools = []
            for tool in rendered.tools:
                parameters = without_patterns(tool.parameters)
                tools.append(function(tool.name, tool.description, parameters))
            body["tools"] = tools
            if not caps.parallel_tools:
                body["parallel_tool_calls"] = False
        if schema is not None:
            body["response_format"] = _format(without_patterns(schema))
        # OpenRouter marks the last position itself, which moves on as the conversation grows.
        if marks_cache and rendered.turns:
            body["extra_body"] = {"cache_control": _MARK}
        return body

    def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        sent = {**body, "stream": stream}
        if stream:
            sent["stream_options"] = {"include_usage": True}
        create = self._client.get().chat.completions.with_streaming_response.create
        return self._documents(create, sent)

    def take(self, document: Document, draft: ReplyAssembler) -> bool:
        usage = document.get("usage")
        if isinstance(usage, dict):
            draft.usage = latest(draft.usage, usage)
        match document.get("choices"):
            case [dict(choice), *_]:  # a request asks for one choice
                _take_choice(choice, draft)
                return True
            case []:
                return isinstance(usage, dict)
        return False

    def _own_headers(self) -> dict[str, str]:
        if self._server.api_version is not None:
            return {**OWN_HEADERS, "api-key": self._server.api_key}
        return {**OWN_HEADERS, "authorization": f"Bearer {self._server.api_key}"}

    def _connect(self) -> Any:
        version, url = self._server.api_version, self._server.base_url
        if version is None:
            client = self._client_of("AsyncOpenAI", base_url=url)
        else:
            client = self._client_of("AsyncAzureOpenAI", azure_endpoint=url, api_version=version)
        # The SDK takes an organization from the environment, which means OpenAI's own server.
        if service_of(url, version) != self.kind:
            client.organization = client.project = None
        return client


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _attach(message: dict[str, Any], blocks: Sequence[Block]) -> None:
    """Put images and files before the text of a message, which names them."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if block.media is not None:
            url = f"data:{block.media.media_type};base64,{block.media.base64}"
            if block.media.is_image:
                parts.append({"type": "image_url", "image_url": {"url": url}})
            else:
                file = {"filename": f"{block.name}.pdf", "file_data": url}
                parts.append({"type": "file", "file": file})
    message["content"] = [*parts, _text_part(message["content"])]


def _turn(turn: Turn) -> list[Any]:
    if isinstance(turn, ToolResults):
        results = []
        for result in turn.results:
            row = {"role": "tool", "tool_call_id": result.id, "content": result.content}
            results.append(row)
        return results
    if isinstance(turn, UserMessage):
        return [{"role": "user", "content": turn.text}]
    message: dict[str, Any] = {"role": "assistant", "content": text_of(turn)}
    if turn.calls:
        # Some servers refuse an empty text in a message with calls. Without calls, as after a
        # reply that was all thinking, they refuse null.
        message["content"] = message["content"] or None
        message["tool_calls"] = [_call(call) for call in turn.calls]
    for part in turn.parts:
        match part:
            case Opaque({"openai": dict(thoughts)}):
                message |= thoughts
    return [message]


def _call(call: ToolCallPart) -> Any:
    # Arguments are a text in this API, so a text that was not JSON goes back unchanged.
    text = call.arguments if isinstance(call.arguments, str) else canonical_json(call.arguments)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def _format(schema: Mapping[str, Json]) -> Any:
    closed_schema = closed(schema)
    # A strict server refuses a schema that uses more of the language than it knows.
    is_strict = schema.get("type") == "object" and fits(closed_schema)
    sent_schema = closed_schema if is_strict else dict(schema)
    json_schema = {"name": "answer", "schema": sent_schema, "strict": is_strict}
    return {"type": "json_schema", "json_schema": json_schema}


def _take_choice(choice: Mapping[str, Any], draft: ReplyAssembler) -> None:
    if error := choice.get("error"):
        raise from_error_in_reply(error)
    content = choice.get("delta")
    if isinstance(content, dict) and any(value for key, value in content.items() if key != "role"):
        draft.in_pieces = True
    # Some servers send the whole message at the end of a stream, when all of it has come already.
    if not content:
        content = {} if draft.in_pieces else choice.get("message")
    if isinstance(content, dict):
        _take_content(content, draft)
    stop = choice.get("finish_reason")
    # A server that sends a refusal ends it with "stop" all the same.
    if isinstance(stop, str) and draft.stop != "refusal":
        draft.stop = stop


def _take_content(content: Mapping[str, Any], draft: ReplyAssembler) -> None:
    for name in _THOUGHTS:
        match content.get(name):
            case str(text) if text:
                draft.opaque_text("thoughts", "openai", name, text)
            case [*items] if items:
                draft.opaque_items("thoughts", "openai", name, items)
    match content.get("content"):
        case str(text):
            draft.text("text", text)
        case [*parts]:
            for part in parts:
                match part:
                    case {"type": "text", "text": str(text)}:
                        draft.text("text", text)
    match content.get("refusal"):
        case str(text) if text:
            draft.text("text", text)
            draft.stop = "refusal"
    match content.get("tool_calls"):
        case [*calls]:
            for position, call in enumerate(calls):
                _take_call(position, call, draft)


def _take_call(position: int, call: Any, draft: ReplyAssembler) -> None:
    match call:
        case {"function": dict(function)}:
            index, arguments = call.get("index"), function.get("arguments")
            key = index if isinstance(index, int) else position
            draft.call(
                ("call", key),
                ident=_string(call.get("id")),
                name=_string(function.get("name")),
                arguments="" if arguments is None else arguments,
            )


def _string(value: object) -> str:
    """Return a text unchanged, and anything else as the empty text."""
    return value if isinstance(value, str) else ""


def latest(before: Usage | None, document: Mapping[str, Any]) -> Usage:
    """Return the usage to keep if it is sent several times: the last that counts something."""
    new = _usage(document)
    if before is None or new.input_tokens or new.output_tokens:
        return new
    return before if new.cost is None else replace(before, cost=new.cost)


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    if not isinstance(details, dict):
        details = {}
    return Usage(
        whole_number(usage.get("prompt_tokens")) or 0,
        whole_number(usage.get("completion_tokens")) or 0,
        whole_number(details.get("cached_tokens")) or 0,
        whole_number(details.get("cache_write_tokens")) or 0,
        _cost(usage),
    )


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Return the dollars that OpenRouter reports; None if it reports none."""
    cost = _money(usage.get("cost"))
    if usage.get("is_byok") is not True:
        return cost
    # With the user's own key there, the vendor charges the user as well.
    details = usage.get("cost_details")
    if not isinstance(details, dict):
        return None
    vendors_cost = _money(details.get("upstream_inference_cost"))
    return None if vendors_cost is None else vendors_cost + (cost or 0.0)


def _money(value: object) -> float | None:
    """Return an amount of money; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < math.inf else None
