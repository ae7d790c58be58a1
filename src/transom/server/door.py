"""Access checks: who may send a request, how large it may be, and what a browser may load."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transom.server.forms import form_of
from transom.server.problems import problem
from transom.server.rendering import CSRF_FIELD, LOGIN, STATIC, error_page, login_page, wants_page

MOST_BYTES = 1_000_000
"""Largest body of a request."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a page may load and send: only from and to this server, and nothing that is in line."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With `no-referrer`, browsers send `Origin: null` with the page's own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# So much of a body that is too large is read all the same: most clients read the answer only after
# they have sent everything.
_MOST_READ = 32 * MOST_BYTES
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""The names under which a machine reaches itself."""

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?")
# Browsers read a backslash as a slash, and two slashes as the begin of another host.
_OWN_ADDRESS = re.compile(r"/(?![/\\])[!-~]*")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Proxy:
    """A reverse proxy in front of the server, which encrypts.

    Attributes:
        name: the host by which browsers reach it, with its port unless that is 443.
        user_header: header in which it names who is signed in; "" if it names nobody.
    """

    name: str
    user_header: str = ""


class Door:
    """ASGI middleware that refuses a request, before the application sees it, for:

    - a `Host` that is not this server's (403): DNS rebinding by a foreign site;
    - an `Origin` that is not this server's (403): a page of a foreign site;
    - no token, or a wrong one (401);
    - a change that a browser sends without the page's own token (403);
    - a body of more than 1 MB (413).

    A program sends the token as `Authorization: Bearer`. A browser opens `/?token=` once, or types
    the token, and has a cookie from then on.

    Args:
        app: the application behind it.
        token: the token.
        host: the name or address that the server listens on. If it is not loopback, requests may
            name the server by any address, but by no other name.
        on_stop: called when the server stops, to end answers that have no end.
        policy: what its pages may load and send.
        proxy: the proxy in front of it, if any; requests by other names are served as before.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        host: str = "127.0.0.1",
        on_stop: Callable[[], None] = lambda: None,
        policy: str = POLICY,
        proxy: Proxy | None = None,
    ) -> None:
        self.on_stop = on_stop
        self._headers = {"Content-Security-Policy": policy, **_HEADERS}
        self._app = app
        self._token = token.encode()
        self._names = LOOPBACK | {host.lower()}
        self._proxy = proxy
        if proxy and (match := _HOST.fullmatch(proxy.name.lower())):
            self._names |= {match["six"] or match["name"]}
        # A server for a network has the addresses of all its interfaces, and its users type any.
        self._open = host.lower() not in LOOPBACK
        # Cookies of one name are shared by all servers of a machine, whatever their port.
        self._cookie = f"transom-{hashlib.sha256(self._token).hexdigest()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        send = _with_headers(send, scope["path"], self._headers)
        if self._proxy:
            # What arrives here in the clear was encrypted on its way to the proxy.
            scope["scheme"] = "https"
            if self._proxy.user_header:
                # A second one was sent by the browser, and proves nothing.
                people = _values(scope, self._proxy.user_header.lower().encode())
                scope["person"] = people[0].strip() if len(people) == 1 else ""
        # First of all: another site must not learn whether the token of a browser is valid.
        if refusal := self._foreign(scope):
            return await refusal(scope, receive, send)
        # Whoever stands in front of the server may have taken the other length.
        if _values(scope, b"content-length") and _values(scope, b"transfer-encoding"):
            refusal = problem(400, "the request has two lengths", headers={"Connection": "close"})
            return await refusal(scope, receive, send)
        # The page that asks for the token needs its style.
        if scope["path"].startswith(f"{STATIC}/"):
            return await self._app(scope, receive, send)
        try:
            body = await _read(receive)
        # Half a body is not a request.
        except ClientDisconnect:
            return None
        if body is None:
            detail = f"the body has more than {MOST_BYTES:,} bytes; send less"
            return await _error(scope, 413, detail)(scope, receive, send)
        if response := self._login(scope, body) or self._refuse(scope, body):
            return await response(scope, receive, send)
        try:
            await self._app(scope, _once(body, receive), send)
        # The client has its answer (see `problems`). The log is for the operator.
        except Exception:  # noqa: BLE001
            _log.exception("a request failed: %s", scope["method"])

    def _foreign(self, scope: Scope) -> Response | None:
        """Return the refusal of a request that another site sends, or that names another server."""
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or not self._is_own_name(hosts[0].lower()):
            detail = "the Host is not this server; use the name that --host set"
            return _error(scope, 403, detail)
        # Many proxies put their own address into the Host.
        own = f"{scope['scheme']}://{self._proxy.name if self._proxy else hosts[0]}".lower()
        # A browser sends the Origin with every form and every change of a script.
        if any(origin.lower() != own for origin in _values(scope, b"origin")):
            detail = "the Origin is not this server; pages of other sites are not served"
            return _error(scope, 403, detail)
        return None

    def _login(self, scope: Scope, body: bytes) -> Response | None:
        """Return the answer to a browser that brings the token: a cookie, and the page that it
        asked for, else the first one.

        The address that follows is without the token, so that no history and no link keeps it.
        """
        target = "/"
        if scope["path"] == "/" and scope["method"] == "GET":
            tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        elif scope["path"] == LOGIN and scope["method"] == "POST":
            form = form_of(body)
            tokens, target = [form.get("token", "")], _own_address(form.get("target", "/"))
        else:
            return None
        if not tokens:
            return None
        if len(tokens) != 1 or not self._is_token(tokens[0]):
            return login_page("That is not the token of this server.", target)
        # The cookie proves the token and does not contain it: it is of no use with another server.
        session = secrets.token_urlsafe(16)
        response = RedirectResponse(target, 303)
        # `Strict` would keep the cookie back where the address was opened from a mail or a chat.
        response.set_cookie(
            self._cookie,
            f"{session}.{self._signed('session', session)}",
            httponly=True,
            samesite="lax",
            secure=scope["scheme"] == "https",
        )
        return response

    def _refuse(self, scope: Scope, body: bytes) -> Response | None:
        """Return the refusal of a request without the token; None if the request may pass."""
        credentials = _values(scope, b"authorization")
        if credentials:
            # A cookie does not count beside a header: a program says what it means.
            kind, _, token = credentials[0].partition(" ")
            if len(credentials) == 1 and kind.lower() == "bearer" and self._is_token(token.strip()):
                return None
        elif session := self._session(scope):
            # Templates put it into each form.
            own = self._signed("page", session)
            scope["csrf"] = own
            sent = _page_token(scope, body)
            if scope["method"] in _SAFE_METHODS or hmac.compare_digest(sent, own):
                return None
            detail = (
                "the form was not sent by a page of this server; reload the page, and try again"
            )
            return _error(scope, 403, detail)
        if wants_page(scope):
            return login_page(target=_page_of(scope))
        detail = (
            "the token is missing or wrong; send Authorization: Bearer and what `transom serve`"
            " printed"
        )
        return problem(401, detail, headers={"WWW-Authenticate": "Bearer"})

    def _session(self, scope: Scope) -> str:
        """Return the session of a browser's cookie; "" if there is none that this server gave."""
        for header in _values(scope, b"cookie"):
            try:
                morsel = SimpleCookie(header).get(self._cookie)
            except CookieError:
                continue
            # Signed, so that the server need not remember sessions.
            session, _, signature = (morsel.value if morsel else "").partition(".")
            if session and hmac.compare_digest(
                signature.encode(), self._signed("session", session).encode()
            ):
                return session
        return ""

    def _signed(self, purpose: str, session: str) -> str:
        # With a purpose: the token of a page must not serve as a cookie, nor the other way round.
        return hmac.new(self._token, f"{purpose} {session}".encode(), "sha256").hexdigest()

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._token)

    def _is_own_name(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        name = match and (match["six"] or match["name"])
        return bool(name) and (name in self._names or (self._open and _is_address(str(name))))


def _error(scope: Scope, status: int, detail: str) -> Response:
    return error_page(status, detail) if wants_page(scope) else problem(status, detail)


def _page_of(scope: Scope) -> str:
    """Return the address of the page that a person looks at, or wants to look at."""
    if scope["method"] == "GET":
        query = scope["query_string"].decode("latin-1")
        own_path: bytes = scope["raw_path"]
        return own_path.decode("latin-1") + (f"?{query}" if query else "")
    # A form leads nowhere by itself; the page that it stands on can be shown again.
    _, _, path = "".join(_values(scope, b"referer")).partition("//")
    return _own_address(f"/{path.partition('/')[2]}")


def _own_address(text: str) -> str:
    """Return an address below this server; `/` instead of one that leads elsewhere."""
    return text if _OWN_ADDRESS.fullmatch(text) else "/"


def _page_token(scope: Scope, body: bytes) -> str:
    """Return the token of the page that sent a form, or a script of the page."""
    if headers := _values(scope, b"x-csrf-token"):
        return headers[0]
    if not any("form-urlencoded" in value for value in _values(scope, b"content-type")):
        return ""
    return form_of(body).get(CSRF_FIELD, "")


def _with_headers(send: Send, path: str, added: Mapping[str, str]) -> Send:
    """Return a `send` that adds the headers that every answer has."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(added)
            # Pages show the present, and may show what is not for others on this machine.
            if not path.startswith(f"{STATIC}/"):
                headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_with_headers


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
    parts = []
    size = 0
    is_incomplete = True
    while is_incomplete and size <= _MOST_READ:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= MOST_BYTES:
            parts.append(chunk)
        is_incomplete = message.get("more_body", False)
    return b"".join(parts) if size <= MOST_BYTES else None


def _once(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body as one message, then the client's further messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
