"""Choice of the proxy for a server, such that no proxy can read a request.

Clients of model servers and of MCP servers use this module. The rules of HTTP libraries would send plain http://
requests through a proxy of the environment, those to this machine included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # undocumented; requests has it too

from transom.errors import SettingsError
from transom.telemetry.address import checked, shown

_THIS_MACHINE = ("localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback")
_SOCKS = ("socks5", "socks5h")
_PORTS = {"http": 80, "https": 443}
_ELSE = "except the server in NO_PROXY"
_CONNECTIONS, _KEPT = 1000, 100


def proxy_of(url: str, *, local: bool = False, environ: Mapping[str, str] = os.environ) -> str | None:
    """The proxy through which a server is asked: `HTTPS_PROXY` or `ALL_PROXY`, where `NO_PROXY` does not except it.

    An https address of another machine is asked so, and no other: that is a tunnel, of which the proxy sees the host's
    name alone.

    Args:
        url: the server's.
        local: whether what it is sent is to stay on this machine.
        environ: the variables; those in lower case go before, as elsewhere.

    Returns:
        The proxy's address, which may hold a password; None where the server is asked directly.

    Raises:
        SettingsError: the variable holds no address of a proxy.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if local or parts.scheme != "https" or _is_this_machine(host):
        return None
    found = [(name, value) for name in ("HTTPS_PROXY", "ALL_PROXY") if (value := _value(environ, name))]
    if not found or _is_excepted(host, parts.port or _PORTS["https"], _value(environ, "NO_PROXY")):
        return None
    return _proxy(*found[0])


def transport(library: Any, proxy: str | None) -> Any:
    """The transport for an HTTP client. A client with a transport looks for no proxy by itself.

    Args:
        library: `httpx`, or another that has its names.
        proxy: as `proxy_of` says.
    """
    limits = library.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_KEPT)
    return library.AsyncHTTPTransport(proxy=proxy, limits=limits)


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.lower(), environ.get(name, "")).strip()


def _proxy(variable: str, value: str) -> str:
    address = value if "://" in value else f"http://{value}"
    scheme, _, rest = address.partition("://")
    try:
        checked(f"http://{rest}" if scheme.lower() in _SOCKS else address)
    except ValueError as error:
        what = f"{shown(value)!r} is no address of a proxy: {error}"
        raise SettingsError(what, where=variable, hint=f"say http://HOST:PORT, or {_ELSE}") from None
    if scheme.lower() in _SOCKS and find_spec("socksio") is None:
        what = "a SOCKS proxy needs the package socksio, which is not installed"
        raise SettingsError(what, where=variable, hint=f"pip install socksio, or {_ELSE}")
    return address


def _is_this_machine(host: str) -> bool:
    name = host.removesuffix(".")
    if name in _THIS_MACHINE or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _is_excepted(host: str, port: int, listed: str) -> bool:
    """Whether `NO_PROXY` names a host: as it is, as a part of a domain, or in a network."""
    entries = [entry.partition("://")[2] or entry for entry in re.split(r"[\s,]+", listed) if entry]
    names = ",".join(entry.removeprefix("*").replace("[", "").replace("]", "") for entry in entries)
    known = proxy_bypass_environment(f"{host.removesuffix('.')}:{port}", {"no": names})
    return bool(known) or any(entry == "*" or _holds(entry, host) for entry in entries)


def _holds(network: str, host: str) -> bool:
    try:
        return ip_address(host) in ip_network(network.strip("[]"), strict=False)
    except ValueError:
        return False
