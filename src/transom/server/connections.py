"""Connections of the server: a deadline for each request, a limit on their number, a quiet log.

Any user of this machine can open connections, with or without the token. None of them may keep a
place that others need.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 10.0
"""Seconds from the first byte of a request, or the opening of its connection, to the end of its
head.
"""

_GOODBYE_SECONDS = 1.0
"""Seconds from the end of an encrypted connection to its abort, if the client does not answer."""

BODY_SECONDS = 30.0
"""Seconds from the end of a request's head to the end of its body."""

MOST_CONNECTIONS = 512
"""Connections at once, and never more than half of the files that the process may open."""

_LOGGERS = (
    __name__,
    "transom.server.door",
    "transom.server.live",
    "uvicorn.error",
    "asyncio",
)
_MINUTE = 60.0
_log = logging.getLogger(__name__)


def raise_file_limit() -> None:
    """Allow this process as many open files as it may have: each viewer of a page needs one."""
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    """Return how many connections the process can hold and still open files."""
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(1, min(MOST_CONNECTIONS, files // 2))


class BoundedConnection(H11Protocol):
    """One connection of a client, whose requests have to arrive whole in time.

    If there is no place for another connection, the one that has waited longest for a request gives
    up its place; one whose request is being answered never does. An encrypted connection counts
    from its opening: a client may begin no handshake, too.

    Args:
        context: encrypts the connection; None for one in the clear.
    """

    def __init__(self, *args: Any, context: ssl.SSLContext | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.opened = time.monotonic()
        self._context = context
        self._handshake: asyncio.Task[None] | None = None
        # What arrives right behind the handshake, before the encrypted transport is here.
        self._early: list[bytes] = []
        self._phase: object = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline()
        # uvicorn's `limit_concurrency` would refuse requests while idle connections keep their
        # places.
        connections = self._open_connections()
        other_connections = [connection for connection in connections if connection is not self]
        if len(other_connections) >= most_connections():
            self._make_room(other_connections)
        if self._context is not None and not transport.is_closing():
            self._handshake = self.loop.create_task(self._encrypt(transport, self._context))

    async def _encrypt(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        """Replace the connection's transport by an encrypted one."""
        try:
            encrypted = await self.loop.start_tls(
                transport,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=HEAD_SECONDS,
                # A client that does not answer the end must not keep its file descriptor.
                ssl_shutdown_timeout=_GOODBYE_SECONDS,
            )
        except OSError:  # also for no TLS, and for none in time
            encrypted = None
        self._handshake = None
        # The client may have left meanwhile.
        if not isinstance(encrypted, asyncio.Transport) or transport.is_closing():
            self.connection_lost(None)
            return
        super().connection_made(encrypted)
        early, self._early = self._early, []
        for data in early:
            self.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline:
            self._deadline.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._handshake is not None:
            self._early.append(data)
            return
        super().data_received(data)
        # The phase may have changed: a head is complete, or a body.
        self._set_deadline()

    @property
    def is_waiting(self) -> bool:
        """Whether nobody works on a request of this connection."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _set_deadline(self) -> None:
        """Set the deadline for what the client has to send next; each piece of it moves none."""
        phase = self.conn.their_state
        # A client that sends a byte now and then must not keep its place in that way.
        if phase is self._phase:
            return
        self._phase = phase
        if self._deadline:
            self._deadline.cancel()
        # In other phases the server works on the answer, and the client has to send nothing.
        seconds = {h11.IDLE: HEAD_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(phase)
        self._deadline = self.loop.call_later(seconds, self._time_is_up) if seconds else None

    def _time_is_up(self) -> None:
        received, _ = self.conn.trailing_data
        # Browsers open connections ahead that they may never use; nobody needs to know.
        is_unused = self.conn.their_state is h11.IDLE and not received
        level = logging.DEBUG if is_unused else logging.WARNING
        _log.log(level, "a connection was closed: it sent no whole request in time")
        self.refuse(b"408 Request Timeout")

    def _open_connections(self) -> list[BoundedConnection]:
        living: list[BoundedConnection] = []
        for connection in self.connections:
            # A closing connection stays in the set until its last bytes are sent.
            if isinstance(connection, BoundedConnection) and not connection.transport.is_closing():
                living.append(connection)
        return living

    def _make_room(self, connections: list[BoundedConnection]) -> None:
        waiting = [connection for connection in connections if connection.is_waiting]
        if not waiting:
            _log.warning("a connection was refused: the others are all at work")
            self.refuse(b"503 Service Unavailable")
            return
        _log.warning("a connection was closed: there are too many, and it sent no request")
        oldest = min(waiting, key=lambda connection: connection.opened)
        oldest.refuse(b"503 Service Unavailable")

    def refuse(self, status: bytes) -> None:
        """Close the connection, with a status if no response has begun."""
        if self._handshake is not None:
            self.transport.abort()
            return
        # After the first bytes of a response, a status would be a part of its body.
        if self.is_waiting or not self.cycle.response_started:
            head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head)
        self.transport.close()


class OncePerMinute(logging.Filter):
    """Lets one record of a kind through in a minute; the next one says how many were held back.

    Records of one kind have the same text, whatever their arguments.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.msg
        current_time = time.monotonic()
        logged_at, held_back = self._kinds.get(kind, (-_MINUTE, 0))
        if current_time - logged_at < _MINUTE:
            self._kinds[kind] = logged_at, held_back + 1
            return False
        self._kinds[kind] = current_time, 0
        if held_back:
            # Behind the text, so that the arguments still fit it.
            record.msg = f"{record.msg} (and {held_back} times since this was last said)"
        return True


@contextmanager
def quiet_log() -> Iterator[None]:
    """Let the server's loggers say the same at most once a minute."""
    once = OncePerMinute()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(once)
    try:
        yield
    finally:
        # A test, or a program that serves for a while, goes on with these loggers.
        for logger in loggers:
            logger.removeFilter(once)


def log_trouble(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log in one line what went wrong outside of any request, e.g. when accepting a connection."""
    del loop
    # asyncio adds lines with the objects involved, which tell an operator nothing.
    message, _, _ = str(context.get("message", "")).partition("\n")
    error = context.get("exception")
    _log.error(
        "the server goes on after an error: %s", f"{message} ({error})" if error else message
    )
