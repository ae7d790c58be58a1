"""An agent behind the API of OpenAI's chat completions, so that any chat front end can use it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from transom.agent.agent import Agent
from transom.agent.models import Event, ReplyDelta, ReplyReceived
from transom.agent.models import Response as AgentResponse
from transom.agent.setup import Home
from transom.canonical import digest
from transom.errors import InputError, Paused, ProviderError, RunBusy, RunError, TransomError
from transom.llm import Usage
from transom.llm.deltas import Again
from transom.runs import Workspace
from transom.store import Store

_log = logging.getLogger(__name__)

_TABLE = "chat_completions"
_LONGEST_WAIT = 7 * 24 * 3600.0  # seconds; a person may have to approve a call in between
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
    def history_id(self) -> str:
        """The id of the messages before the last one."""
        return _history_id(self.history)

    @property
    def id(self) -> str:
        """The id of the message: the same text after the same history is the same message."""
        return digest([self.text, [list(pair) for pair in self.history]])

    @property
    def seeded_text(self) -> str:
        """The message for a new conversation: what was said before stands in front of it."""
        if not self.history:
            return self.text
        lines = [f"{role}: {text}" for role, text in self.history]
        earlier = "\n\n".join(lines)
        return f"The conversation before this message:\n\n{earlier}\n\nThe message:\n\n{self.text}"


class KeyReused(InputError):
    """An `Idempotency-Key` was sent before, with other messages."""


@dataclass(frozen=True)
class _Claim:
    """What a request says to the agent.

    Attributes:
        name: the conversation.
        text: the message.
        key: where the table keeps the request; "" if it has no `Idempotency-Key`.
        is_answered: whether it was answered before.
    """

    name: str
    text: str
    key: str
    is_answered: bool


class _StreamedText:
    """The text of an answer as a client has received it."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self._agent = agent
        self._is_new_reply = False
        self.whole = ""

    def add(self, event: Event) -> str:
        """Return the text that an event adds; "" for events of other kinds."""
        # What a sub-agent says is its parent's business.
        if not isinstance(event, ReplyDelta | ReplyReceived):
            return ""
        if event.conversation != self._agent.id:
            return ""
        # What was sent cannot be taken back: the next attempt stands below it.
        if isinstance(event, ReplyReceived) or isinstance(event.piece, Again):
            self._is_new_reply = True
            return ""
        if not event.text:
            return ""
        delta = f"\n\n{event.text}" if self._is_new_reply and self.whole else event.text
        self._is_new_reply = False
        self.whole += delta
        return delta


class ChatCompletions:
    """The endpoints `/v1/chat/completions` and `/v1/models` of one agent.

    A client sends the whole conversation with each message. A conversation that was answered here
    is found again by its messages, and continued with all tool calls that it had; of any other one,
    the agent is told the earlier messages. A request that failed goes on when it is sent again. One
    with an `Idempotency-Key` that was sent before is answered from the journal, also after a kill.

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
        self._claiming = asyncio.Lock()

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
            # One claim at a time: of equal requests that arrive together, the one that finds the
            # conversation must also be the one that gets the key, else the message is answered in
            # a new conversation.
            async with self._claiming:
                claim = await self._claim(chat, request.headers.get("idempotency-key", ""))
        except TransomError as error:
            return _error(error)
        agent = self._agent.copy(at=Home(self._workspace.root, claim.name, self._store))
        if chat.is_stream:
            pieces = self._pieces(agent, chat, claim)
            return StreamingResponse(pieces, media_type="text/event-stream")
        try:
            async with self._attempt(chat, claim), agent:
                await agent.open()
                before = agent.context().usage
                response = await agent.send(claim.text, id=chat.id)
            await self._remember(chat, claim, response.text)
        except TransomError as error:
            return _error(error)
        except Exception as error:  # noqa: BLE001  any error of a tool or provider
            # Starlette's own answer would have SDKs repeat the request.
            _log.exception("%s: the message failed", claim.name)
            return _error(RunError(f"the agent failed: {type(error).__name__}"), 500)
        message = {"role": "assistant", "content": response.text}
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(response)}
        document = {**self._head("chat.completion"), "choices": [choice]}
        return JSONResponse({**document, "usage": _usage(response, before)})

    async def _pieces(
        self, agent: Agent[Any, Any], chat: ChatRequest, claim: _Claim
    ) -> AsyncIterator[bytes]:
        """Yield an answer as server-sent events."""
        head = self._head("chat.completion.chunk")

        def piece(delta: Mapping[str, str], finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            return _event({**head, "choices": [choice]})

        text = _StreamedText(agent)
        try:
            # If the client leaves, the generator is closed, and the message stops.
            async with self._attempt(chat, claim), agent:
                # The role comes first and alone, as OpenAI's own server sends it.
                yield piece({"role": "assistant", "content": ""})
                await agent.open()
                before = agent.context().usage
                async with agent.stream(claim.text, id=chat.id) as answer:
                    async for event in answer:
                        if delta := text.add(event):
                            yield piece({"content": delta})
                    response = await answer.response()
            # The client sends back what it was sent, with all that came before a tool call.
            await self._remember(chat, claim, text.whole)
        except TransomError as error:
            yield _event(_error_document(error))
            return
        yield piece({}, _finish_reason(response))
        if chat.with_usage:
            yield _event({**head, "choices": [], "usage": _usage(response, before)})
        yield b"data: [DONE]\n\n"

    # -- which conversation a request belongs to ---------------------------------------------------
    #
    # A conversation stands in the table under at most one of these keys, and what holds is:
    #
    # history/H     It rests: it came to the messages H, and the next request after H continues it.
    # unanswered/M  Its last message M failed. Only the same request goes on with it, since any
    #               other one would see M. What M has done or paid is not done again. After a week,
    #               the same words are a message of their own.
    # neither       It is at work, or waits under a request's key alone.
    #
    # `_take` is the only way out of the first two, and one request alone succeeds: what was taken
    # is "" from then on, so a second message after H is a branch, a conversation of its own.
    #
    # request/K     The conversation and the message of the Idempotency-Key K, decided once for all
    #               (by `put_if_absent`) before the agent is asked. Later requests with K are either
    #               the same message in the same conversation, or refused. The first one that is
    #               answered lets the conversation rest; a replay of the answer moves nothing.

    async def _claim(self, chat: ChatRequest, request_key: str) -> _Claim:
        """Decide which conversation a request continues or begins.

        Raises:
            KeyReused: the request's key was sent with other messages.
        """
        key = f"request/{digest(request_key)}" if request_key else ""
        stored: Any = self._store.get(_TABLE, key) if key else None
        if stored is None:
            source, value = await self._take(f"unanswered/{chat.id}", f"history/{chat.history_id}")
            if source.startswith("unanswered/"):
                name, text = value[:2]
            elif source:
                name, text = value, chat.text
            else:
                name, text = f"chat-{uuid.uuid4().hex}", chat.seeded_text
            own = [name, text, chat.id, False]
            stored = await self._store.put_if_absent(_TABLE, key, own) if key else own
            if stored != own and source:
                # An equal request came first, so this one takes nothing.
                await self._store.swap(_TABLE, source, "", value)
        name, text, message_id, is_answered = stored
        if message_id != chat.id:
            problem = "this Idempotency-Key was sent with other messages"
            raise KeyReused(problem, hint="send a new key with new messages")
        return _Claim(name, text, key, is_answered)

    async def _take(self, *keys: str) -> tuple[str, Any]:
        """Take a conversation from the first key that has one; returns the key and its value."""
        for key in keys:
            value: Any = self._store.get(_TABLE, key)
            if key.startswith("unanswered/") and _is_old(value):
                continue
            # Several may read it at the same time, and one of them wins.
            if value and await self._store.swap(_TABLE, key, value, ""):
                return key, value
        return "", None

    @asynccontextmanager
    async def _attempt(self, chat: ChatRequest, claim: _Claim) -> AsyncIterator[None]:
        """Note on an error that the message has no answer, so that the same request goes on."""
        try:
            yield
        except BaseException:
            # A key finds its message by itself.
            if not claim.key:
                value: Any = [claim.name, claim.text, time.time()]
                # A client that left has cancelled this task, which must not cut the write short.
                write = self._store.put(_TABLE, f"unanswered/{chat.id}", value)
                await asyncio.shield(asyncio.ensure_future(write))
            raise

    async def _remember(self, chat: ChatRequest, claim: _Claim, answer: str) -> None:
        """Let a conversation rest, which has come to this answer."""
        if claim.is_answered:
            return
        history = (*chat.history, ("user", chat.text), ("assistant", answer))
        await self._store.put(_TABLE, f"history/{_history_id(history)}", claim.name)
        if claim.key:
            await self._store.put(_TABLE, claim.key, [claim.name, claim.text, chat.id, True])

    def _head(self, kind: str) -> dict[str, Any]:
        ident = f"chatcmpl-{uuid.uuid4().hex}"
        return {"id": ident, "object": kind, "created": int(time.time()), "model": self._name}


async def _document(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise InputError("the body is no JSON") from error


def _role_and_text(message: Any, place: str) -> tuple[str, str]:
    """Return the role and the text of a message; the text may stand in parts."""
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in _ROLES:
        hint = f"write {' or '.join(_ROLES)}; tools are the agent's own"
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


def _is_old(unanswered: Any) -> bool:
    """Return whether a message failed so long ago that an equal one is meant anew."""
    # Entries of the first version have no time.
    return bool(unanswered) and len(unanswered) > 2 and time.time() - unanswered[2] > _LONGEST_WAIT


def _finish_reason(response: AgentResponse[Any]) -> str:
    return _FINISH_REASONS.get(response.ended, "length")


def _history_id(history: Iterable[tuple[str, str]]) -> str:
    return digest([list(pair) for pair in history])


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
    elif isinstance(error, RunBusy):
        text = "the conversation is still at work, as for an earlier request with the same"
        text += " Idempotency-Key; send this one again when that has its answer"
    return {"error": {"message": text, "type": kind, "code": type(error).__name__, "param": None}}


def _error(error: TransomError, status: int = 0) -> Response:
    """Return an error as the API's clients read it.

    Args:
        error: the error.
        status: its status; 0 for the one of its kind.
    """
    if isinstance(error, KeyReused | Paused | RunError):
        status = status or 422
    elif isinstance(error, InputError):
        status = status or 400
    elif isinstance(error, ProviderError):
        status = status or 502
    # SDKs repeat a 409 and every 5xx unless they are told not to. Here a repetition may cost money,
    # so it is left to the program.
    return JSONResponse(_error_document(error), status or 500, {"x-should-retry": "false"})
