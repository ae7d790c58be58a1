"""A check of a server: a few cheap requests that do a user's server no harm."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from transom.canonical import Json
from transom.errors import AuthenticationFailed, ProviderError, ReplyError, RequestRefused
from transom.llm.deltas import Delta
from transom.llm.provider import Provider
from transom.llm.reply import Reply
from transom.llm.shapes import Block, CallSettings, Request, Tier, ToolSpec, Window
from transom.llm.structured import complaints, schema_check, shown
from transom.llm.turns import Text

ROLE = "doctor.checkup"
_SHORT = CallSettings(max_tokens=512)
_WORD: dict[str, Json] = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
_PING = ToolSpec("ping", "Answers a ping.", _WORD)

Make = Callable[[bool], Provider]
"""Whether to take replies in pieces -> a provider."""


@dataclass(frozen=True)
class Row:
    """One thing that was tried.

    Attributes:
        name: what.
        status: `n/a` where it could not be tried.
        says: what came, or what was wrong, in one line.
        seconds: that it took.
    """

    name: str
    status: Literal["ok", "failed", "n/a"]
    says: str
    seconds: float = 0.0

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "status": self.status, "says": self.says, "seconds": round(self.seconds, 3)}


def _request(text: str, tools: Sequence[ToolSpec] = (), output: dict[str, Json] | None = None) -> Request:
    blocks = (Block("role", "You try out a connection. Do exactly what is asked.", Tier.STABLE), Block("task", text))
    return Request(ROLE, Window(blocks), tuple(tools), _SHORT, output)


_PONG = _request("Answer with the word pong.")
_COUNT = _request("Count from one to twenty in words.")
_CALL = _request("Call the tool ping with the word pong.", [_PING])
_JSON = _request('Answer with the JSON object {"word": "pong"} and nothing else.', output=_WORD)


async def checkup(
    make: Make, *, no_such_model: Make | None = None, wrong_key: Make | None = None
) -> AsyncGenerator[Row]:
    """Check a server, and yield the result of each request as soon as it is there.

    Args:
        make: the provider.
        no_such_model: the same, with a model that there is not.
        wrong_key: the same, with a key that is none; None where the server asks for no key.
    """
    yield await _tried("plain", make(False), _PONG)
    yield await _tried("stream", make(True), _COUNT)
    yield await _tried("tools", make(False), _CALL)
    yield await _tried("stream with tools", make(True), _CALL)
    yield await _tried("structured output", make(False), _JSON)
    for name, maker, refusal in (
        ("unknown model", no_such_model, RequestRefused),
        ("wrong key", wrong_key, AuthenticationFailed),
    ):
        if maker is None:
            yield Row(name, "n/a", "the server asks for no key")
        else:
            yield await _tried(name, maker(False), _PONG, refusal)


async def _tried(name: str, provider: Provider, request: Request, refusal: type[ProviderError] | None = None) -> Row:
    """Send one request; where a `refusal` is expected, an answer is a failure."""
    began = time.monotonic()
    heard: list[Delta] = []
    try:
        reply = await provider.complete(shown(request, provider.caps), on_delta=heard.append)
        if refusal:
            raise ReplyError("it was answered all the same")
        says = _judged(request, reply)
        if request is _COUNT:
            pieces = sum(isinstance(one, Text) for one in heard)
            says += f", in {pieces} piece{'' if pieces == 1 else 's'}"
    except (ProviderError, ReplyError) as error:
        seconds = time.monotonic() - began
        if refusal and isinstance(error, refusal):
            return Row(name, "ok", f"refused, as it should be: {error.what}", seconds)
        return Row(name, "failed", str(error), seconds)
    finally:
        close = getattr(provider, "aclose", None)
        if close:
            await close()
    return Row(name, "ok", says, time.monotonic() - began)


def _judged(request: Request, reply: Reply) -> str:
    """A line on a reply: its tokens and calls.

    Raises:
        ReplyError: it does not do what was asked.
    """
    says = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
    if request.tools:
        if not reply.calls:
            raise ReplyError("it answered and called no tool", hint="roles with tools need another model")
        call = reply.calls[0]
        if call.name != _PING.name or not isinstance(call.arguments, dict):
            raise ReplyError(f"it called {call.name} with {call.arguments!r}")
        says += f", {len(reply.calls)} call{'' if len(reply.calls) == 1 else 's'}"
    if request.output and (wrong := complaints(reply, schema_check(_WORD))):
        raise ReplyError(f"the answer does not follow its schema: {wrong[0].text}")
    return says
