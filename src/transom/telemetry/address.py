"""Addresses of servers: their check, and their form for messages, without the parts that may be secret."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from urllib.parse import SplitResult, urlsplit

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\](?::\d*)?")
_LONGEST_NAME = 253
_HIDDEN = "..."


def checked(address: str) -> SplitResult:
    """The parts of an address that can be asked.

    Raises:
        ValueError: it is no address of a server. It says why, and nothing of the address, which may hold a password.
    """
    if not address.isprintable() or " " in address:
        raise ValueError("there is a space or a control character in it")
    if not address.isascii():
        raise ValueError("there is a letter beyond ASCII in it; write a host as xn--..., a path with percent signs")
    try:
        parts = urlsplit(address)
    except ValueError:
        raise ValueError("its host is none") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError("it begins with neither http:// nor https://")
    try:
        good = parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError("its port is no number from 1 to 65535")
    if not parts.hostname:
        raise ValueError("it names no host")
    host = parts.netloc.rpartition("@")[2]
    if not (_IN_BRACKETS.fullmatch(host) and _is_ipv6(parts.hostname) if "[" in host else _is_name(parts.hostname)):
        raise ValueError("its host is none")
    return parts


def shown(address: str) -> str:
    """An address for a message, be it one or not: without user, password and query, any of which may hold a key."""
    before, at, rest = address.rpartition("@")
    if at and re.search("[?#]", before):
        return _HIDDEN  # it is ambiguous whether a password or a query ends there
    rest = re.split("[?#]", rest, maxsplit=1)[0]
    scheme, sign, rest = rest.partition("://") if "://" in rest else ("", "", rest)
    authority, slash, path = rest.partition("/")
    # Where `@host` was forgotten, the password stands where a port would.
    end = authority.find("]") + 1 if authority.startswith("[") else 0
    host, colon, port = authority[end:].partition(":")
    port = port if port.isdecimal() else _HIDDEN if port else ""
    return f"{scheme}{sign}{authority[:end]}{host}{colon}{port}{slash}{path}"


def secret_parts(address: str | None) -> tuple[str, ...]:
    """The secret parts of an address: its password, if there is one."""
    try:
        password = urlsplit(address or "").password
    except ValueError:
        return ()
    return (password,) if password else ()


def _is_ipv6(host: str) -> bool:
    try:
        return IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _is_name(host: str) -> bool:
    """Whether it is a name or the four numbers of IPv4."""
    name = host.removesuffix(".")
    return len(name) <= _LONGEST_NAME and all(map(_LABEL.fullmatch, name.split(".")))
