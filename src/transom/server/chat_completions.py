"""An agent behind the API of OpenAI's chat completions, so that any chat front end can use it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from transom.agent import Agent, Home
from transom.agent import Response as AgentResponse
from transom.agent.models import Event, ReplyDelta
from transom.canonical import digest
from transom.errors import InputError, Paused, ProviderError, RunError, TransomError
from transom.llm import Usage
from transom.llm.deltas import Again
from transom.runs import Workspace
from transom.server.door import Door, Proxy
from transom.store import Store

_TABLE = "chat_completions"
_ROLES = ("system", "developer", "user", "assistant")
# The API knows few reasons for an end; a cap of the budget is the end of what may be said.
_FINISH_REASONS = {"answered": "stop", "refusal": "content_filter"}


@dataclass(frozen=True)
class ChatRequest:
    """What a client sent.

    Attributes:
        history: the messages before the last one, each as its role and its text.
        text: the last message.
        is_stream: whether the answer is sent in pieces.
        with_usage: whether the last piece holds the usage.
    """

    history: tuple[tuple[str, str], ...]
    text: str
    is_stream: bool
    with_usage: bool

    @classmethod
    def parse(cls, document: Any) -> ChatRequest:
        """Read a request body.

        Raises:
            InputError: the body is no request, or asks for what an agent does not do.
        """
        if not isinstance(document, Mapping):
            raise InputError("the body is no JSON object")
        # What would change the answer is refused; sampling settings are hints that may be ignored.
        if document.get("tools") or document.get("functions"):
            raise InputError("an agent has its own tools", place="tools", hint="leave tools out")
        if document.get("n") not in (None, 1):
            raise InputError("an agent gives one answer", place="n", hint="leave n out")
        form = document.get("response_format")
        if form and not (isinstance(form, Mapping) and form.get("type") == "text"):
            hint = "leave response_format out; the agent's output declares its form"
            raise InputError(
                "an agent has its own form of answers", place="response_format", hint=hint
            )
        messages = document.get("messages")
        if not isinstance(messages, list) or not messages:
            raise InputError("there is no message", place="messages", hint="send a list of them")
        pairs = []
        for number, message in enumerate(messages):
            pairs.append(_role_and_text(message, f"messages[{number}]"))
        role, text = pairs.pop()
        if role != "user" or not text.strip():
            problem = f"the last message is of {role}, or blank"
            raise InputError(problem, place="messages", hint="end with a text of the user")
        options = document.get("stream_options")
        with_usage = isinstance(options, Mapping) and options.get("include_usage") is True
        return cls(tuple(pairs), text, document.get("stream") is True, with_usage)

    @property
    def seeded_text(self) -> str:
        """The message for a new conversation: what was said before stands in front of it."""
        if not self.history:
            return self.text
        lines = [f"{role}: {text}" for role, text in self.history]
        earlier = "\n\n".join(lines)
        return f"The conversation before this message:\n\n{earlier}\n\nThe message:\n\n{self.text}"


class ChatCompletions:
    """The endpoints `/v1/chat/completions` and `/v1/models` of one agent.

    A client sends the whole conversation with each message. A conversation that was answered here
    is found again by its messages, and continued with all tool calls that it had; of any other one,
    the agent is told the earlier messages. A request with an `Idempotency-Key` that was sent before
    is answered from the journal, also after a kill.

    Args:
        agent: the agent; each conversation has a copy of its own.
        name: the name of the model that it stands for.
        workspace: keeps the conversations.
        store: the workspace's open store.
    """

    def __init__(
        self, agent: Agent[Any, Any], name: str, workspace: Workspace, store: Store
    ) -> None:
        self._agent = agent
        self._name = name
        self._workspace = workspace
        self._store = store
        self._began = int(time.time())

    def routes(self) -> list[Route]:
        """Return the routes of the endpoints."""
        return [
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
            Route("/v1/models", self.models, methods=["GET"]),
        ]

    async def models(self, _: Request) -> Response:
        """List the agent as the only model."""
        model = {
            "id": self._name,
            "object": "model",
            "created": self._began,
            "owned_by": "transom",
        }
        return JSONResponse({"object": "list", "data": [model]})

    async def complete(self, request: Request) -> Response:
        """Answer the last message of a conversation."""
        try:
            chat = ChatRequest.parse(await _document(request))
        except InputError as error:
            return _error(error)
        home, text = await self._home_of(chat, request.headers.get("idempotency-key", ""))
        agent = self._agent.copy(at=home)
        if chat.is_stream:
            pieces = self._pieces(agent, home, chat, text)
            return StreamingResponse(pieces, media_type="text/event-stream")
        try:
            async with agent:
                await agent.open()
                before = agent.context().usage
                response = await agent.send(text, id=_message_id(chat))
        except TransomError as error:
            return _error(error)
        await self._remember(chat, response.text, home)
        message = {"role": "assistant", "content": response.text}
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(response)}
        document = {**self._head("chat.completion"), "choices": [choice]}
        return JSONResponse({**document, "usage": _usage(response, before)})

    async def _pieces(
        self, agent: Agent[Any, Any], home: Home, chat: ChatRequest, text: str
    ) -> AsyncIterator[bytes]:
        """Yield an answer as server-sent events."""
        head = self._head("chat.completion.chunk")

        def piece(delta: Mapping[str, str], finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            return _event({**head, "choices": [choice]})

        # The role comes first and alone, as OpenAI's own server sends it.
        yield piece({"role": "assistant", "content": ""})
        try:
            # If the client leaves, the generator is closed, and the message stops.
            async with agent:
                await agent.open()
                before = agent.context().usage
                async with agent.stream(text, id=_message_id(chat)) as answer:
                    async for event in answer:
                        if delta := _delta_of(event, agent.id):
                            yield piece({"content": delta})
                    response = await answer.response()
            await self._remember(chat, response.text, home)
        except TransomError as error:
            yield _event(_error_document(error))
            return
        yield piece({}, _finish_reason(response))
        if chat.with_usage:
            yield _event({**head, "choices": [], "usage": _usage(response, before)})
        yield b"data: [DONE]\n\n"

    async def _home_of(self, chat: ChatRequest, request_key: str) -> tuple[Home, str]:
        """Return the conversation that a request continues or begins, and the message's text."""
        if request_key:
            # A repeated request finds the conversation that it began or continued then.
            stored: Any = self._store.get(_TABLE, f"request/{digest(request_key)}")
            if stored:
                return self._home(stored[0]), stored[1]
        name, text = await self._continued(chat), chat.text
        if not name:
            name, text = f"chat-{uuid.uuid4().hex}", chat.seeded_text
        if request_key:
            await self._store.put(_TABLE, f"request/{digest(request_key)}", [name, text])
        return self._home(name), text

    async def _continued(self, chat: ChatRequest) -> str:
        """Return the name of the conversation that ended with a history; "" if there is none."""
        key = f"history/{digest([list(pair) for pair in chat.history])}"
        name = self._store.get(_TABLE, key)
        # Once only: a second message after the same history is a branch, whose conversation must
        # not hold the first one. If two come at once, one of them wins.
        if isinstance(name, str) and name and await self._store.swap(_TABLE, key, name, ""):
            return name
        return ""

    async def _remember(self, chat: ChatRequest, answer: str, home: Home) -> None:
        """Note that a conversation has come to this answer."""
        history = [*chat.history, ("user", chat.text), ("assistant", answer)]
        key = f"history/{digest([list(pair) for pair in history])}"
        await self._store.put(_TABLE, key, home.name)

    def _home(self, name: str) -> Home:
        return Home(self._workspace.root, name, self._store)

    def _head(self, kind: str) -> dict[str, Any]:
        ident = f"chatcmpl-{uuid.uuid4().hex}"
        return {"id": ident, "object": kind, "created": int(time.time()), "model": self._name}


def build_agent_app(
    agent: Agent[Any, Any],
    name: str,
    workspace: Workspace,
    store: Store,
    token: str,
    host: str = "127.0.0.1",
    proxy_name: str = "",
) -> Door:
    """Build an ASGI application that serves an agent to chat front ends.

    Args:
        agent: the agent.
        name: the name of the model that it stands for.
        workspace: keeps the conversations.
        store: the workspace's store, open for writing; the caller closes it.
        token: what clients send as their API key.
        host: the name or address that the server listens on, see `Door`.
        proxy_name: the name by which clients reach the proxy in front of it; "" if there is none.
    """
    app = Starlette(routes=ChatCompletions(agent, name, workspace, store).routes())
    return Door(app, token, host, proxy=Proxy(proxy_name) if proxy_name else None)


async def _document(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise InputError("the body is no JSON") from error


def _role_and_text(message: Any, place: str) -> tuple[str, str]:
    """Return the role and the text of a message; the text may stand in parts."""
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in _ROLES:
        hint = f"say {' or '.join(_ROLES)}; tools are the agent's own"
        raise InputError(f"its role is {role!r:.40}", place=place, hint=hint)
    content = message.get("content")
    if isinstance(content, str):
        return role, content
    # Front ends send a text in parts once a message has held an image.
    texts = []
    for part in content if isinstance(content, list) else [None]:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case _:
                raise InputError("it holds something else than text", place=place, hint="send text")
    return role, "\n\n".join(texts)


def _finish_reason(response: AgentResponse[Any]) -> str:
    return _FINISH_REASONS.get(response.ended, "length")


def _message_id(chat: ChatRequest) -> str:
    """Return the id of a message: the same request in the same conversation is the same message."""
    return digest([chat.text, [list(pair) for pair in chat.history]])


def _delta_of(event: Event, conversation: str) -> str:
    """Return the text that an event adds to the answer; "" for events of other kinds."""
    # What a sub-agent says is its parent's business.
    if not isinstance(event, ReplyDelta) or event.conversation != conversation:
        return ""
    # What was sent cannot be taken back: the next attempt stands below it.
    return "\n\n" if isinstance(event.piece, Again) else event.text


def _usage(response: AgentResponse[Any], before: Usage) -> dict[str, int]:
    """Return the tokens that a message took, beside those of the conversation before it."""
    input_tokens = response.usage.input_tokens - before.input_tokens
    output_tokens = response.usage.output_tokens - before.output_tokens
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }


def _event(document: Mapping[str, Any]) -> bytes:
    # A model may send half a character, which no UTF-8 has.
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def _error_document(error: TransomError) -> dict[str, Any]:
    kind = "invalid_request_error" if isinstance(error, InputError) else "server_error"
    text = f"{error}"
    if isinstance(error, Paused):
        text = f"a person has to decide first: {error}; see `transom waiting`"
    return {"error": {"message": text, "type": kind, "code": type(error).__name__, "param": None}}


def _error(error: TransomError) -> Response:
    """Return an error as the API's clients read it."""
    status = 500
    if isinstance(error, InputError):
        status = 400
    elif isinstance(error, Paused | RunError):
        # Another request would not help: clients repeat a 409 themselves.
        status = 422
    elif isinstance(error, ProviderError):
        status = 502
    return JSONResponse(_error_document(error), status)
