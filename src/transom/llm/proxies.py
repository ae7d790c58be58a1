"""Choice of the proxy for a server, such that no proxy can read a request.

Clients of model servers and of MCP servers use this module. The rules of HTTP libraries would send
plain http:// requests through a proxy of the environment, those to this machine included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # undocumented; requests has it too

from transom.errors import SettingsError
from transom.telemetry.address import checked, shown

_SOCKS = re.compile(r"socks5h?(?=://)", re.I)
_CONNECTIONS, _KEPT = 1000, 100


def proxy_of(
    url: str, *, local: bool = False, environ: Mapping[str, str] = os.environ
) -> str | None:
    """The proxy through which a server is asked; None where it is asked directly.

    That is `HTTPS_PROXY` or `ALL_PROXY`, in lower case first, where `NO_PROXY` does not except the
    server. An https address of another machine is asked so, and no other: that is a tunnel, of
    which the proxy sees the host alone. What is `local` passes none. The proxy's address may hold a
    password.

    Raises:
        SettingsError: the variable holds no address of a proxy.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if local or parts.scheme != "https" or _is_this_machine(host):
        return None
    variable = "HTTPS_PROXY" if _value(environ, "HTTPS_PROXY") else "ALL_PROXY"
    value, excepted = _value(environ, variable), _value(environ, "NO_PROXY").replace("*.", ".")
    if not value or proxy_bypass_environment(f"{host}:{parts.port or 443}", {"no": excepted}):
        return None
    address = value if "://" in value else f"http://{value}"
    try:
        checked(_SOCKS.sub("http", address))
    except ValueError as error:
        hint = "say http://HOST:PORT, or except the server in NO_PROXY"
        raise SettingsError(
            f"{shown(value)!r} is no address of a proxy: {error}", where=variable, hint=hint
        ) from None
    return address


def transport(library: Any, proxy: str | None) -> Any:
    """The transport for a client of `httpx` or its like, with a proxy by `proxy_of`; that client
    looks for none.
    """
    limits = library.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_KEPT)
    return library.AsyncHTTPTransport(proxy=proxy, limits=limits)


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.lower(), environ.get(name, "")).strip()


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
