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
_HIDDEN = "..."


def checked(address: str) -> SplitResult:
    """The parts of an address that can be asked; else a ValueError without a word of it: it may
    hold a password.
    """
    if not (address.isascii() and address.isprintable()) or " " in address:
        raise ValueError(
            "there is a space, a control character or a letter beyond ASCII in it (write xn--... or"
            " %..)"
        )
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError("it begins with neither http:// nor https://")
    with suppress(ValueError):  # of brackets, of a port or of an address in brackets
        parts = urlsplit(address)
        host, written = parts.hostname or "", parts.netloc.rpartition("@")[2]
        in_brackets = _IN_BRACKETS.fullmatch(written) and IPv6Address(host).scope_id is None
        if parts.port != 0 and (in_brackets if "[" in written else _is_name(host)):
            return parts
    raise ValueError("its host or its port is none")


def shown(address: str) -> str:
    """An address for a message, be it one or not: without user, password and query, any of which
    may hold a key.
    """
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


def _is_name(host: str) -> bool:
    """Whether it is a name or the four numbers of IPv4."""
    name = host.removesuffix(".")
    return len(name) <= _LONGEST_NAME and all(map(_LABEL.fullmatch, name.split(".")))
