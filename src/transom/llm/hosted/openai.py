"""The Chat Completions API, through the SDK `openai`: OpenAI, Azure, OpenRouter, llama.cpp and
others.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from transom.canonical import Json, canonical_json
from transom.llm.capabilities import Capabilities
from transom.llm.hosted.addresses import service_of
from transom.llm.hosted.draft import ReplyAssembler, whole_number
from transom.llm.hosted.failures import from_error_in_reply
from transom.llm.hosted.schema import closed, fits, without_patterns
from transom.llm.hosted.server import Server
from transom.llm.hosted.vendor import StainlessVendor, chat_messages, function, said
from transom.llm.hosted.wire import Document
from transom.llm.render import render
from transom.llm.reply import Stop, Usage
from transom.llm.shapes import Request
from transom.llm.structured import in_words, is_held
from transom.llm.turns import Opaque, ToolCall, ToolResults, Turn, UserMessage

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
        # Compatible servers know the older name of the cap alone; newer models of OpenAI's refuse
        # it.
        own = self._service in ("openai", "azure")
        held = request.output if is_held(request, caps) else None
        if own and held is not None and held.get("type") != "object":
            held = None  # it holds nothing but objects to a schema
        shown = render(request if held is not None else in_words(request))
        # OpenRouter hands them on, but not those of results of tools
        mark = caps.caching == "breakpoints"
        messages = chat_messages(shown, shown.system, _turn)
        lasting = bool(shown.system) + bool(shown.turns and shown.user)
        for message in messages[: lasting if mark else 0]:
            message["content"] = [
                {"type": "text", "text": message["content"], "cache_control": _MARK}
            ]
        settings = request.settings
        body: dict[str, object] = {
            "model": model,
            "messages": messages,
            "max_completion_tokens" if own else "max_tokens": settings.max_tokens,
        }
        if settings.temperature is not None and caps.sampling:
            body["temperature"] = settings.temperature
        if shown.tools:
            body["tools"] = [
                function(one.name, one.description, without_patterns(one.parameters))
                for one in shown.tools
            ]
            if not caps.parallel_tools:
                body["parallel_tool_calls"] = False
        if held is not None:
            body["response_format"] = _format(without_patterns(held))
        # it marks the last place itself, which moves on as the conversation grows
        if mark and shown.turns:
            body["extra_body"] = {"cache_control": _MARK}
        return body

    def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        usage = {"stream_options": {"include_usage": True}} if stream else {}
        create = self._client.get().chat.completions.with_streaming_response.create
        return self._sent(create, {**body, **usage, "stream": stream})

    def take(self, document: Document, draft: ReplyAssembler) -> bool:
        usage = document.get("usage")
        if isinstance(usage, dict):
            draft.usage = latest(draft.usage, usage)
        match document.get("choices"):
            case [dict(), *_] as choices:
                choice = choices[0]  # one is asked for
                if error := choice.get("error"):
                    raise from_error_in_reply(error)
                piece = choice.get("delta")
                if isinstance(piece, dict) and any(
                    said for name, said in piece.items() if name != "role"
                ):
                    draft.in_pieces = True
                content = piece or ({} if draft.in_pieces else choice.get("message"))
                if isinstance(content, dict):
                    _hear(content, draft)
                stop = choice.get("finish_reason")
                if isinstance(stop, str) and draft.stop != "refusal":
                    draft.stop = stop
                return True
            case []:
                return isinstance(usage, dict)
        return False

    def _connect(self) -> Any:
        version, url = self._server.api_version, self._server.base_url
        if version is None:
            client = self._client_of("AsyncOpenAI", base_url=url)
        else:
            client = self._client_of("AsyncAzureOpenAI", azure_endpoint=url, api_version=version)
        # an account's organization holds at the vendor's own alone
        if service_of(url, version) != self.kind:
            client.organization = client.project = None
        return client


def _turn(turn: Turn) -> list[Any]:
    if isinstance(turn, ToolResults):
        return [
            {"role": "tool", "tool_call_id": one.id, "content": one.content} for one in turn.results
        ]
    if isinstance(turn, UserMessage):
        return [{"role": "user", "content": turn.text}]
    text, calls = said(turn), [part for part in turn.parts if isinstance(part, ToolCall)]
    # Beside calls some refuse an empty text; without any, as after a reply that was all thinking,
    # they refuse null.
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    for part in turn.parts:
        match part:
            case Opaque({"openai": dict(thoughts)}):
                message |= thoughts
    return [message]


def _call(call: ToolCall) -> Any:
    # Arguments are a text here; what was no JSON goes back as it came.
    text = call.arguments if isinstance(call.arguments, str) else canonical_json(call.arguments)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def _format(schema: Mapping[str, Json]) -> Any:
    tight = closed(schema)
    strict = schema.get("type") == "object" and fits(tight)
    named = {"name": "answer", "schema": tight if strict else dict(schema), "strict": strict}
    return {"type": "json_schema", "json_schema": named}


def _hear(content: Mapping[str, Any], draft: ReplyAssembler) -> None:
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
            for place, call in enumerate(calls):
                _hear_call(place, call, draft)


def _hear_call(place: int, call: Any, draft: ReplyAssembler) -> None:
    match call:
        case {"function": dict(function)}:
            ident, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
            index = call.get("index")
            draft.call(
                ("call", index if isinstance(index, int) else place),
                ident=ident if isinstance(ident, str) else "",
                name=name if isinstance(name, str) else "",
                arguments="" if arguments is None else arguments,
            )


def latest(before: Usage | None, document: Mapping[str, Any]) -> Usage:
    """The usage to keep where it is sent several times: the last, unless that counts nothing."""
    new = _usage(document)
    if before is None or new.input_tokens or new.output_tokens:
        return new
    return before if new.cost is None else replace(before, cost=new.cost)


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details if isinstance(details, dict) else {}
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    kept = (cached.get("cached_tokens"), cached.get("cache_write_tokens"))
    asked, said, read, written = (whole_number(count) or 0 for count in (*counts, *kept))
    return Usage(asked, said, read, written, _cost(usage))


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Dollars, as OpenRouter reports them; with the user's own key there, what the vendor
    charges is added.
    """
    if usage.get("is_byok") is not True:
        return _money(usage.get("cost"))
    details = usage.get("cost_details")
    vendors = _money(details.get("upstream_inference_cost")) if isinstance(details, dict) else None
    return None if vendors is None else vendors + (_money(usage.get("cost")) or 0.0)


def _money(value: object) -> float | None:
    """An amount of money; None for anything else."""
    money = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
    return float(value) if money else None  # type: ignore[arg-type]  # a number, as seen
