"""A model's server with bad days, in a process of its own, and its log of every request.

    python -m tests.agent.bad_days.server LOG

prints its port, and ends when its stdin does. Below `/RUN/SHARE` it speaks with Anthropic's words
or OpenAI's and fails SHARE percent of the requests of that run. Which of them, and how, follows
from the conversation, the turn and how often it was asked before: no clock and no chance of the
day.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from tests.llm.conformance.dialects import Anthropic, Dialect, OpenAI
from transom.llm import Text, ToolCallPart

STATUS = {"429": 429, "500": 500, "503": 503, "529": 529}
FAULTS = (*STATUS, "cut", "reset", "stall", "broken", "broken frame", "error inside")
_ITEM = re.compile(r"item (\d+)\.")


@dataclass(frozen=True)
class UserMessage:
    """A request: whose it is, and all that the log says of it."""

    run: str
    share: int
    conversation: int
    turn: int
    digest: str
    dialect: Dialect
    tokens: int
    found: tuple[str, ...]

    @property
    def key(self) -> tuple[str, int, int]:
        return self.run, self.conversation, self.turn


def asked(path: str, raw: bytes) -> UserMessage:
    """The words that a request asks for."""
    _, run, share, *rest = path.split("/")
    body = json.loads(raw)
    tokens = len(raw) // 6
    dialect = (Anthropic if rest[-1] == "messages" else OpenAI)(tokens)
    number, *_ = _ITEM.findall(raw.decode())
    said = [message for message in body["messages"] if message["role"] == "assistant"]
    digest = hashlib.sha256(raw).hexdigest()
    found = _found(body["messages"][-1]) or _found_by_each(body["messages"])
    return UserMessage(run, int(share), int(number), len(said), digest, dialect, tokens + 5, found)


def _found(last: Any) -> tuple[str, ...]:
    """Tool results of an Anthropic message."""
    parts = last["content"] if isinstance(last["content"], list) else []
    return tuple(_text(part["content"]) for part in parts if part.get("type") == "tool_result")


def _found_by_each(messages: Sequence[Any]) -> tuple[str, ...]:
    """Tool results of OpenAI's messages: those at the end."""
    found: list[str] = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        found.insert(0, _text(message["content"]))
    return tuple(found)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def reply(request: UserMessage) -> list[Text | ToolCallPart]:
    """Calls of a tool; where their results are there, what they come to."""
    if request.found:
        return [Text(f"Item {request.conversation}: {' and '.join(request.found)}.")]
    many = 2 if request.conversation % 5 == 0 else 1
    places = [f"{request.conversation}/{request.turn}/{place}" for place in range(many)]
    return [
        ToolCallPart(f"call_{place.replace('/', '_')}", "look", {"at": place}) for place in places
    ]


def fault(request: UserMessage, before: int) -> str:
    """The fault of a request that was made that often before; "" for nothing."""
    drawn = hashlib.sha256(f"b {request.conversation} {request.turn} {before}".encode()).digest()
    if int.from_bytes(drawn[:4]) % 100 >= request.share:
        return ""
    return FAULTS[int.from_bytes(drawn[4:8]) % len(FAULTS)]


class BadDays:
    """Answers requests, and writes them down: one line when each has come, one when its answer
    was sent whole.
    """

    def __init__(self, log: TextIO) -> None:
        self._log = log
        self._serials = count()
        self._before: Counter[tuple[str, int, int]] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request by request, until one side has enough."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._answer(*await _read(reader), reader, writer):
                pass
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(
        self, path: str, raw: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        arrived, request, serial = time.time(), asked(path, raw), next(self._serials)
        wrong = fault(request, self._before[request.key])
        self._before[request.key] += 1
        spent = 0 if wrong == "429" else request.tokens + (0 if wrong else 5)
        seen = {"run": request.run, "conversation": request.conversation, "turn": request.turn}
        self._write(
            serial=serial, at=arrived, **seen, digest=request.digest, fault=wrong, tokens=spent
        )
        whole = await _tell(request, wrong, reader, writer)
        if whole:
            self._write(whole=serial)
        return whole

    def _write(self, **line: object) -> None:
        self._log.write(json.dumps(line) + "\n")
        self._log.flush()


async def _read(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"(?im)^content-length: *(\d+)", head)
    return head.split(" ", 2)[1], await reader.readexactly(int(length[1]) if length else 0)


async def _tell(
    request: UserMessage, wrong: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Send the answer, or what goes wrong; whether it was a whole answer."""
    if wrong in STATUS or wrong in ("broken", "error inside"):
        said = json.dumps(request.dialect.error("api_error", f"a bad day: {wrong}")).encode()
        _send(writer, STATUS.get(wrong, 200), b'{"half' if wrong == "broken" else said)
        await writer.drain()
        return False
    _begin(writer, request.dialect.stream_type)
    pieces = request.dialect.pieces(reply(request))
    for piece in pieces[:2] if wrong else pieces:
        _chunk(writer, piece)
    await writer.drain()
    match wrong:
        case "reset":
            writer.transport.abort()
        case "stall":
            await reader.read(1)  # until the other side has enough
        case "broken frame":
            _chunk(writer, b'data: {"half\n\n')
    if wrong not in ("reset", "stall"):
        writer.write(b"0\r\n\r\n")  # a cut is a clean end, only too early
        await writer.drain()
    return not wrong


def _send(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    more = "retry-after: 1\r\n" if status == 429 else ""
    head = (
        f"HTTP/1.1 {status} Told\r\ncontent-type: application/json\r\ncontent-length:"
        f" {len(body)}\r\n{more}"
    )
    writer.write(f"{head}connection: close\r\n\r\n".encode() + body)


def _begin(writer: asyncio.StreamWriter, content_type: str) -> None:
    writer.write(
        f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    )


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def main(log: Path) -> None:
    """Serve until stdin ends."""
    with log.open("a", encoding="utf-8") as lines:
        server = await asyncio.start_server(BadDays(lines).serve, "127.0.0.1", 0, backlog=256)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        server.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
