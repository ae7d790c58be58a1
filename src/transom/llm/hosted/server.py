"""How a server is reached."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_BODY = 32 * 1024 * 1024
"""Bytes; no reply of a model comes near it."""

NO_KEY = "none"
"""Sent to servers that need no key; the SDKs insist on one."""

HEADERS = {"Accept-Encoding": "identity"}
"""Headers of each request, beside those that an SDK makes of the key and the body."""


@dataclass(frozen=True)
class Server:
    """How a server is reached.

    Attributes:
        base_url: as the vendor's SDK takes it.
        api_key: what it is to be shown; it stands in no error, log or trace.
        api_version: of Azure; None elsewhere.
        seconds: wall clock for one whole reply.
        stream: take replies in pieces where they are offered.
        max_body: bytes that one reply may have.
        key_variable: the environment variable that is looked at for the key.
        needs_key: whether it answers no request without a key.
        service: whose models answer, where that is known: `openai`, `azure`, `openrouter`, ...; "":
            see its address.
        proxy: through which it is asked, as `proxy_of` says; None: directly, whatever the
            environment has.
    """

    base_url: str
    api_key: str = field(default=NO_KEY, repr=False)
    api_version: str | None = None
    seconds: float = 300.0
    stream: bool = True
    max_body: int = MAX_BODY
    key_variable: str = ""
    needs_key: bool = False
    service: str = ""
    proxy: str | None = field(default=None, repr=False)
