"""A real HTTP server on this machine that does exactly what a test says, down to the last byte
of a socket.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; header names in lower case, and a body of JSON read."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Wire:
    """One connection, as an answer writes to it."""

    def __init__(self, connection: socket.socket, stopping: threading.Event) -> None:
        self._connection = connection
        self._stopping = stopping

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        reason = (
            HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Whatever"
        )
        lines = [
            f"HTTP/1.1 {status} {reason}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        self.send("\r\n".join([*lines, "connection: close", "", ""]).encode())

    def answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """A whole response of JSON."""
        told = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **(headers or {}),
        }
        self.head(status, told)
        self.send(body)

    def begin(self, content_type: str) -> None:
        """The head of a response in chunks."""
        self.head(200, {"content-type": content_type, "transfer-encoding": "chunked"})

    def chunk(self, data: bytes) -> None:
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self) -> None:
        self.send(b"0\r\n\r\n")

    def wait(self, seconds: float) -> None:
        """Keep the connection open for that long, or until the server stops."""
        self._stopping.wait(seconds)


Answer = Callable[[Wire, Seen], None]


class LocalServer:
    """Answers every request with `answer`, and remembers it in `seen`."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer
        self.seen: list[Seen] = []
        self._stopping = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        threads: list[threading.Thread] = []
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            threads = [one for one in threads if one.is_alive()]
            threads.append(threading.Thread(target=self._one, args=(connection,), daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join(5)

    def _one(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # a client that had enough is no fault of the server
            connection.settimeout(5)
            seen = _read(connection)
            if seen is None or self.answer is None:
                return
            self.seen.append(seen)
            self.answer(Wire(connection, self._stopping), seen)


def _read(connection: socket.socket) -> Seen | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)
    }
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    method, path, _ = first.split(" ", 2)
    if headers.get("content-type") == "application/x-protobuf":
        return Seen(method, path, headers, body)
    return Seen(method, path, headers, json.loads(body) if body else None)


def closed_port() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}"
