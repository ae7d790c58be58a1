"""Access checks: requests of this machine's own clients, with the token, and of limited size."""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
from collections.abc import Sequence

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transom.server.problems import problem

MOST_BYTES = 1_000_000
"""Largest body of a request."""

# read of a too large body, since a client reads the answer only after it has sent all
_MOST_READ = 32 * MOST_BYTES
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?")
_log = logging.getLogger(__name__)


class Door:
    """ASGI middleware that refuses a request, before the application sees it, for:

    - a `Host` that is not this server's (403): DNS rebinding by a foreign site;
    - an `Origin` that is not this server's (403): a page of a foreign site;
    - no token, or a wrong one (401);
    - a body of more than 1 MB (413).

    Args:
        app: the application behind it.
        token: the token that `Authorization: Bearer` must have.
        host: the name or address that the server listens on. If it is not loopback, requests may
            name the server by any address, but by no other name.
    """

    def __init__(self, app: ASGIApp, token: str, host: str = "127.0.0.1") -> None:
        self._app = app
        self._token = token.encode()
        self._names = _LOOPBACK | {host.lower()}
        self._open = host.lower() not in _LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if refused := self._refuse(scope):
            status, detail, headers = refused
            return await problem(status, detail, headers=headers)(scope, receive, send)
        try:
            body = await _read(receive)
        except ClientDisconnect:
            return None  # half a body is no request
        if body is None:
            detail = f"the body has more than {MOST_BYTES:,} bytes; send less"
            return await problem(413, detail)(scope, receive, send)
        try:
            await self._app(scope, _once(body, receive), send)
        except Exception:  # noqa: BLE001 - the client has its answer; the log is for the operator
            _log.exception("a request failed: %s", scope["method"])

    def _refuse(self, scope: Scope) -> tuple[int, str, dict[str, str] | None] | None:
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or not self._ours(hosts[0].lower()):
            return 403, "the Host is not this server; name it as it was started with --host", None
        own = f"{scope['scheme']}://{hosts[0]}".lower()
        if any(origin.lower() != own for origin in _values(scope, b"origin")):
            return 403, "the Origin is not this server; pages of other sites are not served", None
        given = _values(scope, b"authorization")
        kind, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if kind.lower() != "bearer" or not secrets.compare_digest(
            token.strip().encode(), self._token
        ):
            detail = (
                "the token is missing or wrong; send Authorization: Bearer and what `transom serve`"
                " printed"
            )
            return 401, detail, {"WWW-Authenticate": "Bearer"}
        return None

    def _ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        name = found and (found["six"] or found["name"])
        return bool(name) and (name in self._names or (self._open and _is_address(str(name))))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _values(scope: Scope, name: bytes) -> Sequence[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def _read(receive: Receive) -> bytes | None:
    """Return the body; None if it is too large.

    Raises:
        ClientDisconnect: the connection was closed before the whole body was there.
    """
    parts, size, more = [], 0, True
    while more and size <= _MOST_READ:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= MOST_BYTES:
            parts.append(chunk)
        more = message.get("more_body", False)
    return b"".join(parts) if size <= MOST_BYTES else None


def _once(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body as one message, then the client's further messages."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return whole.pop() if whole else await receive()

    return next_message
