"""The Chat Completions API, through the SDK `openai`: OpenAI, Azure, OpenRouter, llama.cpp, whoever speaks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from transom.canonical import Json, canonical_json
from transom.errors import NetworkFailed
from transom.llm.capabilities import Capabilities
from transom.llm.hosted.addresses import service_of
from transom.llm.hosted.draft import ReplyAssembler
from transom.llm.hosted.failures import connection_failed, from_error_in_reply, from_status, own_error, parsed
from transom.llm.hosted.patterns import Taken, grammar_pattern, openai_pattern, with_patterns
from transom.llm.hosted.schema import AZURE, OPENAI, Strict, closed
from transom.llm.hosted.server import HEADERS, Clients, Server, send_only_ours
from transom.llm.hosted.usage import latest
from transom.llm.hosted.wire import Document, body_guard, documents
from transom.llm.proxies import transport
from transom.llm.render import render
from transom.llm.reply import Stop
from transom.llm.shapes import Request, ToolSpec
from transom.llm.structured import in_words, is_held
from transom.llm.turns import AssistantMessage, Opaque, Text, ToolCall, ToolResults, Turn, UserMessage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MARK = {"type": "ephemeral"}
OFFICIAL = "https://api.openai.com/v1"
_THOUGHTS = ("reasoning_content", "reasoning_details")
"""What servers call the thinking that they want back in the next request."""
_KINDS = {"content": "text", "refusal": "text", "tool_calls": "call", **dict.fromkeys(_THOUGHTS, "opaque")}
"""Parts of a message, and as what they are kept."""


class OpenAIVendor:
    """How OpenAI is spoken to, and those that took over its API."""

    kind = "openai"
    tells_overflow = True
    may_be_silent = False
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
        self._server = server
        self._service = server.service or service_of(server.base_url, server.api_version)
        self._client = Clients(self._connect, lambda client: client.close())

    def body(self, request: Request, model: str, caps: Capabilities) -> dict[str, object]:
        # Compatible servers know the older name of the cap alone; newer models of OpenAI's refuse it.
        own = self._service in ("openai", "azure")
        taken = openai_pattern if own else grammar_pattern
        held = request.output if is_held(request, caps) else None
        if own and held is not None and held.get("type") != "object":
            held = None  # it holds nothing but objects to a schema
        shown = render(request if held is not None else in_words(request))
        mark = caps.caching == "breakpoints"  # OpenRouter hands them on, but not those of results of tools
        messages: list[Any] = [{"role": "system", "content": _content(shown.system, mark)}] if shown.system else []
        first = [shown.user] if shown.turns else [shown.user, shown.tail]
        if asked := "\n\n".join(text for text in first if text):
            messages.append({"role": "user", "content": _content(asked, mark and bool(shown.turns))})
        messages += [message for turn in shown.turns for message in _turn(turn)]
        if shown.turns and shown.tail:
            messages.append({"role": "user", "content": shown.tail})
        settings = request.settings
        body: dict[str, object] = {
            "model": model,
            "messages": messages,
            "max_completion_tokens" if own else "max_tokens": settings.max_tokens,
        }
        if settings.temperature is not None and caps.sampling:
            body["temperature"] = settings.temperature
        if shown.tools:
            body["tools"] = [_tool(tool, taken) for tool in shown.tools]
            if not caps.parallel_tools:
                body["parallel_tool_calls"] = False
        if held is not None:
            schema = with_patterns(held, taken)
            body["response_format"] = _format(schema, AZURE if self._service == "azure" else OPENAI)
        if mark and shown.turns:  # it marks the last place itself, which moves on as the conversation grows
            body["extra_body"] = {"cache_control": _MARK}
        return body

    def connect(self) -> None:
        self._client.get()

    async def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        client = self._client.get()
        from httpx2 import HTTPError  # noqa: PLC0415  (imported by now)
        from openai import OpenAIError  # noqa: PLC0415  only where it is asked

        usage = {"stream_options": {"include_usage": True}} if stream else {}
        asked: dict[str, Any] = {**body, **usage, "stream": stream}
        try:
            async with client.chat.completions.with_streaming_response.create(**asked) as response:
                async for document in documents(response.iter_bytes(), response.headers.get("content-type", "")):
                    yield document
        except (OpenAIError, HTTPError) as error:
            raise _typed(error) from error

    def take(self, document: Document, draft: ReplyAssembler) -> bool:
        usage = document.get("usage")
        if isinstance(usage, dict):
            draft.usage = latest(draft.usage, usage)
        match document.get("choices"):
            case [dict(), *_] as choices:
                choice = draft.chosen([one for one in choices if isinstance(one, dict)])
                if choice is None:
                    return True
                if error := choice.get("error"):
                    raise from_error_in_reply(error)
                said = _told(choice, draft)
                if isinstance(said, dict):
                    _hear(said, draft)
                stop = choice.get("finish_reason")
                if isinstance(stop, str) and draft.stop != "refusal":
                    draft.stop = stop
                return True
            case []:
                return isinstance(usage, dict)
        return False

    async def aclose(self) -> None:
        await self._client.aclose()

    def _connect(self) -> AsyncOpenAI:
        import httpx2  # noqa: PLC0415  only where it is asked
        from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415  (1.4 s of CPU)

        guard = body_guard(httpx2.AsyncByteStream, self._server.max_body)
        agreed: dict[str, Any] = {
            "api_key": self._server.api_key,
            "max_retries": 0,
            "timeout": self._server.seconds,
            "default_headers": HEADERS,
            "http_client": DefaultAsyncHttpxClient(
                transport=transport(httpx2, self._server.proxy),
                follow_redirects=False,
                event_hooks={"response": [guard]},
            ),
        }
        version, url = self._server.api_version, self._server.base_url
        client = (
            AsyncOpenAI(base_url=url, **agreed)
            if version is None
            else AsyncAzureOpenAI(azure_endpoint=url, api_version=version, **agreed)
        )
        send_only_ours(client, "OPENAI_CUSTOM_HEADERS")
        if not self._server.official:
            client.organization = client.project = None
        return client


def _typed(error: Exception) -> Exception:
    from openai import APIStatusError, APITimeoutError  # noqa: PLC0415  (imported by now)

    ours = own_error(error)
    if ours is not None:
        return ours
    if isinstance(error, APIStatusError):
        return from_status(error.status_code, parsed(error.response.text), error.response.headers)
    if isinstance(error, APITimeoutError):
        return NetworkFailed("the server did not answer in time")
    return connection_failed(error)


def _content(text: str, mark: bool) -> Any:
    return [{"type": "text", "text": text, "cache_control": _MARK}] if mark else text


def _turn(turn: Turn) -> list[Any]:
    if isinstance(turn, ToolResults):
        return [{"role": "tool", "tool_call_id": one.id, "content": one.content} for one in turn.results]
    if isinstance(turn, UserMessage):
        return [{"role": "user", "content": turn.text}]
    said, calls = _said(turn), [part for part in turn.parts if isinstance(part, ToolCall)]
    # Beside calls some refuse an empty text; without any, as after a reply that was all thinking, they refuse null.
    message: dict[str, Any] = {"role": "assistant", "content": said or (None if calls else "")}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    for part in turn.parts:
        match part:
            case Opaque({"openai": dict(thoughts)}):
                message |= thoughts
    return [message]


def _said(turn: AssistantMessage) -> str:
    return "".join(part.text for part in turn.parts if isinstance(part, Text))


def _call(call: ToolCall) -> Any:
    # Arguments are a text here; what was no JSON goes back as it came.
    text = call.arguments if isinstance(call.arguments, str) else canonical_json(call.arguments)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def _tool(tool: ToolSpec, taken: Taken) -> Any:
    parameters = with_patterns(tool.parameters, taken)
    described = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": described}


def _format(schema: Mapping[str, Json], rules: Strict) -> Any:
    tight = closed(schema)
    strict = rules.fits(tight)
    named = {"name": "answer", "schema": tight if strict else dict(schema), "strict": strict}
    return {"type": "json_schema", "json_schema": named}


def _told(choice: Mapping[str, Any], draft: ReplyAssembler) -> Any:
    """What a choice tells: a piece, or a whole message; behind pieces that one only tells what was not in them."""
    if piece := choice.get("delta"):
        draft.in_pieces = True
        return piece
    message = choice.get("message")
    if not draft.in_pieces or not isinstance(message, dict):
        return message
    return {name: told for name, told in message.items() if not draft.holds(_KINDS.get(name, ""))}


def _hear(said: Mapping[str, Any], draft: ReplyAssembler) -> None:
    for name in _THOUGHTS:
        match said.get(name):
            case str(text) if text:
                draft.opaque_text("thoughts", "openai", name, text)
            case [*items] if items:
                draft.opaque_items("thoughts", "openai", name, items)
    match said.get("content"):
        case str(text):
            draft.text("text", text)
        case [*parts]:
            for part in parts:
                match part:
                    case {"type": "text", "text": str(text)}:
                        draft.text("text", text)
    match said.get("refusal"):
        case str(text) if text:
            draft.text("text", text)
            draft.stop = "refusal"
    match said.get("tool_calls"):
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
