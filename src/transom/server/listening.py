"""Serves an application on a port of this machine until it is interrupted."""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from transom.errors import InputError
from transom.server.connections import (
    BoundedConnection,
    log_trouble,
    most_connections,
    quiet_log,
    raise_file_limit,
)

# Connections that the kernel lets wait to be accepted.
_WAITING_CLIENTS = 2048
_LAST_SECONDS = 10
"""Seconds in which requests in progress are answered after Ctrl-C."""


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(32)


def listen(host: str, port: int) -> tuple[socket.socket, str]:
    """Return a listening socket, and its URL.

    Args:
        host: a name or an address of this machine.
        port: a port; 0 for any free one.

    Raises:
        InputError: the address or port cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        hint = (
            "choose another with --port, or 0 for any that is free, and an address of this machine"
            " with --host"
        )
        raise InputError(
            f"cannot listen ({error.strerror})", place=f"{host}:{port}", hint=hint
        ) from error
    # The port of the socket: 0 stands for any.
    url_host = f"[{host}]" if ":" in host else host
    return listener, f"http://{url_host}:{listener.getsockname()[1]}"


class _Server(uvicorn.Server):
    """A server for which the kernel lets more clients wait than are accepted at once, and whose
    application ends its streams when it stops.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio takes `backlog` for both: how many may wait, and how many it accepts at once.
        for listener in sockets or ():
            listener.listen(_WAITING_CLIENTS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams have no end: uvicorn would wait for them until its timeout.
        self._on_stop()
        await super().shutdown(sockets)


@dataclass(frozen=True)
class Certificate:
    """The certificate of the server, and its key, as PEM files."""

    file: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return what encrypts connections with them.

        Raises:
            InputError: they cannot be read, or do not belong together.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.file, self.key)
        except OSError as error:
            hint = "give a certificate and its key, without a password, as PEM files"
            problem = f"cannot be used ({error.strerror})"
            raise InputError(problem, place=f"{self.file}, {self.key}", hint=hint) from error
        return context


def serve(
    app: ASGIApp,
    listener: socket.socket,
    on_stop: Callable[[], None] = lambda: None,
    certificate: Certificate | None = None,
) -> None:
    """Serve until Ctrl-C; requests in progress are answered first.

    Args:
        app: the application.
        listener: a listening socket, see `listen`.
        on_stop: called before the requests in progress are waited for, to end those without an end.
        certificate: encrypts the connections; None for connections in the clear.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(serve_in_loop(app, listener, on_stop, certificate))


async def serve_in_loop(
    app: ASGIApp,
    listener: socket.socket,
    on_stop: Callable[[], None] = lambda: None,
    certificate: Certificate | None = None,
) -> None:
    """Serve in the event loop that runs, as `serve` does; Ctrl-C is raised at the end."""
    raise_file_limit()
    # uvicorn would make no connection before its handshake, so nobody could count those without.
    protocol = partial(BoundedConnection, context=certificate.context() if certificate else None)
    config = uvicorn.Config(
        app,
        http=protocol,  # type: ignore[arg-type]  # it is only called
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=_LAST_SECONDS,
        # asyncio accepts so many at once, some rounds before the first of them can be closed.
        backlog=max(1, most_connections() // 8),
    )

    asyncio.get_running_loop().set_exception_handler(log_trouble)
    with listener, quiet_log():
        await _Server(config, on_stop).serve(sockets=[listener])
