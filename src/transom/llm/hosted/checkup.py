"""A check of a server: a few cheap requests that do a user's server no harm."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from transom.canonical import Json
from transom.errors import NetworkFailed, ProviderError, ReplyError
from transom.llm.deltas import Delta
from transom.llm.provider import Provider
from transom.llm.reply import Reply
from transom.llm.shapes import Block, CallSettings, Request, Tier, ToolSpec, Window
from transom.llm.structured import complaints, schema_check, with_visible_schema
from transom.llm.turns import Text

_SHORT = CallSettings(max_tokens=512)
_WORD: dict[str, Json] = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
_PING = ToolSpec("ping", "Answers a ping.", _WORD)


@dataclass(frozen=True)
class CheckupRow:
    """A request that was tried, and its outcome.

    Attributes:
        name: of the ability that was tried.
        status: whether a usable reply came; the words of a plain reply are not judged.
        says: the reply's size, or the error, in one line.
        seconds: until the answer or the error.
        summary: how the server answered, in a few words: `answers`, `does not answer`.
    """

    name: str
    status: Literal["ok", "failed"]
    says: str
    seconds: float = 0.0
    summary: str = "answers"

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "status": self.status,
            "says": self.says,
            "seconds": round(self.seconds, 3),
        }


def _request(
    text: str, tools: tuple[ToolSpec, ...] = (), output: dict[str, Json] | None = None
) -> Request:
    blocks = (
        Block("role", "You try out a connection. Follow the task to the letter.", Tier.STABLE),
        Block("task", text),
    )
    return Request("doctor.checkup", Window(blocks), tools, _SHORT, output)


_OBJECT = 'Answer with the JSON object {"word": "pong"} and nothing else.'
# Name, whether to stream, request. The plain request is first: if that fails, so do the others.
_TRIALS = (
    ("plain", False, _request("Answer with the word pong.")),
    ("stream", True, _request("Count from one to twenty in words.")),
    ("tools", False, _request("Call the tool ping with the word pong.", (_PING,))),
    ("structured output", False, _request(_OBJECT, output=_WORD)),
)


async def checkup(make: Callable[[bool], Provider]) -> AsyncGenerator[CheckupRow]:
    """Try a server's abilities, and yield each outcome as soon as it is known.

    Args:
        make: whether to stream -> the provider.
    """
    for name, stream, request in _TRIALS:
        # A new provider each time, so that an attempt cannot spoil the next one's connection.
        yield await _try(name, make(stream), request, is_streamed=stream)


async def _try(name: str, provider: Provider, request: Request, *, is_streamed: bool) -> CheckupRow:
    start = time.monotonic()
    pieces: list[Delta] = []
    try:
        sent = with_visible_schema(request, provider.caps)
        reply = await provider.complete(sent, on_delta=pieces.append)
        says = _line_on(request, reply)
        if is_streamed:
            says += f", in pieces: {sum(isinstance(piece, Text) for piece in pieces)}"
    except (ProviderError, ReplyError) as error:
        return CheckupRow(name, "failed", str(error), time.monotonic() - start, _summary_of(error))
    finally:
        if close := getattr(provider, "aclose", None):
            await close()
    return CheckupRow(name, "ok", says, time.monotonic() - start)


def _summary_of(error: ProviderError | ReplyError) -> str:
    """Return in a few words how a server failed."""
    if isinstance(error, NetworkFailed) and error.status is None:
        return "does not answer"
    if not isinstance(error, ProviderError) or error.status is None:
        return "answers, but not with a reply"
    if error.status in (401, 403):
        return f"answers {error.status}: key refused"
    phrases = {status.value: status.phrase.lower() for status in HTTPStatus}
    return f"answers {error.status}: {phrases.get(error.status, 'unknown status')}"


def _line_on(request: Request, reply: Reply) -> str:
    """Return a line on a reply: its tokens and calls.

    Raises:
        ReplyError: the reply does not do what the request says.
    """
    says = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
    if request.tools:
        if not reply.calls:
            raise ReplyError(
                "it answered and called no tool", hint="roles with tools need another model"
            )
        call = reply.calls[0]
        if call.name != _PING.name or not isinstance(call.arguments, dict):
            raise ReplyError(f"it called {call.name} with {call.arguments!r}")
        says += f", {len(reply.calls)} call{'' if len(reply.calls) == 1 else 's'}"
    # Servers without schemas are asked in words, so a wrong answer is the model's.
    if request.output and (violations := complaints(reply, schema_check(_WORD))):
        raise ReplyError(f"the answer does not follow its schema: {violations[0].text}")
    return says
