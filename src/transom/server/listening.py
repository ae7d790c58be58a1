"""Serves an application on a port of this machine until it is interrupted."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from transom.errors import InputError


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
            f"cannot listen ({error.strerror})", where=f"{host}:{port}", hint=hint
        ) from error
    shown = f"[{host}]" if ":" in host else host
    return listener, f"http://{shown}:{listener.getsockname()[1]}"


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until Ctrl-C; requests in progress are answered first."""
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off"
    )
    with listener, suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
