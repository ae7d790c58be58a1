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

# Undocumented, but public and stable: requests uses it too.
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from transom.errors import SettingsError
from transom.telemetry.address import parse_address, safe_address

_SOCKS = re.compile(r"socks5h?(?=://)", re.I)
_CONNECTIONS, _KEPT = 1000, 100


def proxy_of(
    url: str, *, local: bool = False, environ: Mapping[str, str] = os.environ
) -> str | None:
    """Return the proxy through which a server is asked; None if it is asked directly.

    The address is that of `HTTPS_PROXY` or `ALL_PROXY`, in lower case first, unless `NO_PROXY`
    names the server. It may hold a password.

    Args:
        url: the server's address.
        local: whether the server is the user's own, which is never asked through a proxy.
        environ: the environment variables.

    Raises:
        SettingsError: the variable holds no address of a proxy.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    # An https request passes a proxy through a tunnel, so that the proxy sees the host alone. Any
    # other request would be readable to it.
    if local or parts.scheme != "https" or _is_this_machine(host):
        return None
    variable = "HTTPS_PROXY"
    if not _value(environ, variable):
        variable = "ALL_PROXY"
    value = _value(environ, variable)
    # People write `*.corp`; the library understands `.corp`.
    exceptions = _value(environ, "NO_PROXY").replace("*.", ".")
    if not value or proxy_bypass_environment(f"{host}:{parts.port or 443}", {"no": exceptions}):
        return None
    address = value if "://" in value else f"http://{value}"
    try:
        parse_address(_SOCKS.sub("http", address))
    except ValueError as error:
        hint = "write http://HOST:PORT, or name the server in NO_PROXY"
        raise SettingsError(
            f"{safe_address(value)!r} is no address of a proxy: {error}", place=variable, hint=hint
        ) from None
    return address


def transport(library: Any, proxy: str | None) -> Any:
    """Return the transport for a client of `httpx` or a library like it.

    A client with a transport of its own looks for no proxy itself.

    Args:
        library: the module of the client.
        proxy: an address from `proxy_of`, or None.
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
