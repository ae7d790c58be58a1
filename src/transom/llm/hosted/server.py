"""The address and the access of a server."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_BODY = 32 * 1024 * 1024
"""Bytes; no reply of a model comes near it."""

NO_KEY = "none"
"""Sent to servers that need no key; the SDKs insist on one."""

HEADERS = {"Accept-Encoding": "identity"}
"""Headers of each request, in addition to those that an SDK makes of the key and the body."""

OWN_HEADERS = {
    "accept-encoding": "identity",
    "accept": "application/json",
    "content-type": "application/json",
}
"""Headers of each request as they must arrive, without those of the key."""


@dataclass(frozen=True)
class Server:
    """The address and the access of a server.

    Attributes:
        base_url: as the vendor's SDK takes it.
        api_key: sent with each request; it stands in no error, log or trace.
        api_version: of Azure; None elsewhere.
        seconds: wall clock for one whole reply.
        stream: whether to take replies in pieces if the model offers it.
        max_body: bytes that one reply may have.
        key_variable: the environment variable of the key.
        unsent_key: the variable of a service's key that is set, and not sent to this address, which
            is none of the service; "" if there is none.
        needs_key: whether it answers no request without a key.
        service: `openai`, `azure`, `openrouter`, ...; "" to recognise it by its address.
        proxy: the proxy's address from `proxy_of`; None to ask directly, whatever proxy the
            environment names.
    """

    base_url: str
    api_key: str = field(default=NO_KEY, repr=False)
    api_version: str | None = None
    seconds: float = 300.0
    stream: bool = True
    max_body: int = MAX_BODY
    key_variable: str = ""
    unsent_key: str = ""
    needs_key: bool = False
    service: str = ""
    proxy: str | None = field(default=None, repr=False)

    @property
    def says_of_unsent_key(self) -> str:
        """What to know of the key that is not sent, in one clause; "" if there is none."""
        if not self.unsent_key:
            return ""
        return (
            f"{self.unsent_key} is set, and is not sent to an address of one's own; to send it, set"
            f" llm.openai.key_variable: {self.unsent_key}"
        )
