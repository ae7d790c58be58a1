"""What a server may do, and what must come of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.llm.conformance.dialects import SAID, Dialect, Part
from tests.llm.conformance.server import Answer, Seen, Wire
from transom.errors import (
    AuthenticationFailed,
    ContextOverflow,
    NetworkFailed,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from transom.llm import Text, ToolCallPart

SHORT = 0.25
"""Seconds that a reply may take where the server never comes to an end."""

TEXT = Text("Grüße from the server, in two halves.")
CALL = ToolCallPart("call_1", "look", {"at": "a.log", "lines": [1, 2]})
TWO = (CALL, ToolCallPart("call_2", "look", {"at": "b.log"}))


@dataclass(frozen=True)
class Behaviour:
    """A row of the table.

    Attributes:
        name: what the server does.
        answer: dialect -> how it does it.
        parts: what the reply must hold; empty where there must be none.
        error: what must be raised in its place.
        retryable: whether it may be asked again.
        retry_after: seconds that the server asks for, and how far off they may be.
        sizes: of a request that is too long.
        says: what the error must quote.
        stream: whether a stream is asked for.
        seconds: the deadline.
        refused: nobody listens at all.
    """

    name: str
    answer: Callable[[Dialect], Answer] | None
    parts: tuple[Part, ...] = ()
    error: type[ProviderError] | None = None
    retryable: bool = False
    retry_after: tuple[float, float] | None = None
    sizes: tuple[int, int] | None = None
    says: str = ""
    stream: bool = False
    seconds: float = 5.0
    refused: bool = False


def _whole(*parts: Part, stop: str | None = None) -> Callable[[Dialect], Answer]:
    return lambda dialect: lambda wire, _: wire.answer(200, _json(dialect.whole(parts, stop)))


def _stream(*parts: Part, stop: str | None = None) -> Callable[[Dialect], Answer]:
    def made(dialect: Dialect) -> Answer:
        def answer(wire: Wire, _: Seen) -> None:
            wire.begin(dialect.stream_type)
            for piece in dialect.pieces(parts, stop):
                wire.chunk(piece)
            wire.end()

        return answer

    return made


def _status(status: int, kind: str = "api_error", **headers: str) -> Callable[[Dialect], Answer]:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda dialect: (
        lambda wire, _: wire.answer(status, _json(dialect.error(kind, SAID)), told)
    )


def _packed(status: int) -> Callable[[Dialect], Answer]:
    """A body that is far below the cap until it is unpacked."""

    def answers(dialect: Dialect) -> Answer:
        body = gzip.compress(_json(dialect.whole([Text("x" * 80_000)])))
        return lambda wire, _: wire.answer(status, body, {"content-encoding": "gzip"})

    return answers


def _raw(body: bytes, status: int = 200) -> Callable[[Dialect], Answer]:
    return lambda dialect: lambda wire, _: wire.answer(status, body)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _begun(dialect: Dialect, wire: Wire, parts: Sequence[Part] = (TEXT,)) -> list[bytes]:
    """Send the first two thirds of a stream; what is left of it comes back."""
    pieces = dialect.pieces(parts, "")
    wire.begin(dialect.stream_type)
    for piece in pieces[:-1]:
        wire.chunk(piece)
    return pieces[-1:]


def _then(
    what: Callable[[Dialect, Wire, list[bytes]], None], *parts: Part
) -> Callable[[Dialect], Answer]:
    def made(dialect: Dialect) -> Answer:
        return lambda wire, _: what(dialect, wire, _begun(dialect, wire, parts or (TEXT,)))

    return made


def _cut(dialect: Dialect, wire: Wire, rest: list[bytes]) -> None:
    wire.end()


def _torn(dialect: Dialect, wire: Wire, rest: list[bytes]) -> None:
    wire.send(b"ff\r\nhalf a chunk")


def _fails(dialect: Dialect, wire: Wire, rest: list[bytes]) -> None:
    wire.chunk(dialect.error_frame(dialect.failure()))
    wire.end()


def _overflows(dialect: Dialect) -> Answer:
    def answer(wire: Wire, _: Seen) -> None:
        wire.begin(dialect.stream_type)
        wire.chunk(dialect.error_frame(dialect.overflow()))
        wire.end()

    return answer


def _stalls(dialect: Dialect, wire: Wire, rest: list[bytes]) -> None:
    wire.wait(4 * SHORT)


def _drips(dialect: Dialect, wire: Wire, rest: list[bytes]) -> None:
    for byte in rest[0] * 100:
        wire.chunk(bytes([byte]))
        wire.wait(0.02)


def _short_body(dialect: Dialect) -> Answer:
    def answer(wire: Wire, _: Seen) -> None:
        body = _json(dialect.whole([TEXT]))
        wire.head(200, {"content-type": "application/json", "content-length": str(len(body) + 50)})
        wire.send(body)

    return answer


def _broken_stream(dialect: Dialect) -> Answer:
    def answer(wire: Wire, _: Seen) -> None:
        wire.begin(dialect.stream_type)
        wire.chunk(b'{"half":\n' if "ndjson" in dialect.stream_type else b'data: {"half":\n\n')
        wire.end()

    return answer


def _date() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=7), usegmt=True)


def _rate_limited(header: Callable[[], str]) -> Callable[[Dialect], Answer]:
    return lambda dialect: (
        lambda wire, seen: _status(429, "rate_limit_error", retry_after=header())(dialect)(
            wire, seen
        )
    )


REFUSED = RequestRefused
BEHAVIOURS: tuple[Behaviour, ...] = (
    Behaviour("plain", _whole(TEXT), (TEXT,)),
    Behaviour("tools", _whole(TEXT, CALL), (TEXT, CALL)),
    Behaviour("parallel tools", _whole(*TWO), TWO),
    Behaviour("stream", _stream(TEXT), (TEXT,), stream=True),
    Behaviour("stream with tools", _stream(TEXT, *TWO), (TEXT, *TWO), stream=True),
    Behaviour("stream asked for, one piece sent", _whole(TEXT), (TEXT,), stream=True),
    Behaviour("401", _status(401), error=AuthenticationFailed, says=SAID),
    Behaviour("403", _status(403), error=AuthenticationFailed, says=SAID),
    Behaviour("404", _status(404), error=REFUSED, says=SAID),
    Behaviour("408", _status(408), error=NetworkFailed, retryable=True, says=SAID),
    Behaviour("413", _status(413), error=REFUSED, says=SAID),
    Behaviour("422", _status(422), error=REFUSED, says=SAID),
    Behaviour(
        "429, seconds",
        _rate_limited(lambda: "7"),
        error=RateLimited,
        retryable=True,
        retry_after=(7, 0),
    ),
    Behaviour(
        "429, date", _rate_limited(_date), error=RateLimited, retryable=True, retry_after=(7, 2)
    ),
    Behaviour(
        "400 overflow",
        lambda dialect: lambda wire, _: wire.answer(400, _json(dialect.overflow())),
        error=ContextOverflow,
        sizes=(9_000, 8_192),
    ),
    Behaviour(
        "overflow inside 200",
        lambda dialect: lambda wire, _: wire.answer(200, _json(dialect.overflow())),
        error=ContextOverflow,
        sizes=(9_000, 8_192),
    ),
    Behaviour(
        "overflow inside a stream",
        _overflows,
        error=ContextOverflow,
        sizes=(9_000, 8_192),
        stream=True,
    ),
    Behaviour("400 otherwise", _status(400), error=REFUSED, says=SAID),
    *(
        Behaviour(str(status), _status(status), error=ProviderError, retryable=True, says=SAID)
        for status in (500, 502, 503, 504, 529)
    ),
    Behaviour(
        "502 in HTML",
        _raw(b"<h1>Bad gateway</h1>", 502),
        error=ProviderError,
        retryable=True,
        says="502",
    ),
    Behaviour("error inside 200", _status(200), error=ProviderError, retryable=True, says=SAID),
    Behaviour(
        "error inside a stream",
        _then(_fails),
        error=ProviderError,
        retryable=True,
        says=SAID,
        stream=True,
    ),
    Behaviour("{}", _raw(b"{}"), error=ProviderError, retryable=True),
    Behaviour("empty reply", _whole(Text("")), error=ProviderError, retryable=True),
    Behaviour("broken JSON", _raw(b'{"half": '), error=ProviderError, retryable=True),
    Behaviour(
        "broken JSON in a stream", _broken_stream, error=ProviderError, retryable=True, stream=True
    ),
    Behaviour("clean cut", _short_body, error=NetworkFailed, retryable=True),
    Behaviour(
        "clean cut of a stream", _then(_cut), error=NetworkFailed, retryable=True, stream=True
    ),
    Behaviour(
        "clean cut in a call", _then(_cut, CALL), error=NetworkFailed, retryable=True, stream=True
    ),
    Behaviour("torn stream", _then(_torn), error=NetworkFailed, retryable=True, stream=True),
    Behaviour(
        "stall", _then(_stalls), error=NetworkFailed, retryable=True, stream=True, seconds=SHORT
    ),
    Behaviour(
        "slow drip", _then(_drips), error=NetworkFailed, retryable=True, stream=True, seconds=SHORT
    ),
    Behaviour(
        "oversized body", _whole(Text("x" * 80_000)), error=ProviderError, says="65536 bytes"
    ),
    Behaviour(
        "oversized stream",
        _stream(Text("x" * 80_000)),
        error=ProviderError,
        says="65536 bytes",
        stream=True,
    ),
    Behaviour("oversized error", _raw(b" " * 80_000, 500), error=ProviderError, says="65536 bytes"),
    Behaviour("packed body", _packed(200), error=ProviderError, says="compressed"),
    Behaviour("packed stream", _packed(200), error=ProviderError, says="compressed", stream=True),
    Behaviour("packed error", _packed(500), error=ProviderError, says="compressed"),
    Behaviour(
        "redirect",
        _status(307, location="http://127.0.0.1:9/"),
        error=ProviderError,
        says="127.0.0.1:9",
    ),
    Behaviour("connection refused", None, error=NetworkFailed, retryable=True, refused=True),
    Behaviour(
        "unknown stop reason", _whole(TEXT, stop="weather"), error=ProviderError, says="weather"
    ),
    Behaviour(
        "unknown stop reason of a stream",
        _stream(TEXT, stop="weather"),
        error=ProviderError,
        stream=True,
    ),
)

NOT_APPLICABLE: dict[tuple[str, str], str] = {
    (
        "empty reply",
        "anthropic",
    ): "its models end so where they have nothing to add: tests/agent/test_pause.py",
}
"""(behaviour, adapter) -> why there is no such thing."""
