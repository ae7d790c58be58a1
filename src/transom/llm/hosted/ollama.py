"""Ollama's chat API, through the SDK `ollama`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import ValidationError

from transom.llm.capabilities import Capabilities
from transom.llm.hosted.draft import ReplyAssembler, whole_number
from transom.llm.hosted.failures import (
    connection_failed,
    from_error_in_reply,
    from_status,
    own_error,
    parsed,
    unreadable,
)
from transom.llm.hosted.schema import without_patterns
from transom.llm.hosted.server import HEADERS
from transom.llm.hosted.vendor import Vendor, chat_messages, function, text_of
from transom.llm.hosted.wire import Document, body_guard, drain
from transom.llm.proxies import transport
from transom.llm.render import render
from transom.llm.reply import Stop, Usage
from transom.llm.shapes import Block, Request
from transom.llm.strict_json import MOST_LEVELS, is_deep
from transom.llm.structured import is_enforced, is_repair_after_tools, with_schema_block
from transom.llm.turns import Opaque, ToolCallPart, ToolResults, Turn, UserMessage

_ONE_CALL = "Call at most one tool in a reply, and wait for its result."


class OllamaVendor(Vendor):
    """The adapter for Ollama."""

    kind = "ollama"
    tells_overflow = False
    stops: ClassVar[Mapping[str, Stop]] = {"stop": "end", "length": "length"}

    def body(self, request: Request, model: str, caps: Capabilities) -> dict[str, object]:
        # A schema is a grammar for the whole reply here, so that no tool would ever be called.
        enforces = is_enforced(request, caps) or is_repair_after_tools(request)
        rendered = render(request if enforces else with_schema_block(request))
        system = rendered.system
        # The API has no switch for one call a reply.
        if rendered.tools and not caps.parallel_tools:
            system = "\n\n".join(filter(None, [system, _ONE_CALL]))
        messages = chat_messages(rendered, system, _turn, _attach)
        settings = request.settings
        # Without num_ctx the server takes its own small window, and silently cuts a request that
        # does not fit.
        options: dict[str, object] = {
            "num_ctx": caps.context_tokens,
            "num_predict": settings.max_tokens,
        }
        if settings.temperature is not None:
            options["temperature"] = settings.temperature
        body: dict[str, object] = {"model": model, "messages": messages, "options": options}
        if rendered.tools:
            tools = []
            for tool in rendered.tools:
                tools.append(function(tool.name, tool.description, dict(tool.parameters)))
            body["tools"] = tools
        if request.output is not None and enforces:
            body["format"] = without_patterns(request.output)
        return body

    async def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        client = self._client.get()
        import httpx  # noqa: PLC0415  the SDK has imported it
        from ollama import ResponseError  # noqa: PLC0415  only if a server is asked

        arguments: dict[str, Any] = {**body, "stream": stream}
        try:
            answer: Any = await client.chat(**arguments)
            if not stream:
                yield _document(answer)
                return
            async for piece in answer:
                yield _document(piece)
                if piece.done:
                    break
            await drain(answer)
            await answer.aclose()
        except ResponseError as error:
            raise own_error(error) or _from_response(error) from error
        except (ConnectionError, httpx.HTTPError) as error:
            raise own_error(error) or connection_failed(error) from error
        except ValidationError as error:
            raise _not_a_reply(error) from error
        except TypeError as error:  # the SDK takes any JSON for an object
            raise unreadable("the reply is JSON, but no object") from error
        except (ValueError, RecursionError) as error:
            raise unreadable("the reply is no JSON", str(error)) from error

    def take(self, document: Document, draft: ReplyAssembler) -> bool:
        message = document.get("message")
        if not isinstance(message, dict):
            return False
        _take_message(message, draft)
        if document.get("done") is True:
            draft.stop = str(document.get("done_reason") or "stop")  # older servers give no reason
            read = whole_number(document.get("prompt_eval_count")) or 0
            written = whole_number(document.get("eval_count")) or 0
            draft.usage = Usage(read, written) if read or written else None
        return True

    def _connect(self) -> Any:
        import httpx  # noqa: PLC0415  only if a server is asked
        from ollama import AsyncClient  # noqa: PLC0415  only if a server is asked

        guard = body_guard(httpx.AsyncByteStream, self._server.max_body)
        # Also without a key: the SDK would look for one by itself, and send that.
        headers = {**HEADERS, "authorization": f"Bearer {self._server.api_key}"}
        return AsyncClient(
            host=self._server.base_url,
            timeout=self._server.seconds,
            transport=transport(httpx, self._server.proxy),
            follow_redirects=False,
            headers=headers,
            event_hooks={"response": [guard]},
        )


def _document(piece: Any) -> Document:
    document: Document = piece.model_dump()
    # The SDK reads JSON itself, however deeply it is nested.
    if is_deep(document, MOST_LEVELS):
        raise ValueError("it is nested too deeply")
    return document


def _from_response(error: Any) -> Exception:
    # The SDK keeps the status and drops the headers; the error that it was raised for has them.
    response = getattr(error.__context__, "response", None)
    if response is None:
        return from_error_in_reply(error.error)
    return from_status(error.status_code, parsed(response.text), response.headers)


def _not_a_reply(error: ValidationError) -> Exception:
    # Outside of a stream the SDK reports an error in place of a reply as missing fields.
    for fault in error.errors(include_url=False):
        match fault["input"]:
            case {"error": error_body}:
                return from_error_in_reply(error_body)
    return unreadable("the reply is JSON, but no reply")


def _attach(message: dict[str, Any], blocks: Sequence[Block]) -> None:
    """Add images to a message; this API takes no files."""
    message["images"] = [block.media.base64 for block in blocks if block.media is not None]


def _turn(turn: Turn) -> list[Any]:
    if isinstance(turn, ToolResults):
        results = []
        for result in turn.results:
            row = {"role": "tool", "tool_name": result.name, "content": result.content}
            results.append(row)
        return results
    if isinstance(turn, UserMessage):
        return [{"role": "user", "content": turn.text}]
    message: dict[str, Any] = {"role": "assistant", "content": text_of(turn)}
    if turn.calls:
        message["tool_calls"] = [_call(call) for call in turn.calls]
    for part in turn.parts:
        match part:
            case Opaque({"ollama": {"thinking": str(thinking)}}):
                message["thinking"] = thinking
    return [message]


def _call(call: ToolCallPart) -> Any:
    arguments = call.arguments
    # Arguments that were not JSON came as text; the API takes objects alone.
    if not isinstance(arguments, dict):
        arguments = {"not_json": arguments}
    return {"function": {"name": call.name, "arguments": arguments}}


def _take_message(message: Mapping[str, Any], draft: ReplyAssembler) -> None:
    match message.get("thinking"):
        case str(text) if text:
            draft.opaque_text("thoughts", "ollama", "thinking", text)
    match message.get("content"):
        case str(text):
            draft.text("text", text)
    match message.get("tool_calls"):
        case [*calls]:
            for call in calls:
                match call:
                    case {"function": {"name": str(name), "arguments": arguments}}:
                        draft.call(("call", draft.calls), name=name, arguments=arguments)
