"""Addresses of servers: their check, and their form for messages, without the parts that may be
secret.
"""

from __future__ import annotations

import re
from contextlib import suppress
from ipaddress import IPv6Address
from urllib.parse import SplitResult, urlsplit

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\](?::\d*)?")
_LONGEST_NAME = 253
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HIDDEN = "..."


def parse_address(address: str) -> SplitResult:
    """Return the parts of an address to which a request can be sent.

    Raises:
        ValueError: the address is not usable. The message quotes no part of it, since it may hold a
            password.
    """
    if not (address.isascii() and address.isprintable()) or " " in address:
        raise ValueError(
            "it contains a space, a control character or a letter beyond ASCII (write xn--... or"
            " %..)"
        )
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError("it does not begin with http:// or https://")
    # `urlsplit` objects to brackets, `port` to a number, `IPv6Address` to an address in brackets.
    # The texts of all three quote the address.
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.port != 0 and _has_host(parts):
            return parts
    raise ValueError("its host or its port is invalid")


def safe_address(address: str) -> str:
    """Return an address for a message: its scheme, host, port and path.

    User, password and query are left out, since each of them may hold a key. The text need not be a
    valid address.
    """
    scheme = ""
    if match := _SCHEME.match(address):
        scheme = match[0]
    before, separator, visible = address[len(scheme) :].rpartition("@")
    # It is ambiguous whether a password or a query ends there.
    if separator and re.search("[?#]", before):
        return _HIDDEN
    visible = re.split("[?#]", visible, maxsplit=1)[0]
    authority, slash, path = visible.partition("/")
    host_end = authority.find("]") + 1 if authority.startswith("[") else 0
    host, colon, port = authority[host_end:].partition(":")
    # If `@host` was forgotten, the password is in the position of a port.
    if port and not port.isdecimal():
        port = _HIDDEN
    return f"{scheme}{authority[:host_end]}{host}{colon}{port}{slash}{path}"


def secret_parts(address: str | None) -> tuple[str, ...]:
    """Return the secret parts of an address: its password, if it has one."""
    try:
        password = urlsplit(address or "").password
    except ValueError:
        return ()
    return (password,) if password else ()


def _has_host(parts: SplitResult) -> bool:
    """Return whether the host is a name, an IPv4 address, or an IPv6 address in brackets.

    Raises:
        ValueError: the brackets hold no IPv6 address.
    """
    host = parts.hostname or ""
    host_and_port = parts.netloc.rpartition("@")[2]
    if "[" not in host_and_port:
        return _is_name(host)
    if not _IN_BRACKETS.fullmatch(host_and_port):
        return False
    # A scope (`fe80::1%eth0`) means an interface of this machine: no URL can carry it.
    return IPv6Address(host).scope_id is None


def _is_name(host: str) -> bool:
    """Return whether a host is a domain name or the four numbers of IPv4."""
    name = host.removesuffix(".")
    return len(name) <= _LONGEST_NAME and all(map(_LABEL.fullmatch, name.split(".")))
