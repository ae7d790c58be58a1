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
from transom.llm.structured import complaints, schema_check, shown
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
class Row:
    """One thing that was tried: whether it was answered as asked, and what came or was wrong, in
    one line.

    Attributes:
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
        Block("role", "You try out a connection. Do exactly what is asked.", Tier.STABLE),
        Block("task", text),
    )
    return Request("doctor.checkup", Window(blocks), tools, _SHORT, output)


_OBJECT = 'Answer with the JSON object {"word": "pong"} and nothing else.'
_COUNT = _request("Count from one to twenty in words.")
_TRIED = (
    ("plain", False, _request("Answer with the word pong.")),
    ("stream", True, _COUNT),
    ("tools", False, _request("Call the tool ping with the word pong.", (_PING,))),
    ("structured output", False, _request(_OBJECT, output=_WORD)),
)


async def checkup(make: Callable[[bool], Provider]) -> AsyncGenerator[Row]:
    """Check a server: each result as soon as it is there. `make`: whether to stream -> the
    provider.
    """
    for name, stream, request in _TRIED:
        yield await _tried(name, make(stream), request)


async def _tried(name: str, provider: Provider, request: Request) -> Row:
    began = time.monotonic()
    heard: list[Delta] = []
    try:
        reply = await provider.complete(shown(request, provider.caps), on_delta=heard.append)
        says = _judged(request, reply)
        if request is _COUNT:
            says += f", in pieces: {sum(isinstance(one, Text) for one in heard)}"
    except (ProviderError, ReplyError) as error:
        return Row(name, "failed", str(error), time.monotonic() - began, _summary_of(error))
    finally:
        if close := getattr(provider, "aclose", None):
            await close()
    return Row(name, "ok", says, time.monotonic() - began)


def _summary_of(error: ProviderError | ReplyError) -> str:
    """Return how a server answered that failed: with which status, or not at all."""
    if isinstance(error, NetworkFailed) and error.status is None:
        return "does not answer"
    if not isinstance(error, ProviderError) or error.status is None:
        return "answers, but not with a reply"
    if error.status in (401, 403):
        return f"answers {error.status}: key refused"
    phrases = {status.value: status.phrase.lower() for status in HTTPStatus}
    return f"answers {error.status}: {phrases.get(error.status, 'unknown status')}"


def _judged(request: Request, reply: Reply) -> str:
    """A line on a reply: its tokens and calls; ReplyError where it does not do what was asked."""
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
    if request.output and (wrong := complaints(reply, schema_check(_WORD))):
        raise ReplyError(f"the answer does not follow its schema: {wrong[0].text}")
    return says
